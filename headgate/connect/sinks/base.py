"""What a sink is: the place that the results of a query go to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.arrow_types import arrow_type
from headgate.plan.flows import Flow
from headgate.plan.windows import Clock
from headgate.sql.schema import ARRIVAL, CHANGE, RELATION_STAMPS, TIME, Column, Schema


class Sink(Protocol):
    """Takes the results of one query, in order; the runtime calls `write` from one thread at a time.

    A write that fails raises OSError and may have written a part of the rows.
    """

    @property
    def rows(self) -> int: ...  # results received so far; of a relation that loses rows, its changes

    def write(self, table: pa.Table) -> None:
        """Take results: the query's columns, then the stamps. Readers of a file see them when this returns.

        Only a file that shows a whole relation may lag behind (see `relation.RelationFile`).
        """

    def refresh(self) -> None:
        """Bring a file that lags behind up to date if it is time; the runtime calls it now and then, from any thread.

        Raises OSError as `write` does.
        """

    def flush(self) -> None:
        """Hand everything to the operating system, and a file whose `position` counts to its disk.

        The runtime calls it from any thread, before a checkpoint that counts on the position becomes valid.
        """

    def close(self) -> None:
        """End the results; a file sink that got none still leaves a file. A second call does nothing."""


class EpochSink(Protocol):
    """Where results go in numbered transactions: all rows of an epoch become visible together, once.

    `staged.StagedSink` collects the results of an epoch, lets the runtime make them part of a checkpoint, and then
    commits them from a thread of its own. After a crash it commits what the latest checkpoint holds again, so `commit`
    must leave out what it has committed before.
    """

    @property
    def last_epoch(self) -> int: ...  # the newest epoch that is committed there, 0 if none; read when the run begins

    def commit(self, epoch: int, table: pa.Table) -> None:
        """Make the rows of an epoch visible, unless they are already. Numbers rise; none is used for other rows again.

        ValueError or TypeError: these rows can never be written there; the query ends. After any other error the call
        is repeated, with growing pauses.
        """

    def close(self) -> None:
        """Let go of connections. A second call does nothing."""


def position_of(sink: Sink) -> Any:
    """Where a sink stands, as a value that JSON can hold: opened with it again (`SinkContext.resume`), it cuts off what
    came after, so that it can be given again. None: the sink cannot, and may be given rows twice after a restart.

    The runtime asks between two writes; so it does for `content_of`.
    """
    return getattr(sink, "position", None)


def content_of(sink: Sink) -> Any:
    """Rows that belong to a sink's position and are too many for JSON: results that it keeps in memory, for example.

    A table or a list of tables. A checkpoint holds them as Arrow data (two columns may have the same name), and the
    sink gets them back as `SinkContext.content`. A table that was in the checkpoint before is not written again. None:
    there are none.
    """
    return getattr(sink, "content", None)


class CannotResume(Exception):
    """What a sink would go on with is not there, or is not what the checkpoint counts on."""


class Shape:
    """Reduces results to the columns that the user asked for.

    Stamps go; `format: changes` puts `time` and `change` ('+', or '-' where a relation lost a row) first instead.
    `time` is the instant as the flow's clock has it: a timestamp, a number of a logical clock, or the arrival in
    microseconds.
    """

    def __init__(self, schema: Schema, settings: Mapping[str, Any], flow: Flow | None = None) -> None:
        self._schema = schema
        self._names = list(schema.names)
        self._hidden = set(RELATION_STAMPS) - set(self._names)
        self._changes = settings.get("format", "rows") == "changes"
        self._flow = flow or Flow()

    @property
    def names(self) -> list[str]:
        """The columns of the results, for a header."""
        return ["time", "change", *self._names] if self._changes else list(self._names)

    @property
    def whole(self) -> bool:
        """Should the sink show the relation as it stands, rather than one result after another?"""
        return self._flow.relation and not self._flow.monotone and not self._changes

    def empty(self) -> pa.Table:
        """A table of no results. A column whose type only Spark knows is of type null."""
        kinds = {column.name: _arrow_type(column) for column in self._schema}
        times = {"time": pa.int64(), "change": pa.string()}
        return pa.schema([(name, (times | kinds)[name]) for name in self.names]).empty_table()

    def __call__(self, table: pa.Table) -> pa.Table:
        """The results as the user sees them."""
        columns = [table.column(at) for at, name in enumerate(table.column_names) if name not in self._hidden]
        if len(columns) != len(self._names):
            raise ValueError(f"results have the columns {table.column_names} instead of {self._names}")
        if self._changes:
            columns = [self._time(table), self._change(table), *columns]
        return pa.Table.from_arrays(columns, names=self.names)

    def _time(self, table: pa.Table) -> pa.ChunkedArray:
        if not self._has(table, TIME):
            return table.column(ARRIVAL)
        ticks = table.column(TIME)
        return ticks.cast(pa.timestamp("us", tz="UTC")) if self._flow.clock is Clock.EVENT else ticks

    def _change(self, table: pa.Table) -> pa.ChunkedArray:
        if not self._has(table, CHANGE):
            return pa.chunked_array([pa.repeat("+", table.num_rows)])
        return pc.if_else(pc.greater(table.column(CHANGE), 0), "+", "-")

    def _has(self, table: pa.Table, name: str) -> bool:
        return name in self._hidden and name in table.column_names


def _arrow_type(column: Column) -> pa.DataType:
    try:
        return arrow_type(column.type) if column.type else pa.null()
    except ValueError:  # an interval, for example
        return pa.null()
