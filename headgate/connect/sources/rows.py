"""Rows as Python has them (dicts, tuples, pandas, Arrow, anything with `toArrow`) as typed columns.

The rule is that of files: a value must fit its type, without rounding or wrapping, and every value that does not is
found, with its row and column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources.changes import PROBLEM, heading, read_changes
from headgate.connect.sources.convert import convert, convert_one, from_json
from headgate.errors import known_names
from headgate.plan.arrow_values import is_in_range, python_values
from headgate.sql.schema import CHANGE

_FAILURES = (pa.ArrowException, ArithmeticError, AttributeError, KeyError, TypeError, ValueError)
_MISSING = ("NaTType", "NAType")  # what pandas has for null, besides None
_NAIVE = pa.timestamp("us")
_PLAIN: dict[pa.DataType, str] = {
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.uint8(): "SMALLINT",
    pa.uint16(): "INT",
    pa.uint32(): "BIGINT",
    pa.float16(): "FLOAT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
}

Bad = tuple[str | None, Any, str]  # column (None: the row as a whole), value, what is wrong with it


@dataclass
class Rows:
    """Typed rows. In the `bad` ones (by position) a value is missing, or all are."""

    table: pa.Table
    bad: dict[int, Bad] = field(default_factory=dict)


def rows_to_table(rows: Any, schema: pa.Schema) -> Rows:
    """Rows in the columns of `schema`, which may begin with the changes of a relation.

    A dict needs no key for a null; a tuple has a value for every column. ValueError: these are no rows, or columns
    of a table are missing or unknown.
    """
    table = as_arrow(rows)
    if table is not None:
        return _from_table(table, schema)
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        raise ValueError(f"{type(rows).__name__} has no rows; give a list of dicts or tuples, a pandas or Arrow table")
    return _from_rows(list(rows), schema)


def as_arrow(data: Any) -> pa.Table | None:
    """Arrow, pandas or Spark data as an Arrow table. None: it is something else."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    for method in ("toArrow", "to_arrow", "__arrow_c_stream__"):
        if not isinstance(data, type) and callable(getattr(data, method, None)):
            found = pa.table(data) if method == "__arrow_c_stream__" else getattr(data, method)()
            return _without_index(found) if isinstance(found, pa.Table) else pa.Table.from_batches([found])
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        return pa.Table.from_pandas(data, preserve_index=False)
    return None


def _without_index(table: pa.Table) -> pa.Table:
    """pandas hands its index over as a column with a name of its own."""
    return table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])


def _from_rows(rows: Sequence[Any], schema: pa.Schema) -> Rows:
    names = [heading(each) for each in schema]
    folded = {name.lower(): at for at, name in enumerate(names)}
    columns: list[list[Any]] = [[None] * len(rows) for _ in names]
    bad: dict[int, Bad] = {}
    for at, row in enumerate(rows):
        if isinstance(row, Mapping):
            for key, value in row.items():
                place = folded.get(str(key).lower())
                if place is None:
                    bad.setdefault(at, (None, key, f"is no column; {known_names('columns', names, str(key))}"))
                else:
                    columns[place][at] = value
        elif isinstance(row, Sequence) and not isinstance(row, (str, bytes)):
            if len(row) != len(names):
                bad[at] = (None, row, f"has {len(row)} values instead of {len(names)}: {', '.join(names)}")
                continue
            for column, value in zip(columns, row, strict=True):
                column[at] = value
        else:
            bad[at] = (None, row, "is neither a dict nor a tuple")
    arrays = [_column(values, each, bad) for values, each in zip(columns, schema, strict=True)]
    return Rows(pa.Table.from_arrays(arrays, schema=_nullable(schema)), bad)


def _from_table(table: pa.Table, schema: pa.Schema) -> Rows:
    names = [heading(each) for each in schema]
    folded = {name.lower(): name for name in table.column_names}
    for name in names:
        if name.lower() not in folded:
            raise ValueError(f"there is no column '{name}'; {known_names('columns', table.column_names, name)}")
    wanted = {name.lower() for name in names}
    if unknown := [name for name in table.column_names if name.lower() not in wanted]:
        raise ValueError(f"'{unknown[0]}' is no column; {known_names('columns', names, unknown[0])}")
    bad: dict[int, Bad] = {}
    arrays = []
    for each, name in zip(schema, names, strict=True):
        given = table.column(folded[name.lower()])
        found = _fitted(given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given, each)
        arrays.append(_column(python_values(given), each, bad) if found is None else found)
    return Rows(pa.Table.from_arrays(arrays, schema=_nullable(schema)), bad)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return schema if CHANGE not in schema.names else pa.schema([each.with_nullable(True) for each in schema])


def _column(values: list[Any], each: pa.Field, bad: dict[int, Bad]) -> pa.Array:
    """A column from Python values; what does not fit is noted and becomes null."""
    try:
        found = _fitted(pa.array(values, from_pandas=False), each)
        if found is not None:
            return found
    except _FAILURES:
        pass  # of several types, or of one that Arrow does not know
    if each.name == CHANGE:
        signs, wrong = read_changes(pa.array([v if isinstance(v, str) else None for v in values], pa.string()))
        for at in wrong:
            bad.setdefault(at, (heading(each), values[at], PROBLEM))
        return signs
    fitting: list[Any] = []
    for at, value in enumerate(values):
        try:
            fitting.append(_value(value, each.type))
            pa.scalar(fitting[-1], each.type)  # is it in the range of the type?
        except _FAILURES:
            fitting[at:] = [None]
            bad.setdefault(at, (heading(each), value, f"does not fit the type {spark_type(each.type)}"))
    return pa.array(fitting, each.type)


