"""Rows of Arrow tables as JSON, and rows of requests as what a run takes."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headgate.display.json_values import json_value
from headgate.errors import ApplicationError

ARROW = "application/vnd.apache.arrow.stream"
JSON_LINES = "application/x-ndjson"
POSITION_HEADER = "Headgate-Position"  # of answers in Arrow: where events go on, as a `Last-Event-ID`


def as_json_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON data: times in ISO 8601, decimals as text, bytes in base64, numbers that are not finite as null."""
    return [{key: _plain(value) for key, value in row.items()} for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return json_value(value)


def as_arrow_stream(table: pa.Table) -> bytes:
    """The table in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def read_rows(stream: str, body: bytes, content_type: str) -> Any:
    """The rows in a request. ApplicationError: they cannot be read; the message names the line."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == ARROW:
        return _read_arrow(stream, body)
    if kind in (JSON_LINES, "application/jsonl", "application/json", ""):
        return _read_json(stream, body)
    remedy = f"send {JSON_LINES} (a JSON object per line), application/json (a list of objects) or {ARROW}"
    raise ApplicationError(f"push to {stream}", f"rows of type '{kind}' cannot be read", remedy)


def _read_arrow(stream: str, body: bytes) -> pa.Table:
    try:
        with pa.ipc.open_stream(body) as reader:
            return reader.read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = f"this is not an Arrow stream: {str(error).splitlines()[0]}"
        raise ApplicationError(f"push to {stream}", problem, "write it with pyarrow.ipc.new_stream") from error


def _read_json(stream: str, body: bytes) -> list[Any]:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ApplicationError(f"push to {stream}", "this is not text in UTF-8", "send JSON in UTF-8") from error
    if text.lstrip().startswith("["):
        rows = _parsed(stream, text, "")
        if isinstance(rows, list):
            return rows
    return [_parsed(stream, line, f", line {at}") for at, line in enumerate(text.split("\n"), 1) if line.strip()]


def _parsed(stream: str, text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"this is not JSON: {str(error)[:200]}"
        raise ApplicationError(f"push to {stream}{where}", problem, "send a JSON object per line") from error
