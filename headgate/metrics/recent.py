"""Recent latencies: their mean or a percentile over a sliding window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WINDOW_S = 0.5
_SLACK_S = 0.5  # kept beyond the window, since the results of one query may be folded in later than another's

Floats = NDArray[np.float64]


class RecentStatistic(NamedTuple):
    """Which statistic of recent values to take: the mean or a percentile, over which window, of at least how many."""

    percentile: float | None = None  # None: the mean
    window_s: float = WINDOW_S  # math.inf: the whole run
    least: int = 1  # with fewer values the result is None


RECENT_MEAN = RecentStatistic()


class RecentValues:
    """Values with their times, in order of time, kept for as long as the longest window that was asked for.

    Policies may ask after every few results, so neither adding nor asking goes through all the values kept.
    """

    def __init__(self) -> None:
        self._kept_s = WINDOW_S
        self._rows: Floats = np.empty((3, 64))  # times, values, weights; those from _first to _end are kept
        self._first = self._end = 0
        self._weighted = False

    def add(self, times: Floats, values: Floats, weights: Sequence[float] | Floats | None = None) -> None:
        """Add values with their times, in any order."""
        self._weighted |= weights is not None
        block = np.stack([times, values, np.ones(len(values)) if weights is None else np.asarray(weights)])
        at = self._first + int(np.searchsorted(self._kept[0], times.min(), side="right"))
        if at < self._end:  # some values are newer: another query was folded in first
            block = np.concatenate([self._rows[:, at : self._end], block], axis=1)
        if len(times) > 1 or at < self._end:
            block = block[:, np.argsort(block[0], kind="stable")]
        self._end = at
        self._append(block)
        oldest = self._rows[0, self._end - 1] - self._kept_s - _SLACK_S
        self._first += int(np.searchsorted(self._kept[0], oldest))

    def value(self, now: float, statistic: RecentStatistic = RECENT_MEAN, since: float = -1.0) -> float | None:
        """The statistic that `statistic` asks for, over (now - window, now], without values up to `since`."""
        self._kept_s = max(self._kept_s, statistic.window_s)
        after, until = np.searchsorted(self._kept[0], (max(now - statistic.window_s, since), now), side="right")
        _, values, weights = self._kept[:, after:until]
        if len(values) < max(1, statistic.least):
            return None
        if statistic.percentile is None:
            return float(np.average(values, weights=weights) if self._weighted else values.mean())
        if not self._weighted:
            return float(np.percentile(values, statistic.percentile))
        return float(np.percentile(values, statistic.percentile, weights=weights, method="inverted_cdf"))

    @property
    def _kept(self) -> Floats:
        return self._rows[:, self._first : self._end]

    def _append(self, block: Floats) -> None:
        end = self._end + block.shape[1]
        if end > self._rows.shape[1]:  # move what is kept to the front, and leave as much room again behind it
            kept = self._kept
            self._rows = np.empty((3, 2 * (kept.shape[1] + block.shape[1])))
            self._rows[:, : kept.shape[1]] = kept
            self._first, self._end, end = 0, kept.shape[1], kept.shape[1] + block.shape[1]
        self._rows[:, self._end : end] = block
        self._end = end