def _fitted(column: pa.Array, each: pa.Field) -> pa.Array | None:
    """A whole column at once; None when a value might not fit, so that each must be looked at."""
    kind = each.type
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if each.name == CHANGE:
        signs, wrong = read_changes(column) if pa.types.is_string(column.type) else (None, [0])
        return None if wrong else signs
    try:
        found = _cast(column, kind)
        return found if found is not None and is_in_range(found) else None
    except _FAILURES:
        return None


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array | None:
    given, types = column.type, pa.types
    if given == kind and not types.is_nested(kind):
        return column
    if types.is_null(given):
        return pa.nulls(len(column), kind)
    if types.is_integer(given) and types.is_integer(kind):
        return column.cast(kind)
    if types.is_integer(given) and types.is_floating(kind):
        return column.cast(kind, safe=False)  # rounded to the nearest, as a number of a file is
    if types.is_floating(given) and types.is_integer(kind):
        return column.cast(kind)
    if types.is_floating(given) and types.is_floating(kind):
        found = column.cast(kind)
        same = pc.all(pc.equal(pc.is_inf(found), pc.is_inf(column))).as_py()
        return None if same is False else found
    if types.is_large_string(given) and types.is_string(kind):
        return column.cast(kind)
    if types.is_large_binary(given) and types.is_binary(kind):
        return column.cast(kind)
    if types.is_timestamp(given) and types.is_timestamp(kind) and (given.tz is None or kind.tz is not None):
        return column.cast(pa.timestamp("us", given.tz), safe=False).cast(pa.int64()).cast(kind)
    if types.is_string(given):
        found, wrong = convert(column, kind)
        return None if wrong else found
    return None


def _value(value: Any, kind: pa.DataType) -> Any:
    """A Python value as what Arrow takes for a type; raises one of _FAILURES when it does not fit."""
    if value is None or type(value).__name__ in _MISSING:
        return None
    if type(value).__module__ == "numpy":
        value = value.tolist()
    types = pa.types
    if types.is_list(kind):
        return [_value(item, kind.value_type) for item in _sequence(value)]
    if types.is_map(kind):
        pairs = value.items() if isinstance(value, Mapping) else _sequence(value)
        return [(_value(key, kind.key_type), _value(item, kind.item_type)) for key, item in pairs]
    if types.is_struct(kind):
        folded = {str(key).lower(): item for key, item in value.items()}
        if unknown := set(folded) - {each.name.lower() for each in kind}:
            raise ValueError(f"{unknown} are no fields")
        return {each.name: _value(folded.get(each.name.lower()), each.type) for each in kind}
    if isinstance(value, str):
        return value if types.is_string(kind) else convert_one(value, kind)
    if isinstance(value, datetime):
        return _instant(value, kind)
    if isinstance(value, date):
        if types.is_timestamp(kind):
            return _instant(datetime(value.year, value.month, value.day), kind)
        return _expected(value, types.is_date(kind))
    if isinstance(value, (bytes, bytearray)):
        return _expected(bytes(value), types.is_binary(kind))
    if isinstance(value, timedelta):
        return _expected(value, types.is_duration(kind))
    if types.is_string(kind):
        raise ValueError(f"{value!r} is no text")
    if isinstance(value, float) and types.is_integer(kind):
        return _expected(int(value), value.is_integer())
    if isinstance(value, float) and types.is_floating(kind):
        return from_json(value, kind) if value == value and abs(value) != float("inf") else value
    if isinstance(value, (bool, int, float, Decimal)):
        return from_json(value, kind)
    raise ValueError(f"{value!r} is no {kind}")


def _instant(value: datetime, kind: pa.DataType) -> datetime:
    if not pa.types.is_timestamp(kind) or (value.tzinfo is not None and kind.tz is None):
        raise ValueError(f"{value!r} is no {kind}")
    if kind.tz is None:
        return value
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _sequence(value: Any) -> Sequence[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise ValueError(f"{value!r} is no list")
    return value


def _expected(value: Any, fits: bool) -> Any:
    if not fits:
        raise ValueError(f"{value!r} does not fit")
    return value


def spark_type(kind: pa.DataType) -> str:
    """The Spark SQL name of an Arrow type; ValueError when there is none."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    types = pa.types
    if types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return f"ARRAY<{spark_type(kind.value_type)}>"
    if types.is_map(kind):
        return f"MAP<{spark_type(kind.key_type)}, {spark_type(kind.item_type)}>"
    if types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{_quoted(each.name)}: {spark_type(each.type)}' for each in kind)}>"
    raise ValueError(f"there is no SQL type for {kind}")


def schema_text(schema: pa.Schema) -> str:
    """The schema of an Arrow table as an application writes it; ValueError names a column without an SQL type."""
    parts = []
    for each in schema:
        try:
            parts.append(f"{_quoted(each.name)} {spark_type(each.type)}")
        except ValueError as error:
            raise ValueError(f"column {each.name}: {error}") from None
    return ", ".join(parts)


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else "`" + name.replace("`", "``") + "`"
