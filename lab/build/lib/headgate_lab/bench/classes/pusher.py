"""Streams of `bench classes` over loopback sockets, for Structured Streaming's `socket` source.

Lines are made before the run and sent when due, by a separate process whose cost does not count as Spark's. A line has
all tuples of a stream that arrived within a tick of TICK_S. One line per tuple would be more expensive for Spark: its
source computes a timestamp for each line, serializes each into the task, and looks up the n-th of a batch in a linked
list, which makes large batches take quadratic time.

A record has a fixed width, so that Spark splits it by position: event time in microseconds, `k`, and `v` in millionths.
Event time is BASE_S at the start of the run, so that the tuples of rehearsals can be earlier.
"""

from __future__ import annotations

import multiprocessing
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.runtime.spark.source_thread import DUTY, TICK_S
from headgate_lab.bench.classes.workload import Tuples

BASE_S = 100  # event time at the start
REHEARSALS = 4
REHEARSED = 200  # tuples of each stream in a rehearsal
REHEARSAL_LINES = 10
WIDTHS = (10, 7, 7)  # digits of event time, k and v
RECORD = sum(WIDTHS) + 1  # bytes, including the separator
SEPARATOR = ";"
SEND_BYTES = 4 << 20
WAIT_S = 120.0  # how long the process may take to answer


class Lines(NamedTuple):
    """All lines of a stream, those of the rehearsals first."""

    data: bytes
    ends: NDArray[np.int64]  # the number of records up to the end of each line
    due: NDArray[np.float64]  # when to send each line, seconds since the start; -inf in rehearsals

    @property
    def rehearsal(self) -> int:
        """The number of lines in one rehearsal."""
        return int(np.searchsorted(self.due, -np.inf, side="right")) // REHEARSALS

    def tuples_before(self, line: int) -> int:
        """The number of tuples of the run that come before this line."""
        records = int(self.ends[min(line, len(self.ends)) - 1]) if line > 0 else 0
        return max(0, records - int(self.ends[REHEARSALS * self.rehearsal - 1]))

    def bytes_by(self, seconds: float) -> int:
        """The number of bytes due by this time."""
        return self._bytes_before(int(np.searchsorted(self.due, seconds, side="right")))

    def bytes_of_rehearsals(self, count: int) -> int:
        """The number of bytes in the first `count` rehearsals."""
        return self._bytes_before(count * self.rehearsal)

    def _bytes_before(self, line: int) -> int:
        return int(self.ends[line - 1]) * RECORD if line else 0


def make_lines(found: Tuples) -> Lines:
    """The lines of the rehearsals, then one line per tick that has tuples."""
    if not len(found.arrivals):
        raise ValueError("a stream without tuples")
    ticks = np.floor(found.arrivals / TICK_S).astype(np.int64)
    lasts = np.flatnonzero(np.append(np.diff(ticks) > 0, True))  # the last tuple of each line
    rehearsed, rehearsal_ends = _rehearsals(found)
    times = np.concatenate([rehearsed.arrivals, found.arrivals]) + BASE_S
    columns = (
        np.rint(times * 1e6).astype(np.int64),
        np.concatenate([rehearsed.k, found.k]).astype(np.int64),
        np.ceil(np.concatenate([rehearsed.v, found.v]) * 1e6).astype(
            np.int64
        ),  # rounded up: a value above 0.5 stays above
    )
    ends = np.concatenate([rehearsal_ends, lasts + 1 + rehearsal_ends[-1]])
    due = np.concatenate([np.full(len(rehearsal_ends), -np.inf), (ticks[lasts] + 1) * TICK_S])
    return Lines(_text(columns, ends), ends, due)


def _rehearsals(found: Tuples) -> tuple[Tuples, NDArray[np.int64]]:
    """The first tuples of the stream, repeated once per rehearsal a second apart, and the ends of their lines."""
    count = min(REHEARSED, len(found.arrivals))
    times = np.concatenate([np.linspace(n, n + 0.9, count) for n in range(REHEARSALS)]) - BASE_S + 10.0
    inner = np.unique(np.linspace(0, count, REHEARSAL_LINES + 1).astype(np.int64))[1:]
    ends = np.concatenate([inner + n * count for n in range(REHEARSALS)])
    return Tuples(times, np.tile(found.k[:count], REHEARSALS), np.tile(found.v[:count], REHEARSALS)), ends


