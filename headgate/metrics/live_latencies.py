"""The latencies of the last minutes, by query and by class, for people who watch a run: cheap to count, cheap to read.

Blocks of results are kept until there are many, and then counted together: numpy takes about as long for one as for a
hundred. Counts, means and maxima are exact; percentiles are those of a sample, to within a bucket of 4 %.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BUCKET_S = 5.0
BUCKETS = 60  # kept: five minutes
WINDOW = 12  # buckets, the current one included, that count as "now": the last minute
_MOST_BLOCKS, _MOST_RESULTS = 256, 65_536  # that wait to be counted
_SAMPLE = 64  # results of a block that count for percentiles, about
_WIDTH = math.log(1.04)
_SMALLEST = 1e-6  # seconds
_LEVELS = math.ceil(math.log(1e4 / _SMALLEST) / _WIDTH)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Window(NamedTuple):
    """What a query or a class got in the last minute."""

    results: int
    mean: float | None
    max: float | None


class Rings:
    """Results, sums and maxima in the latest buckets, a row for each name."""

    def __init__(self, levels: int = 0) -> None:
        self.rows: dict[str, int] = {}
        self._free: list[int] = []
        self._at = 0  # the number of the latest bucket
        self._counts: Floats = np.zeros((0, BUCKETS))
        self._sums: Floats = np.zeros((0, BUCKETS))
        self._maxima: Floats = np.zeros((0, BUCKETS))
        self._levels: Floats = np.zeros((0, WINDOW, levels))

    def row(self, name: str) -> int:
        """The row of a name, which may be new."""
        if name not in self.rows:
            if not self._free:
                self._grow()
            self.rows[name] = self._free.pop()
        return self.rows[name]

    def forget(self, name: str) -> None:
        """Nobody will ask for this name any more."""
        row = self.rows.pop(name, None)
        if row is not None:
            for table in self._tables:
                table[row] = 0.0
            self._free.append(row)

    @property
    def _tables(self) -> tuple[Floats, ...]:
        return self._counts, self._sums, self._maxima, self._levels

    def _grow(self) -> None:
        had = len(self._counts)
        more = max(8, had)
        grown = [np.concatenate([table, np.zeros((more, *table.shape[1:]))]) for table in self._tables]
        self._counts, self._sums, self._maxima, self._levels = grown
        self._free += range(had + more - 1, had - 1, -1)

    def advance(self, bucket: int) -> None:
        """Time has come to this bucket: those that are too old now are emptied."""
        for number in range(max(self._at + 1, bucket - BUCKETS + 1), bucket + 1):
            for table in (self._counts, self._sums, self._maxima):
                table[:, number % BUCKETS] = 0.0
            self._levels[:, number % WINDOW] = 0.0
        self._at = max(self._at, bucket)

    def add(self, rows: Ints, buckets: Ints, counts: Floats, sums: Floats, maxima: Floats) -> None:
        """Add blocks of results, of buckets that `advance` has come to and that are not too old."""
        at = (rows, buckets % BUCKETS)
        np.add.at(self._counts, at, counts)
        np.add.at(self._sums, at, sums)
        np.maximum.at(self._maxima, at, maxima)

    def add_levels(self, rows: Ints, buckets: Ints, latencies: Floats, weights: Floats) -> None:
        """Add single results for percentiles."""
        level = np.log(np.maximum(latencies, _SMALLEST) / _SMALLEST) / _WIDTH
        recent = buckets > self._at - WINDOW
        at = (rows[recent], buckets[recent] % WINDOW, np.minimum(level[recent].astype(np.int64), _LEVELS - 1))
        np.add.at(self._levels, at, weights[recent])

    def windows(self) -> dict[str, Window]:
        """By name, the last minute."""
        columns = np.arange(max(0, self._at - WINDOW + 1), self._at + 1) % BUCKETS
        counts = self._counts[:, columns].sum(axis=1)
        means = (self._sums[:, columns].sum(axis=1) / np.maximum(counts, 1.0)).tolist()
        maxima, numbers = self._maxima[:, columns].max(axis=1, initial=0.0).tolist(), counts.astype(np.int64).tolist()
        return {
            name: Window(numbers[row], means[row], maxima[row]) if numbers[row] else Window(0, None, None)
            for name, row in self.rows.items()
        }

    def percentiles(self, name: str, percents: tuple[int, ...]) -> list[float | None]:
        """Percentiles of the last minute."""
        if name not in self.rows:
            return [None for _ in percents]
        reached = np.cumsum(self._levels[self.rows[name]].sum(axis=0))
        total = float(reached[-1])
        if not total:
            return [None for _ in percents]
        places = [int(np.searchsorted(reached, percent / 100.0 * total)) for percent in percents]
        return [_SMALLEST * math.exp((min(place, _LEVELS - 1) + 0.5) * _WIDTH) for place in places]

    def course(self, name: str) -> dict[str, Any]:
        """The buckets of a name as plain data, oldest first; see `Run.query_overview`."""
        numbers = range(max(0, self._at - BUCKETS + 1), self._at + 1)
        row, columns = self.rows.get(name), [number % BUCKETS for number in numbers]
        tables = [
            [0.0] * len(columns) if row is None else table[row, columns].tolist()
            for table in (self._counts, self._sums, self._maxima)
        ]
        cells = list(zip(*tables, strict=True))
        return {
            "bucket": BUCKET_S,
            "times": [number * BUCKET_S for number in numbers],
            "means": [total / count if count else None for count, total, _ in cells],
            "maxima": [most if count else None for count, _, most in cells],
            "counts": [int(count) for count, _, _ in cells],
        }


class _Block(NamedTuple):
    """Results of a query, handed out together."""

    query: int  # its row
    class_: int
    bucket: int
    latencies: Floats


class LiveLatencies:
    """Counts results as they are handed out. Not thread-safe: the monitor has it, under the runtime's lock."""

    def __init__(self) -> None:
        self.queries = Rings()
        self.classes = Rings(_LEVELS)
        self._blocks: list[_Block] = []
        self._waiting = 0

    def add(self, query: str, class_name: str, now: float, latencies: Floats) -> None:
        """Results of a query were handed out now; the array is kept for a while."""
        if len(latencies):
            bucket = int(now / BUCKET_S)
            self._blocks.append(_Block(self.queries.row(query), self.classes.row(class_name), bucket, latencies))
            self._waiting += len(latencies)
            if len(self._blocks) >= _MOST_BLOCKS or self._waiting >= _MOST_RESULTS:
                self.count(now)

    def forget(self, query: str, now: float) -> None:
        """A query was removed."""
        self.count(now)
        self.queries.forget(query)

    def count(self, now: float) -> None:
        """Count what waits, and let time come to now."""
        current = int(now / BUCKET_S)
        blocks = [one for one in self._blocks if one.bucket > current - BUCKETS]
        self._blocks, self._waiting = [], 0
        self.queries.advance(current)
        self.classes.advance(current)
        if not blocks:
            return
        query, class_, buckets = (np.array(column) for column in list(zip(*blocks, strict=True))[:3])
        sizes = np.array([len(one.latencies) for one in blocks])
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        values = np.concatenate([one.latencies for one in blocks])
        sums, maxima = np.add.reduceat(values, first), np.maximum.reduceat(values, first)
        counts = sizes.astype(np.float64)
        self.queries.add(query, buckets, counts, sums, maxima)
        self.classes.add(class_, buckets, counts, sums, maxima)
        samples = [one.latencies[:: 1 + len(one.latencies) // _SAMPLE] for one in blocks]
        taken = np.array([len(sample) for sample in samples])
        weights = np.repeat(counts / taken, taken)
        self.classes.add_levels(np.repeat(class_, taken), np.repeat(buckets, taken), np.concatenate(samples), weights)

    @staticmethod
    def window_s(now: float) -> float:
        """The seconds that `windows` and `percentiles` are about: a minute, or less."""
        return now - max(0, int(now / BUCKET_S) - WINDOW + 1) * BUCKET_S
