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
from headgate.client.client import Client
from headgate.client.submit import KEYS
from headgate.errors import ApplicationError
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
    folder: Path,
    spark: Any,
    base: Application | None = None,
    limits: Limits = MANY,
    tokens: bool = False,
    port: int = 0,
) -> Iterator[RunningServer]:
    """A server with its data in `folder`; it ends with the block. Without `base` it begins empty, with `mbd`."""
    settings = ServerSettings(port=port, data=folder, tokens=tokens, page=False, limits=limits)
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


@contextmanager
def clean_client(url: str) -> Iterator[Client]:
    """A client of a shared server; what is registered in the block is removed at its end."""
    with Client(url) as client:
        before = {key: set(client.sections(key)) for key in KEYS}
        policy = client.policy
        try:
            yield client
        finally:
            _remove_all_but(client, before)
            client.set_policy(policy["name"], **policy["parameters"])


def _remove_all_but(client: Client, kept: dict[Any, set[str]]) -> None:
    """Queries may read each other, so those that nobody reads go first."""
    for key in reversed(KEYS):
        left = [name for name in client.sections(key) if name not in kept[key]]
        while left:
            still = []
            for name in left:
                try:
                    client.remove(key, name)
                except ApplicationError:
                    still.append(name)
            assert len(still) < len(left), f"{still} cannot be removed"
            left = still
