"""Sign in with a token. The browser gets a cookie with a random number; who that is stays on the server."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from html import escape
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from headgate.server.audit import Audit
from headgate.server.http.access import Access
from headgate.server.tokens import Caller, Tokens

COOKIE = "headgate_session"
LASTS_S = 12 * 3600.0
MOST_SESSIONS = 10_000
_LONGEST = 4_096  # bytes of the form
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in – Headgate</title><link rel="stylesheet" href="/page/page.css"><script src="/page/theme.js"></script>
</head>
<body class="sign-in">
<main class="card">
<h1>Headgate</h1>
<p>This server asks for a token. <code>headgate token add NAME --role read</code> makes one.</p>
<form method="post" action="/sign-in">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus{invalid}>
<input type="hidden" name="next" value="{next}">
{problem}
<button type="submit">Sign in</button>
</form>
</main>
</body>
</html>
"""


class Sessions:
    """Who has signed in, for half a day. Restarts forget them. Only names and roles are kept, never tokens."""

    def __init__(self, access: Access, tokens: Tokens) -> None:
        self._access = access
        self._tokens = tokens
        self._lock = threading.Lock()
        self._signed_in: dict[str, tuple[Caller, float]] = {}  # hash of the cookie -> who, and until when

    def start(self, caller: Caller) -> str:
        """A new session; returns what the cookie holds."""
        number = secrets.token_urlsafe(32)
        now = time.monotonic()
        with self._lock:
            kept = {key: one for key, one in self._signed_in.items() if one[1] > now}
            while len(kept) >= MOST_SESSIONS:
                del kept[next(iter(kept))]
            kept[_hash(number)] = (caller, now + LASTS_S)
            self._signed_in = kept
        return number

    def end(self, number: str) -> None:
        """Forget a session."""
        with self._lock:
            self._signed_in.pop(_hash(number), None)

    def caller(self, number: str | None) -> Caller | None:
        """Who has this cookie, with the role that their token has now; None: they have to sign in."""
        if not self._access.required:
            return self._access.caller(None)
        found = self._signed_in.get(_hash(number)) if number else None
        if found is None or found[1] < time.monotonic():
            return None
        role = next((one["role"] for one in self._tokens.all() if one["name"] == found[0].name), None)
        return None if role is None else Caller(found[0].name, role)  # type: ignore[arg-type]  # a role was checked


def add_sign_in(app: FastAPI, sessions: Sessions) -> None:
    """The form, and the way out."""
    access: Access = app.state.access
    audit: Audit = app.state.audit

    @app.get("/sign-in", include_in_schema=False)
    def form(next: str = "/") -> HTMLResponse:
        return _form(next)

    @app.post("/sign-in", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        sent = await request.body()
        fields = parse_qs(sent.decode("utf-8", "replace")) if len(sent) <= _LONGEST else {}
        token, where = fields.get("token", [""])[0].strip(), fields.get("next", ["/"])[0]
        try:
            caller = await to_thread.run_sync(access.admit, request, token, "read")
        except HTTPException as error:
            await to_thread.run_sync(audit.write, request.state.caller.name, "page: sign in", str(error.status_code))
            problem = "This token is not known." if error.status_code == 401 else str(error.detail)
            return _form(where, problem, error.status_code)
        await to_thread.run_sync(audit.write, caller.name, "page: sign in", "200")
        answer = RedirectResponse(_inside(where), 303)
        secure = request.url.scheme == "https"
        number = sessions.start(caller)
        answer.set_cookie(COOKIE, number, max_age=int(LASTS_S), httponly=True, samesite="strict", secure=secure)
        return answer

    @app.post("/sign-out", include_in_schema=False)
    def sign_out(request: Request) -> Response:
        sessions.end(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse("/sign-in", 303)
        answer.delete_cookie(COOKIE)
        return answer


def _form(where: str, problem: str = "", status: int = 200) -> HTMLResponse:
    said = f'<p class="problem" id="problem" role="alert">{escape(problem)}</p>' if problem else ""
    invalid = ' aria-invalid="true" aria-describedby="problem"' if problem else ""
    page = _PAGE.format(next=escape(_inside(where)), problem=said, invalid=invalid)
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})


def _inside(where: str) -> str:
    """A path of this server; another address would lead somewhere else."""
    safe = where.startswith("/") and not where.startswith("//") and "\\" not in where and where.isprintable()
    return where if safe else "/"


def _hash(number: str) -> str:
    return hashlib.sha256(number.encode()).hexdigest()
