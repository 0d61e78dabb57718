"""Mean latency of each class over time, in constant memory: at most 120 buckets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.class_measures import by_priority, priority_inversion

MOST = 120  # buckets; an even number, since they are merged in pairs
_FIRST_A_SECOND = 10.0  # buckets per second at first: 0.1 s each

Floats = NDArray[np.float64]


class LatencyOverTime:
    """Results in, `summary()` out. For a time beyond the last bucket, buckets are merged in pairs, twice as wide.

    Widths are 0.1 s times a power of two, and times are multiplied by the inverse of the width. So a merged bucket
    holds exactly the results that a bucket of that width would have held from the start. Results stay with the class
    they were added to.
    """

    def __init__(self, priorities: Mapping[str, int], began: float = 0.0) -> None:
        self._began = began  # the time at which the first bucket begins
        self._rows = {name: row for row, name in enumerate(priorities)}
        self._a_second = _FIRST_A_SECOND
        self.counts: Floats = np.zeros((len(self._rows), MOST))
        self.sums: Floats = np.zeros((len(self._rows), MOST))
        # Bucket -> the priorities that apply from there on. The last ones set within a bucket apply to all of it.
        self._valid = {0: dict(priorities)}

    def add(
        self, class_name: str, times: Floats, latencies: Floats, weights: Sequence[float] | Floats | None = None
    ) -> None:
        """Add results of a class, at least one. `times`: when handed out, in seconds since the run began."""
        times = times - self._began
        self._reach(float(times.max()))
        at = np.maximum(times * self._a_second, 0.0).astype(np.int64)
        row = self._rows[class_name]
        sizes = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.counts[row] += np.bincount(at, sizes, minlength=MOST)
        self.sums[row] += np.bincount(at, latencies if sizes is None else latencies * sizes, minlength=MOST)

    def set_priorities(self, now: float, priorities: Mapping[str, int]) -> None:
        """These priorities apply from now on."""
        now -= self._began
        self._reach(now)
        for name in priorities.keys() - self._rows.keys():  # a class that is new
            self._rows[name] = len(self._rows)
            self.counts, self.sums = (np.vstack([counts, np.zeros(MOST)]) for counts in (self.counts, self.sums))
        self._valid[int(now * self._a_second)] = dict(priorities)

    def summary(self, seconds: float) -> dict[str, Any]:
        """`course` in the report of a run that lasted `seconds`. A bucket without results has None."""
        while math.ceil(seconds * self._a_second) > MOST:
            self._merge()
        filled = int(np.flatnonzero(self.counts.any(axis=0)).max(initial=-1)) + 1
        buckets = max(filled, math.ceil(seconds * self._a_second))
        classes = {name: self._means(row, buckets) for name, row in self._rows.items()}
        return {
            "bucket": 1.0 / self._a_second,
            "times": [self._began + number / self._a_second for number in range(buckets)],
            "classes": classes,
            "inversion": self._inversion(classes, buckets),
        }

    def _means(self, row: int, buckets: int) -> list[float | None]:
        pairs = zip(self.sums[row, :buckets].tolist(), self.counts[row, :buckets].tolist(), strict=True)
        return [total / count if count else None for total, count in pairs]

    def _inversion(self, classes: Mapping[str, Sequence[float | None]], buckets: int) -> list[float | None]:
        """The priority inversion of the means in each bucket, with the priorities that applied then."""
        found = []
        for at in range(buckets):
            if at in self._valid:
                priorities = self._valid[at]
                order = by_priority(priorities)
            found.append(priority_inversion(order, {name: means[at] for name, means in classes.items()}, priorities))
        return found

    def _reach(self, time: float) -> None:
        """Merge buckets until there is one for this time."""
        while time * self._a_second >= MOST:
            self._merge()

    def _merge(self) -> None:
        self._a_second /= 2.0
        self.counts, self.sums = _merged(self.counts), _merged(self.sums)
        self._valid = {at // 2: priorities for at, priorities in self._valid.items()}  # of two, the later stays


def _merged(buckets: Floats) -> Floats:
    """Sums of neighboring buckets, followed by as many empty ones."""
    pairs = buckets[:, 0::2] + buckets[:, 1::2]
    return np.concatenate([pairs, np.zeros_like(pairs)], axis=1)
