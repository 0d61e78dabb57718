"""What a source is: the place that the tuples of a stream come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.sql.schema import CHANGE, RELATION_STAMPS


class Source(Protocol):
    """Delivers the tuples of one stream in order of arrival; a source thread of the runtime polls it.

    Times are seconds since the run began, passed in by the caller. A source is used by one thread at a time.

    A source that can go on after a restart has a property `position` besides, see `position_of`; one that knows how far
    it is behind has a `lag`. What lies outside and may pass is raised as an OSError (ConnectionError, TimeoutError): a
    source that has a position is then closed, and opened again there after a while. Any other error ends the stream.
    """

    @property
    def schema(self) -> pa.Schema: ...  # the stream's columns, `_arrival`, `_sequence`, and `_change` of a relation
    @property
    def exhausted(self) -> bool: ...  # no more tuples will come; may look ahead in a file
    @property
    def replayable(self) -> bool: ...  # may be left unread while memory is short
    @property
    def rejected(self) -> int: ...  # malformed rows that were put aside so far

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """The tuples that have arrived up to `now` and were not yet delivered, at most `limit`; None: there are none.

        `_arrival` is when a tuple was due, in microseconds; `_sequence` counts from 0 without gaps.
        """

    def next_arrival(self) -> float | None:
        """When the next tuple is due; None when exhausted or not known."""

    def close(self) -> None:
        """Close files. The source delivers nothing afterwards."""


# The position of a stream that has ended: it stays ended after a restart, even if its file has grown since.
ENDED: Mapping[str, Any] = {"ended": True}


def position_of(source: Source) -> Any:
    """Where a source would go on reading after all tuples that it has delivered, as a value that JSON can hold.

    Opened with it again (`SourceContext.resume`), it delivers the tuples after those, with the sequence numbers that
    they would have had. None: the source cannot go on, and begins anew after a restart.
    """
    return getattr(source, "position", None)


def lag_of(source: Source) -> int | None:
    """How many tuples are there that a source has not delivered yet: its property `lag`. None: it does not know."""
    return getattr(source, "lag", None)


def is_complete(source: Source) -> bool:
    """Did the last poll, if it gave less than its limit, give all tuples that had arrived by then? False where a
    source has a property `complete` that says so: some of them come later."""
    return bool(getattr(source, "complete", True))


def forget(source: Source, position: Any) -> None:
    """No restart will go on before this position anymore, because a checkpoint with it is durable and no older one is
    kept. A source that keeps tuples for a restart has a method `forget`, and may drop them now. Position None: it has
    ended, and will not be opened again. Called from any thread, also after it was closed."""
    if (drop := getattr(source, "forget", None)) is not None:
        drop(position)


def stamp(columns: list[pa.ChunkedArray], schema: pa.Schema, arrivals_us: NDArray[np.int64], first: int) -> pa.Table:
    """A batch from its columns and arrivals; the first tuple has sequence number `first`.

    The columns are those of `stored_columns`: of a relation, the changes stand in front.
    """
    sequence = np.arange(first, first + len(arrivals_us), dtype=np.int64)
    signs = 1 if CHANGE in schema.names else 0
    stamped = [*columns[signs:], pa.array(arrivals_us), pa.array(sequence), *columns[:signs]]
    return pa.Table.from_arrays(stamped, schema=schema)


def without_stamps(schema: pa.Schema) -> pa.Schema:
    """The stream's own columns."""
    return pa.schema([field for field in schema if field.name not in RELATION_STAMPS])


def stored_columns(schema: pa.Schema) -> pa.Schema:
    """The columns of a source that a file holds: the stream's own, preceded by the changes of a relation."""
    return pa.schema([*(field for field in schema if field.name == CHANGE), *without_stamps(schema)])