def _text(columns: Sequence[NDArray[np.int64]], ends: NDArray[np.int64]) -> bytes:
    """Records of fixed width: the digits of each column, then a separator, or a line feed at the end of a line."""
    text = np.full((len(columns[0]), RECORD), ord(SEPARATOR), dtype=np.uint8)
    at = 0
    for values, width in zip(columns, WIDTHS, strict=True):
        if values.max() >= 10**width:
            raise ValueError(f"a value has more than {width} digits")
        left = values
        for place in range(at + width - 1, at - 1, -1):
            left, digit = np.divmod(left, 10)
            text[:, place] = digit + ord("0")
        at += width
    text[ends - 1, -1] = ord("\n")
    return text.tobytes()


class Pusher:
    """The process that serves the lines. `ports` is by stream; `rehearse` and `start` send, `close` ends the process.

    Streams are handed over one by one, and `lines` keeps them without their text, which is gigabytes for a heavy
    workload.
    """

    def __init__(self, streams: Iterable[tuple[str, Lines]]) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy Spark's threads and sockets
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self.lines: dict[str, Lines] = {}
        for name, lines in streams:
            self._pipe.send((name, lines))
            self.lines[name] = lines._replace(data=b"")
        self._pipe.send(None)
        self.ports: dict[str, int] = self._answer()

    def _answer(self) -> Any:
        if not self._pipe.poll(WAIT_S):
            raise RuntimeError("the pusher does not answer")
        return self._pipe.recv()

    def rehearse(self, count: int) -> None:
        """Send the rehearsals up to this one. Called once all streams are connected."""
        self._pipe.send(("rehearse", count))

    def start(self, epoch: float) -> None:
        """Send lines as they become due, from this time.time() on."""
        self._pipe.send(("start", epoch))

    def stop(self) -> dict[str, Any]:
        """Stop sending, and return how late it was (seconds and bytes behind) and the CPU time it took."""
        self._pipe.send(("stop", None))
        found: dict[str, Any] = self._answer()
        return found

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._pipe.close()  # the process ends when the pipe closes
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()


class _Outlet:
    """A stream's socket, and how much of its lines has been sent."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self._data = memoryview(lines.data)
        self._sent = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self._taken: socket.socket | None = None

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def send(self, target: int) -> int:
        """Send up to this byte, as far as the socket accepts it, and return the number of bytes it did not accept."""
        if self._taken is None and not self._accept():
            return target - self._sent
        assert self._taken is not None
        if target > self._sent:
            with suppress(BlockingIOError, ConnectionError):  # slow, or stopped: the other streams go on
                self._sent += self._taken.send(self._data[self._sent : target])
        return target - self._sent

    def _accept(self) -> bool:
        try:
            self._taken, _ = self._listening.accept()
        except BlockingIOError:
            return False
        self._taken.setblocking(False)
        self._taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        return True

    def close(self) -> None:
        self._listening.close()
        if self._taken is not None:
            self._taken.close()


def serve(pipe: Connection) -> None:
    """Run the process: wait for commands, and meanwhile send what is due."""
    with ExitStack() as closing, suppress(EOFError, KeyboardInterrupt):
        outlets = {name: _Outlet(lines) for name, lines in iter(pipe.recv, None)}
        for outlet in outlets.values():
            closing.callback(outlet.close)
        pipe.send({name: outlet.port for name, outlet in outlets.items()})
        _obey(pipe, list(outlets.values()))


def _obey(pipe: Connection, outlets: Sequence[_Outlet]) -> None:
    rehearsed, epoch, late_s, late_bytes, wait, cpu = 0, None, 0.0, 0, TICK_S, time.process_time()
    slept = time.time()
    while True:
        if pipe.poll(wait):
            match pipe.recv():
                case ("rehearse", count):
                    rehearsed = count
                case ("start", when):
                    epoch, cpu = when, time.process_time()
                case ("stop", _):
                    epoch = None
                    used = time.process_time() - cpu
                    pipe.send({"late_s": late_s, "late_bytes": late_bytes, "cpu_s": used})
        began = time.thread_time()  # as in Headgate's feed: time taken by others does not make ticks longer
        if epoch is not None and time.time() >= epoch:
            now = time.time() - epoch
            late_bytes = max(late_bytes, *(outlet.send(outlet.lines.bytes_by(now)) for outlet in outlets))
            late_s = max(late_s, time.time() - slept - wait)  # woken too late, or slow to send
        elif rehearsed:
            for outlet in outlets:
                outlet.send(outlet.lines.bytes_of_rehearsals(rehearsed))
        spent = time.thread_time() - began
        wait = max(TICK_S - spent, spent * (1 - DUTY) / DUTY)  # with many streams, ticks are longer
        slept = time.time()
