"""The FastAPI application of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from headgate import __version__
from headgate.server.audit import Audit
from headgate.server.http.access import Access
from headgate.server.http.description import ANSWERS, describe
from headgate.server.http.feeds import Feeds
from headgate.server.http.guards import AuditTrail, Origins, RequestSize
from headgate.server.http.problems import add_handlers
from headgate.server.http.queries import queries
from headgate.server.http.registry import classes, streams, tables
from headgate.server.http.results import results
from headgate.server.http.rows_in import rows_in
from headgate.server.http.system import health, system
from headgate.server.limits import Limits, RequestRate
from headgate.server.metrics import Metrics, RequestMetrics, metrics_route
from headgate.server.service import Service
from headgate.server.tokens import Tokens

DESCRIPTION = """
Register streams and continuous queries, push rows, read results, and steer what runs: classes, priorities, quality of
service, tolerated error, policy. Sections have the keys of an application file.
"""


def make_app(
    service: Service,
    tokens: Tokens,
    audit: Audit,
    limits: Limits,
    *,
    tokens_required: bool,
    hosts: Collection[str] | None,
) -> FastAPI:
    """The HTTP API of a service. `hosts`: see `Origins`."""
    feeds = Feeds(limits.most_listeners)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        feeds.close()

    app = FastAPI(
        title="Headgate",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # it would fetch scripts from another host
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.state.access = Access(tokens, tokens_required, RequestRate(limits.requests_per_second))
    app.state.tokens = tokens
    app.state.audit = audit
    app.state.feeds = feeds
    app.state.metrics = Metrics(service, lambda: feeds.listeners)
    api = APIRouter(prefix="/v1", responses=ANSWERS)
    for routes in (streams, rows_in, tables, classes, queries, results, system, health):
        api.include_router(routes)
    app.include_router(api)
    app.include_router(metrics_route)
    describe(app)
    add_handlers(app)
    app.add_middleware(AuditTrail, audit=audit)
    app.add_middleware(RequestSize, most=limits.request_bytes)
    app.add_middleware(Origins, hosts=hosts)
    app.add_middleware(RequestMetrics, metrics=app.state.metrics)
    return app
