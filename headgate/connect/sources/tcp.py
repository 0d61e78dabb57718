"""Lines from a TCP server as a stream."""

from __future__ import annotations

import logging
import socket
import threading
from typing import Annotated

from pydantic import Field

from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.lines import Feed, LineSource
from headgate.settings.sections import Filled

log = logging.getLogger("headgate.source")
_CHUNK = 1 << 20
_CONNECT_S = 10.0  # how long one attempt may take
_FIRST_PAUSE_S = 0.1  # between attempts; doubles up to the longest
_LONGEST_PAUSE_S = 10.0


class Tcp(LineSource):
    """Lines that a server sends to whoever connects to `host` and `port`.

    When the connection ends it is made again, with longer and longer pauses between attempts. Lines that the server
    sends meanwhile are lost, unless it keeps them. With `reconnect` off the stream ends with the first connection.
    """

    kind = "tcp"
    host: Filled
    port: Annotated[int, Field(ge=1, le=65535)]
    reconnect: bool = True

    def _feed(self, context: SourceContext) -> Feed:
        return _Connection(self.host, self.port, self.reconnect, context.stream.name)


class _Connection:
    """A connection that is made again when it ends. Only reading happens in `take`, which never waits: looking up a
    name and connecting can take seconds, so each attempt has a thread of its own."""

    def __init__(self, host: str, port: int, reconnect: bool, stream: str) -> None:
        self._address = (host, port)
        self._where = f"stream {stream}, {host}:{port}"
        self._reconnect = reconnect
        self._socket: socket.socket | None = None
        self._attempt: _Attempt | None = None
        self._next_attempt = 0.0
        self._pause_s = _FIRST_PAUSE_S
        self.ended = False

    def take(self, now: float) -> bytes | None:
        """See `Feed`."""
        if self.ended or (self._socket is None and not self._connected(now)):
            return None
        assert self._socket is not None
        try:
            came = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return None
        except OSError as error:
            log.warning("%s: the connection broke: %s", self._where, error)
            came = b""
        if came:
            self._pause_s = _FIRST_PAUSE_S
        else:
            self._hang_up(now)
        return came

    def close(self) -> None:
        """See `Feed`. An attempt that is being made ends by itself."""
        self.ended = True
        if self._attempt is not None:
            self._attempt.abandon()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self, now: float) -> bool:
        """Look after the attempt to connect; is there a connection?"""
        if self._attempt is None:
            if now >= self._next_attempt:
                self._attempt = _Attempt(self._address)
            return False
        if self._attempt.is_alive():
            return False
        self._socket, error, self._attempt = self._attempt.socket, self._attempt.error, None
        if self._socket is not None:
            log.info("%s: connected", self._where)
            return True
        log.warning("%s: cannot connect, next attempt in %.3g s: %s", self._where, self._pause_s, error)
        self._wait(now)
        return False

    def _hang_up(self, now: float) -> None:
        assert self._socket is not None
        self._socket.close()
        self._socket = None
        self.ended = not self._reconnect
        next_step = f"next attempt in {self._pause_s:.3g} s" if self._reconnect else "the stream ends"
        log.info("%s: the connection has ended, %s", self._where, next_step)
        self._wait(now)

    def _wait(self, now: float) -> None:
        self._next_attempt = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)


class _Attempt(threading.Thread):
    """One attempt to connect."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(name="headgate-tcp", daemon=True)
        self.socket: socket.socket | None = None
        self.error: OSError | None = None
        self._address = address
        self._lock = threading.Lock()
        self._abandoned = False
        self.start()

    def run(self) -> None:
        try:
            found = socket.create_connection(self._address, timeout=_CONNECT_S)
        except OSError as error:
            self.error = error
            return
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # so that a server that has vanished is noticed
        found.setblocking(False)
        with self._lock:
            if self._abandoned:
                found.close()
            else:
                self.socket = found

    def abandon(self) -> None:
        """Nobody wants the connection any more."""
        with self._lock:
            self._abandoned = True
            if self.socket is not None:
                self.socket.close()
