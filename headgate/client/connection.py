"""Requests to a server, and what its answers mean."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from headgate.errors import ApplicationError, ServerError

URL = "http://127.0.0.1:8600"  # where a server listens that was not told otherwise
TIMEOUT_S = 60.0  # of an answer: a query's registration may wait for Spark
SILENCE_S = 45.0  # of events: three heartbeats
LONGEST_WAIT_S = 5.0  # before a request is sent again
_BUSY = (429, 503)
_AGAIN = "is it running? start one with: headgate serve"


class Connection:
    """Sends requests to one server. Any thread may use it.

    ApplicationError: what was asked for is wrong. ServerError: there is no server, it does not let us in, or it failed.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        headers = {"User-Agent": "headgate"} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            self._http = httpx.Client(
                base_url=self.url,
                headers=headers,
                timeout=httpx.Timeout(TIMEOUT_S, connect=10.0),
                trust_env=not _is_loopback(self.url),  # a proxy could not reach this machine
            )
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise ServerError(url, f"this is no address of a server: {error}", f"write it like {URL}") from None

    def close(self) -> None:
        """Close what is open."""
        self._http.close()

    def json(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        """What the server answers, as JSON data; None for an answer without content."""
        found = self.ask(method, path, params=params, **({} if body is None else {"json": body}))
        if not found.content:
            return None
        try:
            return found.json()
        except ValueError:
            raise self._no_headgate(found) from None

    def ask(self, method: str, path: str, *, patience_s: float = 10.0, **more: Any) -> httpx.Response:
        """An answer that is not an error. A server that has no time is asked again for `patience_s` seconds."""
        until = time.monotonic() + patience_s
        while True:
            with self._reaching():
                found = self._http.request(method, path, **more)
            wait_s = min(_retry_after_s(found), LONGEST_WAIT_S)
            if found.status_code not in _BUSY or time.monotonic() + wait_s > until:
                return self._checked(found)
            time.sleep(wait_s)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str], params: Mapping[str, Any]) -> Iterator[httpx.Response]:
        """An answer that goes on: events. httpx.TransportError: the connection was lost on the way."""
        timeout = httpx.Timeout(TIMEOUT_S, connect=10.0, read=SILENCE_S)
        with self._http.stream("GET", path, headers=dict(headers), params=dict(params), timeout=timeout) as found:
            if found.status_code >= 400:
                found.read()
            yield self._checked(found)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise self.lost(error) from None

    def lost(self, error: Exception) -> ServerError:
        """What a failed connection means for a person."""
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return ServerError(self.url, f"no server can be reached ({_words(error)})", _AGAIN)
        if isinstance(error, httpx.TimeoutException):
            return ServerError(self.url, "the server did not answer in time", "look at its log")
        if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
            return ServerError(self.url, "this is no address of a server", f"write it like {URL}")
        return ServerError(self.url, f"the connection was lost ({_words(error)})", _AGAIN)

    def _checked(self, found: httpx.Response) -> httpx.Response:
        """The answer itself, if it is not an error."""
        if found.is_success:
            return found
        problem = _problem(found)
        status = found.status_code
        if problem is None:
            raise self._no_headgate(found)
        if "problem" in problem and status in (404, 409, 422):
            place, said = str(problem.get("place") or ""), str(problem["problem"])
            raise ApplicationError(place, said, str(problem.get("remedy") or ""))
        said, _, remedy = str(problem["detail"]).partition("; ")
        if status == 401:
            remedy = "give a token with --token, or in HEADGATE_TOKEN; the operator makes one with: headgate token add"
        raise ServerError(self.url, said, remedy, status)

    def _no_headgate(self, found: httpx.Response) -> ServerError:
        problem = f"answers {found.status_code} {found.reason_phrase}, and not as a Headgate server does"
        return ServerError(self.url, problem, "is this the address of one?", found.status_code)


def path_of(*parts: str) -> str:
    """The path of a resource of the API; names may hold any character."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _problem(found: httpx.Response) -> dict[str, Any] | None:
    """The problem document of an answer, if it is one."""
    try:
        problem = found.json()
    except ValueError:
        return None
    return problem if isinstance(problem, dict) and "detail" in problem else None


def _retry_after_s(found: httpx.Response) -> float:
    try:
        return max(0.05, float(found.headers.get("Retry-After", "1")))
    except ValueError:  # a date
        return 1.0


def _is_loopback(url: str) -> bool:
    try:
        host = httpx.URL(url).host
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (ValueError, httpx.InvalidURL):
        return False


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
