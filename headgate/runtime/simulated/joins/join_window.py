"""The contents of a simulated window: rows in order of arrival, and how long each stays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headgate.runtime.simulated.selectivity import Item, JoinResult

Floats = NDArray[np.float64]
_FIRST_SIZE = 256


class ArrivalLog:
    """When the tuples of a stream arrived, as far back as any window still needs."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self._times: Floats = np.empty(0)
        self._dropped = 0  # before the first that is kept

    def __len__(self) -> int:
        """How many arrivals are kept."""
        return len(self._times)

    def add(self, arrivals: Floats) -> None:
        """Add the next arrivals, in order. Called by `Admission` before the first of them enters."""
        self._times = np.concatenate([self._times, arrivals])

    def rank(self, time: float) -> int:
        """How many tuples arrived up to a time."""
        return self._dropped + int(np.searchsorted(self._times, time, side="right"))

    def at(self, number: int) -> float:
        """When the tuple with this number (from 0) arrived; inf if it has not arrived yet, -inf if it was dropped."""
        at = number - self._dropped
        if at < 0:
            return -math.inf
        return float(self._times[at]) if at < len(self._times) else math.inf

    def drop(self, number: int) -> None:
        """Forget the tuples before this one."""
        old = min(number - self._dropped, len(self._times))
        if old > 0:
            self._times = self._times[old:].copy()
            self._dropped += old


class TimeExtent:
    """RANGE: a row stays for `length` seconds, both ends moved up to the next multiple of `slide` if there is one."""

    ordered = True  # rows leave in the order in which they came

    def __init__(self, length: float, slide: float | None = None) -> None:
        self.length = length
        self.slide = slide

    def stay(self, item: Item) -> tuple[float, float]:
        """When a row enters the window and when it leaves it (exclusive)."""
        since, until = item[0], item[0] + self.length
        if self.slide is None:
            return since, until
        until = until if until == math.inf else math.ceil(until / self.slide) * self.slide
        return math.ceil(since / self.slide) * self.slide, until


class RowsExtent:
    """ROWS: a row stays until `count` more have arrived on its stream, as recorded by the log."""

    ordered = True

    def __init__(self, log: ArrivalLog, count: int) -> None:
        self.log = log
        self.count = count

    def stay(self, item: Item) -> tuple[float, float]:
        return item[0], self.log.at(self.log.rank(item[0]) - 1 + self.count)

    def oldest(self, now: float) -> float:
        """The arrival of the oldest row in the window at a time."""
        return self.log.at(self.log.rank(now) - self.count)


class JoinResultExtent:
    """The result of another join: each row knows how long it stays."""

    ordered = False

    def stay(self, item: Item) -> tuple[float, float]:
        assert isinstance(item, JoinResult)
        return item.since, item.until


Extent = TimeExtent | RowsExtent | JoinResultExtent


class JoinWindow:
    """The rows of one side of a join that rows of the other side may still meet, in order of arrival."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self._first = self._end = 0
        self._arrivals, self._since, self._until = (np.empty(_FIRST_SIZE) for _ in range(3))
        self._keys = np.empty(_FIRST_SIZE, dtype=np.uint64)

    def __len__(self) -> int:
        return self._end - self._first

    @property
    def arrivals(self) -> Floats:
        return self._arrivals[self._first : self._end]

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self._keys[self._first : self._end]

    @property
    def since(self) -> Floats:
        return self._since[self._first : self._end]

    @property
    def until(self) -> Floats:
        """When rows leave. Not valid for ROWS windows, where this is not known when a row arrives."""
        return self._until[self._first : self._end]

    def alive(self, since: float, until: float) -> slice | NDArray[np.intp]:
        """The indices, in `arrivals` and the other columns, of rows present at some instant in [since, until)."""
        extent, first, end = self.extent, self._first, self._end
        if not extent.ordered:
            return np.flatnonzero((self.until > since) & (self.since < until))
        if isinstance(extent, RowsExtent):
            low = self._arrivals[first:end].searchsorted(extent.oldest(since))
        else:
            low = self._until[first:end].searchsorted(since, side="right")
        return slice(int(low), int(self._since[first:end].searchsorted(until)))

    def add(self, item: Item, since: float, until: float) -> None:
        if self._end == len(self._keys):
            self._make_room()
        at = self._end
        if self._first < at and item[0] < self._arrivals[at - 1]:  # younger rows were added before it
            at = self._first + int(np.searchsorted(self.arrivals, item[0], side="right"))
            for column in self._columns:
                column[at + 1 : self._end + 1] = column[at : self._end].copy()
        self._end += 1
        self._arrivals[at], self._since[at], self._until[at] = item[0], since, until
        self._keys[at] = item[1]

    def remove(self, item: Item) -> None:
        """Remove a row that was not processed after all."""
        first = int(np.searchsorted(self.arrivals, item[0], side="left"))
        at = first + int(np.flatnonzero(self.keys[first:] == np.uint64(item[1]))[0]) + self._first
        for column in self._columns:
            column[at : self._end - 1] = column[at + 1 : self._end].copy()
        self._end -= 1

    def drop(self, frontier: float) -> None:
        """Drop rows that no future row of the other side can meet; those arrive at `frontier` at the earliest."""
        if isinstance(self.extent, RowsExtent):
            if frontier == math.inf:
                self._first = self._end
            else:
                self._first += int(np.searchsorted(self.arrivals, self.extent.oldest(frontier), side="left"))
        elif self.extent.ordered:
            self._first += int(np.searchsorted(self.until, frontier, side="right"))
        else:
            kept = self.until > frontier
            end = self._first + int(kept.sum())
            for column in self._columns:
                column[self._first : end] = column[self._first : self._end][kept]
            self._end = end

    @property
    def _columns(self) -> tuple[NDArray[np.float64 | np.uint64], ...]:
        return self._arrivals, self._since, self._until, self._keys

    def _make_room(self) -> None:
        held = len(self)
        size = max(_FIRST_SIZE, 2 * held)
        columns = []
        for column in self._columns:
            grown = np.empty(size, dtype=column.dtype)
            grown[:held] = column[self._first : self._end]
            columns.append(grown)
        self._arrivals, self._since, self._until, self._keys = columns  # type: ignore[assignment]
        self._first, self._end = 0, held
