"""Reads the batches of rows that a program yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headgate.connect.sources.limits import Limit
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.connect.sources.rows import rows_to_table
from headgate.errors import ApplicationError


class BatchReader:
    """A `Reader` over batches of rows, in any form. A place is the number of a row, from 0; rows before it are skipped:
    the batches must be the same each time that they are begun."""

    def __init__(
        self, begin: Callable[[], Iterator[Any]], schema: pa.Schema, limits: Sequence[Limit], stream: str
    ) -> None:
        self.rejects = Rejects(f"stream {stream}")
        self._begin = begin
        self._schema = schema
        self._limits = limits
        self._stream = stream

    def blocks(self, at: Mapping[str, Any] | None = None) -> Iterator[PlacedRows]:
        """Typed blocks, without the rows that do not fit."""
        skip = 0 if at is None else at["row"]
        first = 0
        for batch in self._begin():
            found = rows_to_table(batch, self._schema)
            count = found.table.num_rows
            if first + count > skip:
                yield self._typed(found.table, found.bad, first, max(0, skip - first))
            first += count
        if first < skip:
            problem = f"there were {skip} rows before the run was interrupted, and now there are only {first}"
            remedy = "the batches must be the same again; remove the checkpoint to read them from the beginning"
            raise ApplicationError(f"streams.{self._stream}.source", problem, remedy)
        self.rejects.summarize()

    def _typed(self, table: pa.Table, bad: Mapping[int, Any], first: int, skip: int) -> PlacedRows:
        """The rows of a batch after the first `skip` of them; row 0 of it is row `first` of all."""
        table = table.slice(skip)
        beyond = {at - skip: Reject(*one) for at, one in bad.items() if at >= skip}
        for limit in self._limits:
            beyond |= limit.beyond(table, beyond)
        for at, reject in sorted(beyond.items()):
            self.rejects.add(first + skip + at, reject, str(reject.value))
        good = [at for at in range(table.num_rows) if at not in beyond] if beyond else range(table.num_rows)
        left = [*good, table.num_rows] if beyond else range(table.num_rows + 1)
        return PlacedRows(
            table.take(pa.array(good, pa.int64())) if beyond else table, lambda row: {"row": first + skip + left[row]}
        )
