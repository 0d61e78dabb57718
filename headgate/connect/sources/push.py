"""The pushed source: a program hands rows to a run, which takes them as fast as it has room."""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headgate.connect.sources.base import Source, stamp, stored_columns
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.rows import rows_to_table
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.settings.sizes import MemorySize

MEMORY = 64 * 10**6
_WAIT_S = 0.5  # how long a push waits before it looks again whether the run has ended


class Push(SourceKind):
    """Rows that a program pushes into a run: `run.push("clicks", rows)`.

    `memory` bounds the rows that wait to be taken. While they fill it, a push waits.
    """

    kind = "push"
    memory: MemorySize = MEMORY

    @property
    def in_time(self) -> bool:
        """See `SourceKind`."""
        return True

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`. ApplicationError: nobody can push; a run that can be pushed to opens a `PushChannel`."""
        raise nobody_can_push(context.stream.name)


def nobody_can_push(stream: str) -> ApplicationError:
    """The error for a pushed stream in a run that nothing can be pushed into."""
    problem = "rows are pushed into this stream, and nobody can push into this run"
    remedy = "start it from Python with Application.start(), or give the stream another source"
    return ApplicationError(f"streams.{stream}.source", problem, remedy)


class _Chunk(NamedTuple):
    table: pa.Table  # typed rows without stamps
    arrival_us: int


class PushChannel:
    """Where pushed rows wait until the run takes them: any thread puts rows in, the source thread takes them out."""

    def __init__(self, stream: Stream, memory: int = MEMORY) -> None:
        self._stream = stream
        self.schema = SourceContext(stream).schema
        self._columns = stored_columns(self.schema)
        self._limits = make_limits(stream)
        self._memory = memory
        self._pushing = threading.Lock()  # one push at a time, in the order of their rows
        self._changed = threading.Condition()
        self._chunks: deque[_Chunk] = deque()
        self._bytes = 0
        self._given = 0  # rows that were taken out, for their sequence numbers
        self._in_hand = 0  # rows that the last poll took out: they are on their way until the next one
        self._ended = False
        self._closed = False

    @property
    def closed(self) -> bool:
        """Has it been closed for good, at the end of the run or because no query reads the stream anymore?"""
        return self._closed

    def put(self, rows: Any, now: Callable[[], float], timeout_s: float | None = None) -> int:
        """Accept all rows or none; returns how many. `now` is the clock of the run: rows arrive when they are accepted.

        Waits while there is no room. Rows of more bytes than there can be room for wait until all others are gone.
        ApplicationError: a row does not fit, or the stream has ended. TimeoutError: there was no room in time.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._pushing.acquire(timeout=-1 if timeout_s is None else timeout_s):
            raise self._no_room(timeout_s)
        try:
            self._refuse_after_end()
            limits = copy.deepcopy(self._limits)  # rows that are refused must not change them
            table = self._typed(rows, limits)
            if table.num_rows:
                with self._changed:
                    self._wait_for_room(table.nbytes, timeout_s, until)
                    self._chunks.append(_Chunk(table, round(now() * 1e6)))
                    self._bytes += table.nbytes
                self._limits = limits
        finally:
            self._pushing.release()
        return int(table.num_rows)

    def _wait_for_room(self, size: int, timeout_s: float | None, until: float | None) -> None:
        while self._chunks and self._bytes + size > self._memory:
            left = _WAIT_S if until is None else min(_WAIT_S, until - time.monotonic())
            if left <= 0:
                raise self._no_room(timeout_s)
            self._changed.wait(left)
            self._refuse_after_end()
        self._refuse_after_end()

    def _no_room(self, timeout_s: float | None) -> TimeoutError:
        return TimeoutError(
            f"stream {self._stream.name} had no room for more rows within {timeout_s or 0:g} s: "
            f"{self._bytes:,} of {self._memory:,} bytes wait to be taken; push less, or allow more memory"
        )

    def _refuse_after_end(self) -> None:
        if self._closed or self._ended:
            what = "the run has ended, or no query reads the stream any more" if self._closed else "it was ended"
            raise ApplicationError(f"streams.{self._stream.name}", f"nothing can be pushed: {what}", "push before")

    def _typed(self, rows: Any, limits: tuple[Any, ...]) -> pa.Table:
        name = self._stream.name
        try:
            found = rows_to_table(rows, self._columns)
        except ValueError as error:
            problem, _, remedy = str(error).partition("; ")
            raise ApplicationError(f"push to {name}", problem, remedy) from None
        bad = found.bad
        for limit in limits if not bad else ():
            bad |= {at: (one.column, one.value, one.problem) for at, one in limit.beyond(found.table, bad).items()}
        for at, (column, value, problem) in sorted(bad.items()):
            place = f"push to {name}, rows[{at}]" + (f", column {column}" if column else "")
            remedy = "none of these rows was taken; change it and push again"
            raise ApplicationError(place, f"{value!r} {problem}", remedy)
        return found.table.cast(self._columns)

    def end(self) -> None:
        """End the stream: no more rows will come."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Drop the rows that wait; the run takes no more."""
        with self._changed:
            self._closed = True
            self._chunks.clear()
            self._bytes = self._in_hand = 0
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Rows that the run has not taken in yet."""
        with self._changed:
            return sum(chunk.table.num_rows for chunk in self._chunks) + self._in_hand

    @property
    def over(self) -> bool:
        """Has the stream ended, and were all of its rows taken out?"""
        with self._changed:
            return self._closed or (self._ended and not self._chunks)

    def take(self, now: float, limit: int | None) -> pa.Table | None:
        """The rows that arrived up to `now`, stamped; at most `limit`. Those taken before count as delivered."""
        now_us, tables, left = round(now * 1e6), [], limit
        with self._changed:
            while self._chunks and self._chunks[0].arrival_us <= now_us and left != 0:
                table, arrival_us = self._chunks.popleft()
                rows = table.num_rows if left is None else min(left, table.num_rows)
                self._bytes -= table.nbytes
                if rows < table.num_rows:
                    rest = table.slice(rows)
                    self._chunks.appendleft(_Chunk(rest, arrival_us))
                    self._bytes += rest.nbytes
                arrivals = np.full(rows, arrival_us, np.int64)
                tables.append(stamp(table.slice(0, rows).columns, self.schema, arrivals, self._given))
                self._given += rows
                left = None if left is None else left - rows
            self._in_hand = sum(found.num_rows for found in tables)
            if tables:
                self._changed.notify_all()
        return pa.concat_tables(tables) if tables else None

    def first_due(self) -> float | None:
        """When the first row that waits arrived; None when none waits."""
        with self._changed:
            return self._chunks[0].arrival_us / 1e6 if self._chunks else None


class OpenPush(SourceKind):
    """A pushed source of a run: its rows come through the channel that the run gave it."""

    kind = "push"
    channel: Any
    memory: MemorySize = MEMORY

    @property
    def in_time(self) -> bool:
        """See `SourceKind`."""
        return True

    def settings(self) -> dict[str, Any]:
        """See `Connector`; those of `Push`."""
        return {"kind": self.kind, "memory": self.memory}

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`; it was checked as `Push`."""

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`. A sample has no rows: what is pushed is read once."""
        return PushedSource(PushChannel(context.stream) if context.sample else self.channel, ended=context.sample)


class PushedSource:
    """The `Source` at the run's end of a channel. It is read for as long as queues have room, on disk at the latest;
    then the channel fills up, and pushes wait."""

    replayable = False
    rejected = 0

    def __init__(self, channel: PushChannel, ended: bool = False) -> None:
        self._channel = channel
        self.schema = channel.schema
        if ended:
            channel.end()

    @property
    def exhausted(self) -> bool:
        return self._channel.over

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""
        return self._channel.take(now, limit)

    def next_arrival(self) -> float | None:
        """See `Source`; nobody knows when the next row will be pushed."""
        return self._channel.first_due()

    def close(self) -> None:
        """See `Source`."""
        self._channel.close()
