"""Arrow values as Python's, also those that Python has no room for: its years are 1 to 9999, Spark's are not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Microseconds since 1970 at the beginning of the year 1 and at the end of the year 9999, and days likewise.
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column; maps become dicts, and times that Python cannot hold texts."""
    try:
        return list(column.to_pylist(maps_as_pydicts="lossy"))
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, likewise."""
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _value(scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.StructScalar):
        return {field.name: _value(scalar[at]) for at, field in enumerate(scalar.type)}
    if isinstance(scalar, pa.MapScalar):
        return {_value(pair["key"]): _value(pair["value"]) for pair in scalar.values}
    if isinstance(scalar, pa.ListScalar):
        return [_value(item) for item in scalar.values]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return time_texts(pa.repeat(scalar, 1))[0].as_py()


def time_texts(times: pa.Array) -> pa.Array:
    """Dates and timestamps as text; a fraction of a second only where there is one."""
    if pa.types.is_date(times.type):
        return times.cast(pa.string())
    naive = times.cast(pa.int64()).cast(pa.timestamp(times.type.unit)).cast(pa.timestamp("us"))
    return pc.replace_substring_regex(naive.cast(pa.string()), r"\.000000$", "")


def is_in_range(column: pa.Array) -> bool:
    """Do all dates and timestamps of a column have a year from 1 to 9999, as in SQL? Other types have none."""
    is_date = pa.types.is_date32(column.type)
    if not is_date and not (pa.types.is_timestamp(column.type) and column.type.unit == "us"):
        return True
    first, last = (_FIRST_DAY, _LAST_DAY) if is_date else (_FIRST_US, _LAST_US)
    found = pc.min_max(column.cast(pa.int32() if is_date else pa.int64())).as_py()
    return found["min"] is None or (first <= found["min"] and found["max"] <= last)
