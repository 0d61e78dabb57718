"""A level over time (bytes in queues): exact time-weighted mean and maximum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class LevelOverTime:
    """A step function of time that starts at 0; several changes at one instant count as the last of them."""

    def __init__(self) -> None:
        self._time = 0.0
        self._level = 0.0
        self._area = 0.0
        self._max = 0.0  # over the instants before `_time`

    def set(self, now: float, level: float) -> None:
        """The level from now on. Times never decrease; a time in the past is taken as the latest known."""
        if now > self._time:
            self._area += self._level * (now - self._time)
            self._max = max(self._max, self._level)
            self._time = now
        self._level = level

    def set_many(self, times: NDArray[np.float64], levels: NDArray[np.float64]) -> None:
        """Many changes, in order of time."""
        if not len(times):
            return
        last = np.append(times[1:] > times[:-1], True)  # of several changes at an instant only the last holds
        at, value = times[last], levels[last]
        self.set(float(at[0]), float(value[0]))
        if len(at) > 1:
            self._area += float(value[:-1] @ np.diff(at))
            self._max = max(self._max, float(value[:-1].max()))
            self._time, self._level = float(at[-1]), float(value[-1])

    @property
    def max(self) -> float:
        return max(self._max, self._level)

    def mean(self, until: float) -> float:
        """The mean from time 0 to `until` (or to the last change, when that is later)."""
        end = max(until, self._time)
        return (self._area + self._level * (end - self._time)) / end if end > 0 else self._level
