"""Nulls in columns that a schema declares NOT NULL: Headgate's own columns may all be null."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources.rejects import Reject
from headgate.sql.schema import Schema


def make_null_limit(schema: Schema) -> NullLimit | None:
    """None when every column may be null."""
    filled = [column.name for column in schema if column.filled]
    return NullLimit(filled) if filled else None


class NullLimit:
    """Finds the rows with a null in one of these columns."""

    def __init__(self, filled: Sequence[str]) -> None:
        self._filled = filled

    def may_have(self, table: pa.Table) -> bool:
        return any(table.column(name).null_count for name in self._filled)

    def beyond(self, table: pa.Table, without: Collection[int] = ()) -> dict[int, Reject]:
        """The rows with such a null, and why they are put aside; those in `without` are put aside already."""
        found: dict[int, Reject] = {}
        for name in self._filled:
            if not table.column(name).null_count:
                continue
            for at in pc.indices_nonzero(pc.is_null(table.column(name))).to_pylist():
                if at not in without:
                    found.setdefault(at, Reject(name, None, "is null, and the column is NOT NULL"))
        return found
