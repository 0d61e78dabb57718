"""Latencies of the last moments: their mean or a percentile over a sliding window."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WINDOW_S = 0.5
_SLACK_S = 0.5  # kept beyond the window: a query's results may be folded in later than another's

Floats = NDArray[np.float64]


class Look(NamedTuple):
    """How to look at recent values: their mean or a percentile, over so many seconds, and of how many at least."""

    percentile: float | None = None  # None: the mean
    window_s: float = WINDOW_S  # math.inf: since the beginning
    least: int = 1  # fewer values than that say nothing


LAST_MOMENTS = Look()


class Recent:
    """Values with their times, kept for as long as the longest window that was asked for."""

    def __init__(self) -> None:
        self._kept_s = WINDOW_S
        self._newest = 0.0
        self._blocks: deque[tuple[float, Floats, Floats, Floats | None]] = deque()  # last time, times, values, weights

    def add(self, times: Floats, values: Floats, weights: Sequence[float] | Floats | None = None) -> None:
        """Values with their times, in any order."""
        sizes = None if weights is None else np.asarray(weights, dtype=np.float64)
        last = float(times.max())
        self._newest = max(self._newest, last)
        self._blocks.append((last, times, values, sizes))
        oldest = self._newest - self._kept_s - _SLACK_S
        while self._blocks and self._blocks[0][0] < oldest:
            self._blocks.popleft()

    def value(self, now: float, look: Look = LAST_MOMENTS, since: float = -1.0) -> float | None:
        """What `look` asks for, over (now - window, now] without what came up to `since`."""
        self._kept_s = max(self._kept_s, look.window_s)
        values, weights = self._inside(max(now - look.window_s, since), now)
        if len(values) < max(1, look.least):
            return None
        if look.percentile is None:
            return float(values.mean() if weights is None else np.average(values, weights=weights))
        if weights is None:
            return float(np.percentile(values, look.percentile))
        return float(np.percentile(values, look.percentile, weights=weights, method="inverted_cdf"))

    def _inside(self, after: float, now: float) -> tuple[Floats, Floats | None]:
        found: list[tuple[Floats, Floats | None]] = []
        for last, times, values, weights in self._blocks:
            if last > after:
                inside = (times > after) & (times <= now)
                found.append((values[inside], None if weights is None else weights[inside]))
        if not found:
            return np.zeros(0), None
        if all(weights is None for _, weights in found):
            return np.concatenate([values for values, _ in found]), None
        sizes = [np.ones(len(values)) if weights is None else weights for values, weights in found]
        return np.concatenate([values for values, _ in found]), np.concatenate(sizes)
