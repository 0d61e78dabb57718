"""A mean over the last half second, kept in time buckets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WINDOW_S = 0.5
_BUCKETS = 50  # of a window: its old end is off by at most 10 ms, whatever the rate
_KEPT = 2 * _BUCKETS  # before the newest: a query's results may be folded in later than another's


class RecentMean:
    """The mean of the values of the last `window_s` seconds; memory does not grow with their number."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._width = window_s / _BUCKETS
        self._newest = 0
        self._buckets: dict[int, tuple[float, float]] = {}  # bucket number -> count, sum

    def add(
        self,
        times: NDArray[np.float64],
        values: NDArray[np.float64],
        weights: Sequence[float] | NDArray[np.float64] | None = None,
    ) -> None:
        """Values with their times, in any order; what is far older than the newest is left out."""
        counts = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
        number = np.floor(times / self._width).astype(np.int64)
        self._newest = max(self._newest, int(number.max()))
        oldest = self._newest - _KEPT
        inside = number >= oldest
        number = number[inside] - oldest
        held = np.bincount(number, counts[inside])
        sums = np.bincount(number, counts[inside] * values[inside])
        for at in np.flatnonzero(held):
            count, total = self._buckets.get(oldest + int(at), (0.0, 0.0))
            self._buckets[oldest + int(at)] = count + float(held[at]), total + float(sums[at])
        if len(self._buckets) > 2 * _KEPT:
            self._buckets = {n: bucket for n, bucket in self._buckets.items() if n >= oldest}

    def mean(self, now: float) -> float | None:
        """The mean over (now - window, now]; None without values in it."""
        last = math.floor(now / self._width)
        inside = [bucket for n, bucket in self._buckets.items() if last - _BUCKETS < n <= last]
        count = sum(held for held, _ in inside)
        return sum(total for _, total in inside) / count if count > 0.0 else None
