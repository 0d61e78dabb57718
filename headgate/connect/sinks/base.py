"""What a sink is: the place that the results of a query go to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from headgate.plan.schema import ARRIVAL, STAMPS, Schema

TIME = "_time"  # optional column of results of relations: the instant of a change
CHANGE = "_change"  # optional column of results of relations: + or -


class Sink(Protocol):
    """Takes the results of one query, in order; the runtime calls it from one thread at a time.

    A write that fails raises OSError and may have written a part of the rows.
    """

    @property
    def rows(self) -> int: ...  # results received so far

    def write(self, table: pa.Table) -> None:
        """Take results: the query's columns, then the stamps. Readers of a file see them when this returns."""

    def flush(self) -> None:
        """Hand everything to the operating system."""

    def close(self) -> None:
        """End the results; a file sink that got none still leaves a file. A second call does nothing."""


class Shape:
    """Cuts what the runtime hands over down to the columns that a user asked for.

    Stamps go; `format: changes` puts `time` (the instant of the change; of a stream, its arrival in microseconds)
    and `change` ('+', or '-' where a relation lost a row) in front instead.
    """

    def __init__(self, schema: Schema, settings: Mapping[str, Any]) -> None:
        self._names = list(schema.names)
        self._hidden = {*STAMPS, TIME, CHANGE} - set(self._names)
        self._changes = settings.get("format", "rows") == "changes"

    @property
    def names(self) -> list[str]:
        """The columns of the results, for a header."""
        return ["time", "change", *self._names] if self._changes else list(self._names)

    def __call__(self, table: pa.Table) -> pa.Table:
        """The results as the user sees them."""
        columns = [table.column(at) for at, name in enumerate(table.column_names) if name not in self._hidden]
        if len(columns) != len(self._names):
            raise ValueError(f"results have the columns {table.column_names} instead of {self._names}")
        if self._changes:
            time = table.column(TIME if self._has(table, TIME) else ARRIVAL)
            plus = pa.chunked_array([pa.repeat("+", table.num_rows)])
            columns = [time, table.column(CHANGE) if self._has(table, CHANGE) else plus, *columns]
        return pa.Table.from_arrays(columns, names=self.names)

    def _has(self, table: pa.Table, name: str) -> bool:
        return name in self._hidden and name in table.column_names
