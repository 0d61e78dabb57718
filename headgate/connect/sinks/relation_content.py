"""The rows that a relation holds now, kept up to date from its changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.arrow_values import python_values

_LEAST = 1 << 16  # changes gathered before they are netted, however small the relation is
_COUNT = "count"
_ROW = "row"


class RelationContent:
    """A multiset of rows. Changes are gathered, and netted when the rows are read or the changes outnumber them.

    So a change costs the same on average however large the relation is. Rows are in the order in which they were first
    added. A count below 0 is kept, as its `+` may still come; such rows are not shown.
    """

    def __init__(self) -> None:
        self._rows: pa.Table | None = None  # distinct rows, as `_keyed` has them
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0

    def add(self, rows: pa.Table, changes: pa.ChunkedArray) -> None:
        """Add each row `changes` times; a negative number removes it."""
        columns = [*rows.columns, changes.cast(pa.int64())]
        names = [*(str(at) for at in range(rows.num_columns)), _COUNT]  # users may give one name twice
        self._names = rows.column_names
        self._waiting.append(pa.Table.from_arrays(columns, names=names))
        self._waiting_rows += rows.num_rows
        if self._waiting_rows > max(_LEAST, 0 if self._rows is None else self._rows.num_rows):
            self._net()

    def table(self) -> pa.Table | None:
        """All rows, each repeated by its count; None before the first change."""
        self._net()
        if self._rows is None:
            return None
        counts = self._rows.column(_COUNT).to_numpy()
        own = self._rows.select(range(len(self._names))).rename_columns(self._names)
        if (counts == 1).all():
            return own
        return own.take(pa.array(np.repeat(np.arange(len(counts)), np.maximum(counts, 0))))

    def state(self) -> pa.Table | None:
        """The distinct rows and, as the last column, how often each counts; None before the first change."""
        self._net()
        return None if self._rows is None else self._rows.select([*map(str, range(len(self._names))), _COUNT])

    def restore(self, state: pa.Table, names: list[str]) -> None:
        """Go on from a state; `names` are those of the columns."""
        *columns, counts = state.columns
        self.add(pa.Table.from_arrays(columns, names=names), counts)

    def _net(self) -> None:
        if not self._waiting:
            return
        fresh = _keyed(pa.concat_tables(self._waiting))
        every = fresh if self._rows is None else pa.concat_tables([self._rows, fresh])
        every = every.append_column(_ROW, pa.array(np.arange(every.num_rows)))
        keys = [f.name for f in every.schema if f.name not in (_COUNT, _ROW) and not pa.types.is_nested(f.type)]
        # One thread: only then do groups come in the order of their first rows.
        groups = every.group_by(keys, use_threads=False).aggregate([(_COUNT, "sum"), (_ROW, "min")])
        groups = groups.filter(pc.not_equal(groups.column(f"{_COUNT}_sum"), 0))
        rows = every.drop_columns([_COUNT, _ROW]).take(groups.column(f"{_ROW}_min"))
        self._rows = rows.append_column(_COUNT, groups.column(f"{_COUNT}_sum")).combine_chunks()
        self._waiting, self._waiting_rows = [], 0


def _keyed(table: pa.Table) -> pa.Table:
    """The rows in a form that Arrow can group: floats normalized, and a text beside each nested value, as its key."""
    columns: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_nested(column.type):
            columns[f"key {name}"] = pa.chunked_array([pa.array(map(repr, python_values(column)), pa.string())])
        elif pa.types.is_floating(column.type):
            column = _normal(column)
        columns[name] = column
    own = [name for name in table.column_names if name != _COUNT]
    keys = [name for name in columns if name not in table.column_names]
    return pa.table({name: columns[name] for name in [*own, *keys, _COUNT]})


def _normal(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as SQL compares them: -0 is 0, and there is one NaN. Arrow would compare their bits."""
    column = pc.add(column, pa.scalar(0, column.type))
    return pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
