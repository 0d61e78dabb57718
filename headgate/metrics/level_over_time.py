"""Time-weighted mean and maximum of a level, such as the bytes in queues. Both are exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class LevelOverTime:
    """A step function of time that begins at 0. Of several changes at one instant only the last counts."""

    def __init__(self, began: float = 0.0) -> None:
        self._began = self._time = began
        self._level = 0.0
        self._area = 0.0
        self._max = 0.0  # before `_time`

    def set(self, now: float, level: float) -> None:
        """Set the level from `now` on. A time before the latest one is taken as the latest."""
        if now > self._time:
            self._area += self._level * (now - self._time)
            self._max = max(self._max, self._level)
            self._time = now
        self._level = level

    def set_many(self, times: NDArray[np.float64], levels: NDArray[np.float64]) -> None:
        """Set many levels, in order of time."""
        if not len(times):
            return
        last = np.append(times[1:] > times[:-1], True)  # of several changes at one instant only the last counts
        at, value = times[last], levels[last]
        self.set(float(at[0]), float(value[0]))
        if len(at) > 1:
            self._area += float(value[:-1] @ np.diff(at))
            self._max = max(self._max, float(value[:-1].max()))
            self._time, self._level = float(at[-1]), float(value[-1])

    @property
    def max(self) -> float:
        """The highest level so far."""
        return max(self._max, self._level)

    def mean(self, until: float) -> float:
        """The mean from the beginning to `until` (or to the last change, when that is later)."""
        end = max(until, self._time)
        seconds = end - self._began
        return (self._area + self._level * (end - self._time)) / seconds if seconds > 0 else self._level
