"""A source whose rows come in the course of a run, so that there may be none at present and more later."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from headgate.connect.sources.base import stamp
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.placed_rows import PlacedRows


class LiveReader(Protocol):
    """Reads rows in order, as they come."""

    @property
    def place(self) -> Any: ...  # where it would go on after all that it has read, as `PlacedRows.place`
    @property
    def ended(self) -> bool: ...  # no more rows will come
    @property
    def rejected(self) -> int: ...  # rows that were put aside so far

    def read(self, now: float) -> PlacedRows | None:
        """The next rows, maybe none of which is good; None: there are none at present."""

    def close(self) -> None:
        """Let go of files and connections. A second call does nothing."""


class LiveSource:
    """A `Source` over a `LiveReader`. A row arrives when it is polled; a poll gives the rows of one block at most.

    With a position in the context, the reader was opened at its place, `resume["at"]`. If not even the reader can go
    on, there is no position (`can_go_on`).
    """

    replayable = True  # what is not polled waits where it is

    def __init__(self, reader: LiveReader, context: SourceContext, can_go_on: bool = True) -> None:
        self.schema = context.schema
        self._reader = reader
        self._can_go_on = can_go_on
        self._times = context.times_seen()
        self._given = context.resume["given"] if context.resume else 0
        self._place = reader.place  # of the first row of the block
        self._block: PlacedRows | None = None
        self._taken = 0  # rows of the block that were given out
        self._now = 0.0
        self._closed = False

    @property
    def position(self) -> dict[str, Any] | None:
        """See `position_of`."""
        if not self._can_go_on:
            return None
        place = self._place
        if self._block is not None and self._taken:
            rest = self._taken < self._block.table.num_rows
            place = self._block.place(self._taken) if rest else self._reader.place
        times = None if self._times is None else [self._times.first, self._times.latest]
        return {"given": self._given, "at": place, "times": times}

    @property
    def rejected(self) -> int:
        return self._reader.rejected

    @property
    def exhausted(self) -> bool:
        return self._closed or (not self._have_some() and self._reader.ended)

    def next_arrival(self) -> float | None:
        """See `Source`; what is there has always been there."""
        return 0.0 if self._have_some() else None

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""
        self._now = now
        if limit == 0 or not self._have_some():
            return None
        assert self._block is not None
        given = self._block.table.slice(self._taken, limit)
        arrivals = np.full(given.num_rows, round(now * 1e6), np.int64)
        table = stamp(given.columns, self.schema, arrivals, self._given)
        if self._times is not None:
            self._times.add(given)
        self._given += given.num_rows
        self._taken += given.num_rows
        return table

    def close(self) -> None:
        """See `Source`."""
        self._closed = True
        self._reader.close()

    def _have_some(self) -> bool:
        while not self._closed:
            if self._block is not None and self._taken < self._block.table.num_rows:
                return True
            if self._taken:
                self._place = self._reader.place
            self._block, self._taken = self._reader.read(self._now), 0
            if self._block is None:
                return False
        return False
