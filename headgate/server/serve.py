"""Runs a server until it is asked to stop: `headgate serve`."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from headgate.api.application import Application
from headgate.errors import ApplicationError
from headgate.server.audit import Audit
from headgate.server.database import Database, open_database
from headgate.server.http.app import make_app
from headgate.server.limits import Limits
from headgate.server.saved_sections import SavedSections
from headgate.server.start import start_service
from headgate.server.tokens import Tokens

STOP_S = 3.0  # how long requests may take to end when the server stops


@dataclass(frozen=True)
class ServerSettings:
    """Where a server listens and keeps what it must not forget."""

    host: str = "127.0.0.1"
    port: int = 8600  # 0: any that is free
    data: Path = Path("headgate-data")
    tokens: bool = False  # ask for tokens on loopback, too
    page: bool = True
    names: tuple[str, ...] = ()  # further names under which it is addressed, behind a proxy
    limits: Limits = field(default_factory=Limits)
    fresh: bool = False  # do queries start over, instead of going on from the checkpoint?

    @property
    def loopback(self) -> bool:
        """Can only programs on this machine reach it?"""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def tokens_required(self) -> bool:
        """Are requests without a token refused?"""
        return self.tokens or not self.loopback

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names under which it may be addressed; None: any, because every request needs a token."""
        if self.tokens_required:
            return frozenset({self.host, *self.names}) if self.names else None
        return frozenset({self.host, "localhost", "127.0.0.1", "::1", *self.names})


@contextmanager
def open_app(base: Application, settings: ServerSettings, spark: Any = None) -> Iterator[FastAPI]:
    """The web application of a server, with its run; both end with the block."""
    with open_database(settings.data) as database:
        tokens = _tokens(database, settings)
        service = start_service(base, SavedSections(database), settings.limits, spark, settings.fresh)
        try:
            app = make_app(
                service,
                tokens,
                Audit(database),
                settings.limits,
                tokens_required=settings.tokens_required,
                hosts=settings.hosts,
            )
            if settings.page:
                from headgate.server.page import add_page

                add_page(app)
            yield app
        finally:
            service.stop()


def _tokens(database: Database, settings: ServerSettings) -> Tokens:
    tokens = Tokens(database)
    if settings.tokens_required and not tokens.all():
        problem = "this server asks for tokens, and there are none"
        remedy = f"make one: headgate token add NAME --role admin --data {settings.data}"
        raise ApplicationError("tokens", problem, remedy)
    return tokens


class WebServer(uvicorn.Server):
    """Listens until `should_exit` is set or a signal comes."""

    def __init__(self, app: FastAPI, settings: ServerSettings, announce: Callable[[str], None]) -> None:
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(STOP_S),
            ws_max_size=settings.limits.request_bytes,
        )
        super().__init__(config)
        self._announce = announce
        self._feeds = app.state.feeds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the address once requests are answered."""
        await super().startup(sockets)
        if self.started:
            self._announce(self.url)

    @property
    def url(self) -> str:
        """Its address, with the port that it got."""
        port = self.servers[0].sockets[0].getsockname()[1]
        host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
        return f"http://{host}:{port}"

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let those who follow results go first: they would never end by themselves."""
        self._feeds.close()
        await super().shutdown(sockets)
