"""Latencies in constant memory: exact count, sum and maximum, and a histogram for the percentiles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

PERCENTILES = (10, 25, 50, 75, 90, 95, 99)
SUMMARY_KEYS = ("mean", *(f"p{p}" for p in PERCENTILES), "max")

_LOG_WIDTH = math.log(1.002)  # buckets are 0.2 % wide, so a percentile is off by less than that
_SMALLEST, _LARGEST = 1e-9, 1e9  # seconds; smaller samples count as 0, larger ones fall into the last bucket
_LAST = math.floor(math.log(_LARGEST) / _LOG_WIDTH)
_BUFFER = 4096  # single samples kept before they are folded in together, which hides the cost of calling numpy


class LatencyTotal(NamedTuple):
    """A number of results, and the sum of their latencies in seconds."""

    results: float = 0.0
    seconds: float = 0.0

    def since(self, earlier: LatencyTotal) -> LatencyTotal:
        """The results that came after an earlier total."""
        return LatencyTotal(self.results - earlier.results, self.seconds - earlier.seconds)

    @property
    def mean(self) -> float | None:
        """The mean latency; None without results."""
        return self.seconds / self.results if self.results > 0.0 else None


class LatencyRecorder:
    """Samples in, `summary()` out. The monitor has one per query; those of a class are merged for its report.

    Memory is bounded: the histogram spans only the buckets in use, at most 20,700 (9 decades each side of 1 s).
    """

    def __init__(self) -> None:
        self._count = 0.0
        self._sum = 0.0
        self._max = 0.0
        self._min = math.inf
        self._zeros = 0.0  # weight of the samples below the smallest bucket
        self._first = 0  # index of the first bucket in use
        self._buckets: NDArray[np.float64] = np.zeros(0)
        self._weighted = False
        self._pending: list[float] = []

    def add(self, latency: float) -> None:
        """Add one sample of weight 1, in seconds."""
        self._pending.append(latency)
        if len(self._pending) >= _BUFFER:
            self._fold()

    def add_many(self, latencies: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add many samples, each of weight 1 or with its own weight (the tuple sizes of a fluid simulation)."""
        values = np.asarray(latencies, dtype=np.float64)
        if not len(values):
            return
        sizes = None if weights is None else np.asarray(weights, dtype=np.float64)
        self._weighted |= sizes is not None
        self._count += len(values) if sizes is None else float(sizes.sum())
        self._sum += float(values.sum() if sizes is None else values @ sizes)
        self._max = max(self._max, float(values.max()))
        self._min = min(self._min, float(values.min()))
        large = values >= _SMALLEST
        if not large.all():
            self._zeros += float((~large).sum() if sizes is None else sizes[~large].sum())
            values = values[large]
            sizes = None if sizes is None else sizes[large]
        if len(values):
            index = np.minimum(np.floor(np.log(values) / _LOG_WIDTH), _LAST).astype(np.int64)
            first = int(index.min())
            self._add_buckets(first, np.bincount(index - first, sizes).astype(np.float64))

    def merge(self, other: LatencyRecorder) -> None:
        """Add all samples of another recorder, which is not changed."""
        other._fold()
        self._fold()
        self._count += other._count
        self._sum += other._sum
        self._max = max(self._max, other._max)
        self._min = min(self._min, other._min)
        self._zeros += other._zeros
        self._weighted |= other._weighted
        self._add_buckets(other._first, other._buckets)

    def copy(self) -> LatencyRecorder:
        """A recorder with the samples so far. Later samples do not change it."""
        copied = LatencyRecorder()
        copied.merge(self)
        return copied

    def since(self, earlier: LatencyRecorder) -> LatencyRecorder:
        """The samples added since `earlier`, a copy of this recorder, was made.

        Their minimum and maximum are known only to the width of a bucket.
        """
        self._fold()
        found = LatencyRecorder()
        found._count, found._sum = self._count - earlier._count, self._sum - earlier._sum
        found._zeros, found._weighted = self._zeros - earlier._zeros, self._weighted
        found._first, found._buckets = self._first, self._buckets.copy()
        if len(earlier._buckets):
            at = earlier._first - self._first
            found._buckets[at : at + len(earlier._buckets)] -= earlier._buckets
        filled = np.flatnonzero(found._buckets)
        if len(filled):
            found._max = min(self._max, math.exp((found._first + int(filled[-1]) + 1) * _LOG_WIDTH))
            found._min = max(self._min, math.exp((found._first + int(filled[0])) * _LOG_WIDTH))
        if found._zeros:
            found._min = self._min
        return found

    @property
    def count(self) -> float:
        """The number of samples so far, or the sum of their weights."""
        return self._count + len(self._pending)

    @property
    def total(self) -> LatencyTotal:
        """The number of samples so far (or the sum of their weights), and their sum."""
        return LatencyTotal(self.count, self._sum + sum(self._pending))

    @property
    def buckets(self) -> int:
        """How many buckets of the histogram take up memory."""
        return len(self._buckets)

    @property
    def mean(self) -> float | None:
        """The mean of the samples; None without samples."""
        self._fold()
        return self._sum / self._count if self._count > 0.0 else None

    def percentile(self, percent: float) -> float | None:
        """The value that `percent` % of the samples do not exceed; None without samples.

        It is interpolated linearly between neighboring samples, as `numpy.percentile` does. With weights it is read off
        the weighted distribution.
        """
        self._fold()
        if self._count <= 0.0:
            return None
        if self._weighted:
            return self._value_at(percent / 100.0 * self._count)
        rank = percent / 100.0 * (self._count - 1.0)
        below = math.floor(rank)
        low = self._value_at(below + 0.5)
        if rank == below:
            return low
        return low + (rank - below) * (self._value_at(below + 1.5) - low)

    def _value_at(self, weight: float) -> float:
        """The value at which the sorted samples reach this cumulative weight."""
        if weight <= self._zeros:
            return self._min
        reached = self._reached
        at = min(int(np.searchsorted(reached, weight, side="left")), len(reached) - 1)
        inside = 1.0 - (float(reached[at]) - weight) / float(self._buckets[at])
        value = math.exp((self._first + at + min(max(inside, 0.0), 1.0)) * _LOG_WIDTH)
        return min(max(value, self._min), self._max)

    @property
    def _reached(self) -> NDArray[np.float64]:
        cumulative: NDArray[np.float64] = self._zeros + np.cumsum(self._buckets)
        return cumulative

    def summary(self) -> dict[str, float | None]:
        """Mean, percentiles and maximum in seconds, keyed as in a report; all None without samples."""
        self._fold()
        if self._count <= 0.0:
            return dict.fromkeys(SUMMARY_KEYS)
        values: dict[str, Any] = {"mean": self.mean}
        values.update({f"p{p}": self.percentile(p) for p in PERCENTILES})
        values["max"] = self._max
        return values

    def _fold(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self.add_many(pending)

    def _add_buckets(self, first: int, counts: NDArray[np.float64]) -> None:
        if not len(counts):
            return
        if not len(self._buckets):
            self._first, self._buckets = first, counts.copy()
            return
        start = min(first, self._first)
        end = max(first + len(counts), self._first + len(self._buckets))
        if end - start > len(self._buckets):
            grown = np.zeros(end - start)
            grown[self._first - start : self._first - start + len(self._buckets)] = self._buckets
            self._first, self._buckets = start, grown
        self._buckets[first - self._first : first - self._first + len(counts)] += counts
