"""Texts longer than their column's VARCHAR(n) or CHAR(n) has room for: Arrow's text has no such limit."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources.rejects import Reject
from headgate.sql.schema import Schema

_LIMITED = re.compile(r"(?:VARCHAR|CHAR|CHARACTER)\s*\(\s*(\d+)\s*\)", re.IGNORECASE)


def make_length_limit(schema: Schema) -> LengthLimit | None:
    """None when no column limits its length. Only whole columns count, not the parts of nested ones."""
    matches = {column.name: _LIMITED.fullmatch(column.type or "") for column in schema}
    longest = {name: int(found[1]) for name, found in matches.items() if found}
    return LengthLimit(longest) if longest else None


class LengthLimit:
    """Finds the rows with a text of more than `longest` characters, by column."""

    def __init__(self, longest: Mapping[str, int]) -> None:
        self._longest = longest

    def may_have(self, table: pa.Table) -> bool:
        return any(pc.any(self._too_long(table, name)).as_py() for name in self._longest)

    def beyond(self, table: pa.Table, without: Collection[int] = ()) -> dict[int, Reject]:
        """The rows with such a text, and why they are put aside; those in `without` are put aside already."""
        found: dict[int, Reject] = {}
        for name, longest in self._longest.items():
            problem = f"has more than the {longest} characters of its type"
            for at in pc.indices_nonzero(self._too_long(table, name)).to_pylist():
                if at not in without:
                    found.setdefault(at, Reject(name, table.column(name)[at].as_py(), problem))
        return found

    def _too_long(self, table: pa.Table, name: str) -> pa.ChunkedArray:
        return pc.greater(pc.utf8_length(table.column(name)), self._longest[name])
