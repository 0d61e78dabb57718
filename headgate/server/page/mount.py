"""Puts the page into the web application of a server."""

from __future__ import annotations

from pathlib import Path

import nicegui
from fastapi import FastAPI
from fastapi.responses import FileResponse
from nicegui import ui
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.server.page.decisions import decisions_page
from headgate.server.page.new import new_page
from headgate.server.page.overview import overview_page
from headgate.server.page.parts import SCOPE_KEY, PageParts
from headgate.server.page.query import query_page
from headgate.server.page.sign_in import Sessions, add_sign_in
from headgate.server.page.ticker import Ticker

_FOLDER = Path(__file__).parent
_FILES = ("page.css", "theme.js", "favicon.svg")
_RECONNECT_S = 5.0
# Nothing may be fetched from elsewhere. The library of the page compiles its templates in the browser.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)


def add_page(app: FastAPI) -> None:
    """Serve the page wherever the API does not answer. Called once the application has its service and its access."""
    ui.page("/")(overview_page)
    ui.page("/query/{name}")(query_page)
    ui.page("/new")(new_page)
    ui.page("/decisions")(decisions_page)
    sessions = Sessions(app.state.access, app.state.tokens)
    add_sign_in(app, sessions)
    _add_files(app)
    parts = PageParts(app.state.service, app.state.audit, sessions, Ticker())
    pages = nicegui.app
    pages.middleware_stack = None  # another server of this process may have started it
    pages.user_middleware.clear()
    routes = list(app.router.routes)
    ui.run_with(
        app,
        title="Headgate",
        favicon=_FOLDER / "favicon.svg",
        language="en-US",
        dark=None,
        tailwind=False,
        reconnect_timeout=_RECONNECT_S,
        show_welcome_message=False,
    )
    # Mounted at `/`, the pages would answer for every path: also for those of the API that do not exist.
    app.router.routes[:] = routes
    app.router.default = _Pages(pages, app.router.default, parts)


def _add_files(app: FastAPI) -> None:
    for name in _FILES:
        path = _FOLDER / name
        app.add_api_route(f"/page/{name}", lambda path=path: FileResponse(path), include_in_schema=False)


class _Pages:
    """Sends what the API has no route for to the pages, with the parts of this server."""

    def __init__(self, pages: ASGIApp, otherwise: ASGIApp, parts: PageParts) -> None:
        self._pages = pages
        self._otherwise = otherwise
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"].startswith("/v1/") or scope["path"] == "/v1":
            await self._otherwise(scope, receive, send)
            return
        scope[SCOPE_KEY] = self._parts

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self._pages(scope, receive, guarded)
