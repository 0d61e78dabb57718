"""Reads the batches of rows that a program yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from headgate.connect.sources.good_rows import good_rows
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.rejects import Rejects
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
                table, numbers = good_rows(found, self._limits, self.rejects, first, max(0, skip - first))
                yield PlacedRows(table, partial(_place, numbers))
            first += count
        if first < skip:
            problem = f"there were {skip} rows before the run was interrupted, and now there are only {first}"
            remedy = "the batches must be the same again; remove the checkpoint to read them from the beginning"
            raise ApplicationError(f"streams.{self._stream}.source", problem, remedy)
        self.rejects.summarize()


def _place(numbers: Sequence[int], row: int) -> dict[str, int]:
    return {"row": numbers[row]}
