"""The size of tables. A table of a few rows takes pyarrow longer to measure than to cut, queue and hand on."""

from __future__ import annotations

import pyarrow as pa


def row_bytes(schema: pa.Schema) -> float | None:
    """The bytes of each row, without the bits that mark nulls; None if rows differ, as they do with texts."""
    bits = 0
    for field in schema:
        try:
            bits += field.type.bit_width
        except ValueError:  # not of fixed width
            return None
    return bits / 8


def table_bytes(table: pa.Table, one_row: float | None) -> int:
    """The bytes of a table's rows, of a slice only its own. `one_row` is `row_bytes` of its schema."""
    return table.nbytes if one_row is None else round(table.num_rows * one_row)
