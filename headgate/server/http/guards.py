"""What every request passes before a route sees it, and what is written before its answer is sent."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.server.audit import Audit
from headgate.server.http.problems import problem
from headgate.server.tokens import Caller

_READS = ("GET", "HEAD", "OPTIONS")
_CHANGES_NOTHING = ("/rows", "/validate", "/snapshot")  # ends of paths that are posted to; rows are data, not changes
_REFUSED = (401, 403)


class RequestSize:
    """Refuses requests that are too large, before they are read whole."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._refusal = f"a request may have {most:,} bytes at most; send it in parts"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = _header(scope, b"content-length")
        if length.isdecimal() and int(length) > self._most:
            await problem(413, self._refusal)(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:  # it was sent without its length
                raise HTTPException(413, self._refusal)
            return message

        await self._app(scope, counted, send)


class Origins:
    """Refuses what a web page of another site sends through the browser of somebody who may use this server.

    `hosts` are the names under which the server may be addressed; None: any. A server on loopback knows its names, so
    that no other name can be made to point at it.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or (refusal := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await problem(403, refusal)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})

    def _refusal(self, scope: Scope) -> str | None:
        host, origin = _header(scope, b"host"), _header(scope, b"origin")
        if self._hosts is not None and _name(host) not in self._hosts:
            return f"this server is not called '{_name(host)}'; use one of: {', '.join(sorted(self._hosts))}"
        if origin and scope.get("method") not in _READS and urlsplit(origin).netloc != host:
            return "requests from pages of other sites are refused"
        return None


def _name(host: str) -> str:
    return (urlsplit(f"//{host}").hostname or "").lower()


class AuditTrail:
    """Writes an audit line for every change, and for whatever was refused for want of a token or a role."""

    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app = app
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_audited(scope, message["status"]):
                caller: Caller | None = scope.get("state", {}).get("caller")
                who, what = caller.name if caller else "unknown", f"{scope['method']} {scope['path']}"
                await to_thread.run_sync(self._audit.write, who, what, str(message["status"]))
            await send(message)

        await self._app(scope, receive, noted)


def _is_audited(scope: Scope, status: int) -> bool:
    if status in _REFUSED:
        return True
    return scope["method"] not in _READS and not scope["path"].endswith(_CHANGES_NOTHING)


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
