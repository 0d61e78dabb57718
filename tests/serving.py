"""Servers for tests: real ones, which listen on a free port of loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from headgate.api.application import Application
from headgate.server.limits import Limits
from headgate.server.serve import ServerSettings, WebServer, open_app
from headgate.server.service import Service

MANY = Limits(requests_per_second=1e6)  # tests ask more often than people do
START_S = 30.0


@dataclass(frozen=True)
class RunningServer:
    """A server that answers requests."""

    url: str
    service: Service
    app: FastAPI


@contextmanager
def serving(
    folder: Path, spark: Any, base: Application | None = None, limits: Limits = MANY, tokens: bool = False
) -> Iterator[RunningServer]:
    """A server with its data in `folder`; it ends with the block. Without `base` it begins empty, with `mbd`."""
    settings = ServerSettings(port=0, data=folder, tokens=tokens, page=False, limits=limits)
    base = base or Application.empty(["policy=mbd"])
    with open_app(base, settings, spark) as app, listening(app, settings) as url:
        yield RunningServer(url, app.state.service, app)


@contextmanager
def listening(app: FastAPI, settings: ServerSettings) -> Iterator[str]:
    """Let an application answer requests, and yield its address."""
    urls: list[str] = []
    started = threading.Event()

    def announce(url: str) -> None:
        urls.append(url)
        started.set()

    web = WebServer(app, settings, announce)
    thread = threading.Thread(target=web.run, name="test-server", daemon=True)
    thread.start()
    try:
        assert started.wait(START_S), "the server does not listen"
        yield urls[0]
    finally:
        web.should_exit = True
        thread.join(START_S)
