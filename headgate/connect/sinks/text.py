"""Results as text: whole columns at a time, so that writing keeps up with Spark."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.arrow_values import python_values, time_texts

_CSV_SPECIAL = r'[",\r\n]'
_SPAN = pa.duration("us")  # to_pylist gives a timedelta for it, whatever pandas is there
_JSON_SPECIAL = r'["\\\x00-\x1f]'


def csv_header(names: list[str]) -> bytes:
    """The first line of a CSV file."""
    return csv_lines(pa.table({str(at): [name] for at, name in enumerate(names)}))


def csv_lines(table: pa.Table, null: str | None = None, quote_texts: bool = False) -> bytes:
    """One line per row, UTF-8; see `csv_rows`."""
    return _data(csv_rows(table, "\n", null, quote_texts))


def json_lines(table: pa.Table) -> bytes:
    """One JSON object per row; see `json_rows`."""
    return _data(json_rows(table, "\n"))


def csv_rows(table: pa.Table, end: str = "", null: str | None = None, quote_texts: bool = False) -> pa.Array:
    """Each row as a text. Null is an empty field, and so an empty text is a quoted one.

    In a table of one column null is quoted too: an empty line would be no row to most readers. `null` asks for
    something else, `quote_texts` for quotation marks around all texts.
    """
    if null is None:
        null = "" if table.num_columns > 1 else '""'
    fields = [_csv_field(column, null, quote_texts) for column in _whole(table)]
    return _rows(fields, [","] * (table.num_columns - 1), "", end)


def json_rows(table: pa.Table, end: str = "") -> pa.Array:
    """Each row as a JSON object; null is null; NaN, infinities, times and intervals are texts."""
    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in table.column_names]
    between = ["," + key for key in keys[1:]]
    return _rows([_json_value(column) for column in _whole(table)], between, "{" + keys[0], "}" + end)


@dataclass(frozen=True)
class TextFormat:
    """A format of text files."""

    endings: tuple[str, ...]  # of single files; parts get the first
    lines: Callable[[pa.Table], bytes]
    header: Callable[[list[str]], bytes]


CSV = TextFormat((".csv",), csv_lines, csv_header)
JSON = TextFormat((".json", ".jsonl", ".ndjson"), json_lines, lambda names: b"")


def _whole(table: pa.Table) -> list[pa.Array]:
    return [pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type) for column in table]


def _rows(fields: list[pa.Array], between: list[str], head: str, tail: str) -> pa.Array:
    parts: list[Any] = [head]
    for at, field in enumerate(fields):
        parts += [between[at - 1], field] if at else [field]
    return pc.binary_join_element_wise(*parts, tail, "")


def _data(rows: pa.Array) -> bytes:
    """The texts, one after another: the data buffer of the column is just that."""
    if not len(rows):
        return b""
    offsets = rows.buffers()[1]
    ends = memoryview(offsets).cast("i")
    first, last = ends[rows.offset], ends[rows.offset + len(rows)]
    return bytes(memoryview(rows.buffers()[2])[first:last])


def _csv_field(column: pa.Array, null: str, quote_texts: bool) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(_quoted(column.cast(pa.string()), quote_texts), null)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return pc.fill_null(_quoted(_by_value(column), quote_texts), null)
    return pc.fill_null(_plain(column), null)


def _quoted(texts: pa.Array, all_of_them: bool) -> pa.Array:
    """Quotation marks around the texts that need them."""
    empty = pc.equal(pc.binary_length(texts), 0)
    needy = pc.or_(pc.match_substring_regex(texts, _CSV_SPECIAL), empty)
    if all_of_them:
        needy = pc.is_valid(texts)
    elif not pc.any(needy).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needy, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def _plain(column: pa.Array) -> pa.Array:
    """Numbers, booleans, dates and times as text that needs no quotation marks."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return time_texts(column)
    if pa.types.is_duration(kind):
        return pa.array([None if d is None else _interval(d) for d in column.cast(_SPAN).to_pylist()], pa.string())
    if pa.types.is_decimal(kind):  # Arrow would write 1E-10
        return pa.array([None if d is None else format(d, "f") for d in column.to_pylist()], pa.string())
    return column.cast(pa.string())


def _json_value(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = column.cast(pa.string())
        if pc.any(pc.match_substring_regex(texts, _JSON_SPECIAL)).as_py():
            return _by_value(column, null="null")
        return pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "null")
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pc.fill_null(column.cast(pa.string()), "null")
    if pa.types.is_floating(kind) and pc.all(pc.is_finite(column), skip_nulls=True).as_py():
        return pc.fill_null(column.cast(pa.string()), "null")
    if pa.types.is_decimal(kind):
        return pc.fill_null(_plain(column), "null")
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind):
        return pc.fill_null(pc.binary_join_element_wise('"', _plain(column), '"', ""), "null")
    return _by_value(column, null="null")


def _by_value(column: pa.Array, null: str | None = None) -> pa.Array:
    """JSON value by value, for types without a faster way; in CSV a binary on its own is plain base64."""
    if pa.types.is_binary(column.type) and null is None:
        return pa.array([None if v is None else base64.b64encode(v).decode() for v in column.to_pylist()], pa.string())
    values = python_values(column)
    texts = [null if v is None else json.dumps(_jsonable(v), ensure_ascii=False) for v in values]
    return pa.array(texts, pa.string())


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _interval(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def _interval(span: timedelta) -> str:
    """An interval of days and seconds, as Spark writes and reads it."""
    size = abs(span)
    sign = "-" if span < timedelta(0) else ""
    minutes, seconds = divmod(size.seconds, 60)
    fraction = f".{size.microseconds:06d}".rstrip("0.")
    return f"INTERVAL '{sign}{size.days} {minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}' DAY TO SECOND"


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(_jsonable(key))
