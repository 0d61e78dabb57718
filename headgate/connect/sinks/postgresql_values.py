"""Results as PostgreSQL takes them: the types of columns, and the text of COPY."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sinks.text import csv_lines

_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.binary(): "bytea",
}


def column_type(kind: pa.DataType) -> str:
    """The type of a column that is created for these values. Nested values become jsonb."""
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_duration(kind):
        return "interval"
    if pa.types.is_nested(kind):
        return "jsonb"
    return _TYPES.get(kind, "text")


def copy_text(table: pa.Table) -> bytes:
    """The rows for `COPY ... (FORMAT csv)`; times are those of the time zone UTC."""
    columns = [_plain(column) for column in table.columns]
    return csv_lines(pa.Table.from_arrays(columns, names=table.column_names), null="", quote_texts=True)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that PostgreSQL writes differently than our files do."""
    kind = column.type
    if pa.types.is_binary(kind):
        texts = [None if value is None else rf"\x{value.hex()}" for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pa.types.is_duration(kind):
        counts = column.cast(pa.duration("us")).cast(pa.int64()).cast(pa.string())
        return pc.binary_join_element_wise(counts, "microseconds", " ")
    return column
