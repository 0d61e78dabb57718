"""A source as a run reads it: from a moment of the run on, or from where an earlier run stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources.base import ENDED, Source, forget, is_complete, lag_of, position_of
from headgate.sql.schema import ARRIVAL, SEQUENCE


class RunSource:
    """Moves the times of a source back by `since` seconds, and its sequence numbers on by `first`.

    They are not 0 for a source that is opened in the middle of a run, or that begins anew after a restart. `given` is
    how many tuples of the stream were delivered before, in this run and in those that it goes on from.
    """

    def __init__(self, source: Source, since: float = 0.0, first: int = 0, given: int = 0) -> None:
        self._source = source
        self._since = since
        self._first = first
        self.given = given
        self.schema = source.schema
        self.replayable = source.replayable

    @property
    def exhausted(self) -> bool:
        """See `Source`."""
        return self._source.exhausted

    @property
    def rejected(self) -> int:
        """See `Source`."""
        return self._source.rejected

    @property
    def position(self) -> dict[str, Any]:
        """See `position_of`; the position of the source itself is under `at`."""
        return {"since": self._since, "first": self._first, "given": self.given, "at": position_of(self._source)}

    @property
    def complete(self) -> bool:
        """See `is_complete`."""
        return is_complete(self._source)

    def forget(self, position: Any) -> None:
        """See `forget`; here it is a position in a run."""
        forget(self._source, None if position == ENDED else position["at"])

    @property
    def lag(self) -> int | None:
        """See `lag_of`."""
        return lag_of(self._source)

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""
        table = self._source.poll(now - self._since, limit)
        if table is None:
            return None
        self.given += table.num_rows
        return _moved(_moved(table, ARRIVAL, round(self._since * 1e6)), SEQUENCE, self._first)

    def next_arrival(self) -> float | None:
        """See `Source`."""
        due = self._source.next_arrival()
        return None if due is None else due + self._since

    def close(self) -> None:
        """See `Source`."""
        self._source.close()


def goes_on_from(position: Mapping[str, Any] | None) -> bool:
    """Does the source of a stream go on from a position in a run, rather than begin anew?"""
    return position is not None and (position == ENDED or position["at"] is not None)


class EndedSource:
    """The source of a stream that had ended when the run was interrupted: it gives nothing."""

    replayable = True
    exhausted = True
    rejected = 0
    position = ENDED

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""

    def next_arrival(self) -> float | None:
        """See `Source`."""

    def close(self) -> None:
        """See `Source`."""


def _moved(table: pa.Table, name: str, by: int) -> pa.Table:
    if not by:
        return table
    at = table.column_names.index(name)
    return table.set_column(at, table.schema.field(at), pc.add(table.column(at), pa.scalar(by, pa.int64())))
