"""`/v1/queries/NAME/results`: the newest rows, or all as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Query, Request, Response
from fastapi.responses import StreamingResponse

from headgate.server.http.access import Reader, TheService
from headgate.server.http.bodies import Rows, Snapshot
from headgate.server.http.feeds import Feeds, position, rows_at
from headgate.server.http.rows import ARROW, POSITION_HEADER, as_arrow_stream, as_json_rows

results = APIRouter(tags=["results"])

_ROWS: dict[int | str, dict[str, Any]] = {
    200: {"model": Rows, "content": {ARROW: {"schema": {"type": "string", "format": "binary"}}}}
}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
}


@results.get("/queries/{name}/results", dependencies=[Reader], response_model=None, responses=_ROWS)
def last_results(
    name: str,
    service: TheService,
    last: Annotated[int, Query(ge=0, le=100_000)] = 100,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Rows | Response:
    """The newest rows that are kept, oldest first; as Arrow, if the request accepts that."""
    found = service.results(name)
    total, kept = found.since(0)
    table = kept.slice(max(0, kept.num_rows - last))
    if ARROW in accept:
        return Response(as_arrow_stream(table), headers={POSITION_HEADER: position(found, total)}, media_type=ARROW)
    return Rows(columns=table.column_names, rows=as_json_rows(table), total=total)


@results.get("/queries/{name}/results/events", dependencies=[Reader], response_model=None, responses=_EVENTS)
async def follow_results(
    name: str,
    request: Request,
    service: TheService,
    since: Annotated[int | None, Query(ge=0, description="Begin after so many rows; default: with what comes.")] = None,
    last_event_id: Annotated[str, Header(include_in_schema=False)] = "",
) -> StreamingResponse:
    """Results as they come, as server-sent events.

    `rows` has new rows, `relation` a relation as it stands, `end` says that no more will come. An event's id says
    where it ends: a client that sends it as `Last-Event-ID` misses no rows that are kept, also if the server was
    started again meanwhile.
    """
    feeds: Feeds = request.app.state.feeds
    found = service.results(name)
    begin = rows_at(found, last_event_id) if last_event_id else since
    if feeds.full:
        raise HTTPException(429, "too many listeners; the operator allows no more", {"Retry-After": "60"})
    listener = feeds.listen(name, found, begin)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(listener), media_type="text/event-stream", headers=headers)


async def _events(listener: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for event in listener:
        yield event


@results.post("/snapshot", dependencies=[Reader], response_model=None, responses=_ROWS)
def ask_once(
    asked: Snapshot, service: TheService, accept: Annotated[str, Header(include_in_schema=False)] = ""
) -> Rows | Response:
    """Ask a query once, over what running queries hold now and stored tables."""
    table = service.snapshot(asked.cql, asked.limit)
    if ARROW in accept:
        return Response(as_arrow_stream(table), media_type=ARROW)
    return Rows(columns=table.column_names, rows=as_json_rows(table), total=None)
