"""State as JSON: nested values in which tables stand, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from headgate.scheduling.queue import FiledRows

_TABLE = "$table"  # the key of a mapping that stands for a table

Rows: TypeAlias = pa.Table | FiledRows  # Python 3.11 has no `type`


def take_apart(state: Any) -> tuple[Any, list[Rows]]:
    """What JSON can hold of a state, and the tables in it. Tuples become lists."""
    tables: list[Rows] = []

    def plain(value: Any) -> Any:
        if isinstance(value, (pa.Table, FiledRows)):
            tables.append(value)
            return {_TABLE: len(tables) - 1}
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        return value

    return plain(state), tables


def put_together(state: Any, tables: Sequence[pa.Table]) -> Any:
    """The state, with its tables in place."""
    if isinstance(state, dict):
        if state.keys() == {_TABLE}:
            return tables[state[_TABLE]]
        return {key: put_together(one, tables) for key, one in state.items()}
    if isinstance(state, list):
        return [put_together(one, tables) for one in state]
    return state
