"""A source whose rows come in the course of a run, so that there may be none at present and more later."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from headgate.connect.sources.base import stamp
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.scheduling.reference import Reference


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


@runtime_checkable
class ReferringReader(Protocol):
    """A `LiveReader` of rows that executors can read themselves."""

    @property
    def place(self) -> Any: ...
    def refer(self, place: Any, now: float, sequence: int, least: int, most: int) -> Reference | None:
        """A reference to the rows from a place on, see `ReferringSource`."""

    def go_to(self, reference: Reference) -> None:
        """Go on after the rows of a reference."""


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
        times = None if self._times is None else [self._times.first, self._times.latest]
        return {"given": self._given, "at": self._position_of_next, "times": times}

    @property
    def _position_of_next(self) -> Any:
        """The place of the next row that is given out."""
        if self._block is None or not self._taken:
            return self._place
        rest = self._taken < self._block.table.num_rows
        return self._block.place(self._taken) if rest else self._reader.place

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

    def refer(self, now: float, least: int, most: int) -> Reference | None:
        """See `ReferringSource`; None if the reader cannot refer to its rows."""
        self._now = now
        if self._closed or not isinstance(self._reader, ReferringReader):
            return None
        place = self._position_of_next
        if self._block is not None and not self._taken:
            place = self._block.place(0)  # the reader is beyond the block, which was only looked at
        return self._reader.refer(place, now, self._given, least, most)

    def skip(self, reference: Reference) -> None:
        """See `ReferringSource`."""
        assert isinstance(self._reader, ReferringReader)
        self._reader.go_to(reference)
        self._place, self._block, self._taken = self._reader.place, None, 0
        self._given += reference.num_rows

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
