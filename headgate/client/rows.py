"""Rows as they go over the wire: Arrow for tables and frames, JSON for everything else, in parts."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from headgate.connect.sources.rows import as_arrow
from headgate.errors import ApplicationError
from headgate.server.http.rows import ARROW, as_arrow_stream

JSON = "application/json"
PART_BYTES = 4 * 2**20  # of one request; a server that takes less is given smaller parts
_MISSING = ("NaTType", "NAType")  # what pandas has for null, besides None


class Part(NamedTuple):
    """A part of a push: rows that are taken together, or not at all."""

    content: bytes
    content_type: str
    rows: int


def parts_of(stream: str, rows: Any, part_bytes: int) -> Iterator[Part]:
    """Rows in parts of about so many bytes; each has at least one row. ApplicationError: these are no rows."""
    table = as_arrow(rows)
    if table is not None:
        yield from _arrow_parts(table, part_bytes)
        return
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        remedy = "give a list of dicts, a pandas or Arrow table"
        raise ApplicationError(f"push to {stream}", f"{type(rows).__name__} has no rows", remedy)
    yield from _json_parts((_json(stream, at, row) for at, row in enumerate(rows)), part_bytes)


def _arrow_parts(table: pa.Table, part_bytes: int) -> Iterator[Part]:
    if not table.num_rows:
        return
    share = max(1, part_bytes * table.num_rows // max(1, table.nbytes))
    for begin in range(0, table.num_rows, share):
        few = table.slice(begin, share)
        yield Part(as_arrow_stream(few), ARROW, few.num_rows)


def _json_parts(texts: Iterable[bytes], part_bytes: int) -> Iterator[Part]:
    few: list[bytes] = []
    size = 2
    for text in texts:
        if few and size + len(text) > part_bytes:
            yield Part(b"[%b]" % b",".join(few), JSON, len(few))
            few, size = [], 2
        few.append(text)
        size += len(text) + 1
    if few:
        yield Part(b"[%b]" % b",".join(few), JSON, len(few))


def _json(stream: str, at: int, row: Any) -> bytes:
    try:
        return json.dumps(wire_value(row), separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        remedy = "give numbers, texts, times, bytes, lists and dicts, or an Arrow table"
        raise ApplicationError(f"push to {stream}, rows[{at}]", f"cannot be sent: {error}", remedy) from None


def wire_value(value: Any) -> Any:
    """A value as JSON that reads back as the same: times as ISO 8601, bytes as base64, other numbers as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(key): wire_value(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [wire_value(item) for item in value]
    if type(value).__module__ == "numpy":
        return wire_value(value.tolist())
    raise TypeError(f"a {type(value).__name__} exists only in Python")
