"""`/v1/streams/NAME/rows`: push rows into a stream."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool

from headgate.server.http.access import TheService, Writer
from headgate.server.http.bodies import Taken
from headgate.server.http.rows import ARROW, JSON_LINES, read_rows

rows_in = APIRouter(prefix="/streams", tags=["streams"])

_TEXT = {"schema": {"type": "string"}}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            JSON_LINES: _TEXT,
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@rows_in.post(
    "/{name}/rows",
    dependencies=[Writer],
    openapi_extra=_BODY,
)
async def push(name: str, request: Request, service: TheService) -> Taken:
    """Push rows: JSON lines, a JSON list, or an Arrow stream. All are taken, or none."""
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    return Taken(rows=await run_in_threadpool(lambda: service.push(name, read_rows(name, body, content_type))))


@rows_in.post("/{name}/end", dependencies=[Writer], status_code=204)
def end(name: str, service: TheService) -> None:
    """End a stream: no more rows will be pushed into it."""
    service.end_stream(name)
