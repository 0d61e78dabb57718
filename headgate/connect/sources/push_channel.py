"""Where the rows that a program pushes wait until a run takes them."""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headgate.connect.sources.base import stamp, stored_columns
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.limits import Limit, make_limits, reached_of
from headgate.connect.sources.push_log import Entry, PushLog
from headgate.connect.sources.rows import rows_to_table
from headgate.errors import ApplicationError
from headgate.plan.model import Stream

MEMORY = 64 * 10**6
_WAIT_S = 0.5  # how long a push waits before it looks again whether the run has ended


class _Chunk(NamedTuple):
    table: pa.Table  # typed rows without stamps
    arrival_us: int
    end: int  # number of the row after them in their stream


class PushChannel:
    """Where pushed rows wait until the run takes them: any thread puts rows in, the source thread takes them out.

    With a `log`, a folder, rows are on disk before `put` returns. `before` is the channel that the stream had before
    in the same run: its rows do not come again. A `fresh` one deletes the log of earlier runs.
    """

    def __init__(
        self,
        stream: Stream,
        memory: int = MEMORY,
        log: Path | None = None,
        before: PushChannel | None = None,
        fresh: bool = False,
    ) -> None:
        self._stream = stream
        self.schema = SourceContext(stream).schema
        self._columns = stored_columns(self.schema)
        self._limits = make_limits(stream)
        self._memory = memory
        self._pushing = threading.Lock()  # one push at a time, in the order of their rows
        self._changed = threading.Condition()
        self._chunks: deque[_Chunk] = deque()
        self._bytes = 0
        self._begin = None if before is None else before.accepted  # number of the first row
        self._end = 0  # number of the row after the last one that was put in
        self._given = 0  # and after the last one that was taken out
        self._in_hand = 0  # rows that the last poll took out: they are on their way until the next one
        self._held_back = False  # had rows arrived at the last poll that were not on disk yet?
        self._log_folder = log
        self._fresh = fresh
        self._log: PushLog | None = None
        self._again: Iterator[Entry] | None = None  # rows of an earlier run, from the log
        self._again_until = 0
        self._ended = False
        self._closed = False

    def open(self, resume: Mapping[str, Any] | None) -> None:
        """Begin, or go on from a position; called before anything is put in. The errors are those of `PushLog`."""
        begin = self._begin if resume is None else resume["given"]
        reached = None if resume is None else resume["reached"]
        if self._log_folder is not None:
            place = f"streams.{self._stream.name}.source.log"
            self._log = PushLog(self._log_folder, self._columns, place, begin, self._fresh)
            self._again, self._again_until = self._log.read(), self._log.end
            begin, self._end = self._log.first, self._log.end
            reached = reached if self._log.reached is None else self._log.reached
        self._given = begin or 0
        self._end = max(self._end, self._given)
        self._limits = make_limits(self._stream, reached)

    @property
    def position(self) -> dict[str, Any]:
        """Where the stream goes on after the rows that were taken out."""
        return {"given": self._given, "reached": reached_of(self._limits)}

    @property
    def accepted(self) -> int:
        """The number of the row after all that were put in."""
        return self._end

    def forget(self, position: Mapping[str, Any] | None) -> None:
        """No restart will go on before this position anymore; None: nor from this stream at all. Shortens the log."""
        log = self._log
        if log is not None and position is not None:
            log.forget(position["given"])
        elif log is not None:
            log.remove()

    @property
    def closed(self) -> bool:
        """Has it been closed for good, at the end of the run or because no query reads the stream anymore?"""
        return self._closed

    def put(self, rows: Any, now: Callable[[], float], timeout_s: float | None = None) -> int:
        """Accept all rows or none; returns how many. `now` is the clock of the run: rows arrive when they are accepted.

        Waits while there is no room. Rows of more bytes than there can be room for wait until all others are gone.
        ApplicationError: a row does not fit, or the stream has ended. TimeoutError: there was no room in time. OSError:
        the log could not be written.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._pushing.acquire(timeout=-1 if timeout_s is None else timeout_s):
            raise self._no_room(timeout_s)
        try:
            self._refuse_after_end()
            limits = copy.deepcopy(self._limits)  # rows that are refused must not change them
            table = self._typed(rows, limits)
            if table.num_rows:
                chunk = self._put_in(table, now, timeout_s, until)
                if self._log is not None:
                    self._write(self._log, chunk, limits)
                self._limits = limits
        finally:
            self._pushing.release()
        if table.num_rows and self._log is not None:
            self._sync(self._log, chunk.end)
        return int(table.num_rows)

    def _put_in(
        self, table: pa.Table, now: Callable[[], float], timeout_s: float | None, until: float | None
    ) -> _Chunk:
        with self._changed:
            self._wait_for_room(table.nbytes, timeout_s, until)
            chunk = _Chunk(table, round(now() * 1e6), self._end + table.num_rows)
            self._chunks.append(chunk)
            self._bytes += table.nbytes
            self._end = chunk.end
        return chunk

    def _write(self, log: PushLog, chunk: _Chunk, limits: tuple[Limit, ...]) -> None:
        """Write rows to the log. If it does not take them, they do not count; nobody has taken them out yet."""
        try:
            log.append(chunk.arrival_us, reached_of(limits), chunk.table)
        except OSError:
            self._take_back(chunk.end - chunk.table.num_rows)
            raise

    def _sync(self, log: PushLog, end: int) -> None:
        try:
            log.sync(end)
        except OSError:
            self._take_back(log.durable)
            raise

    def _take_back(self, end: int) -> None:
        """Drop the rows from number `end` on."""
        with self._changed:
            while self._chunks and self._chunks[-1].end > end:
                self._bytes -= self._chunks.pop().table.nbytes
            self._end = max(end, self._given)

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
        """Drop the rows that wait; the run takes no more. Those in a log stay there."""
        with self._changed:
            self._closed = True
            self._chunks.clear()
            self._again = None
            self._bytes = self._in_hand = 0
            self._changed.notify_all()
        if self._log is not None:
            self._log.close()

    @property
    def waiting(self) -> int:
        """Rows that the run has not taken in yet."""
        with self._changed:
            return self.lag + self._in_hand

    @property
    def lag(self) -> int:
        """Rows that were not taken out yet."""
        return 0 if self._closed else self._end - self._given

    @property
    def over(self) -> bool:
        """Has the stream ended, and were all of its rows taken out? A run that stops ends no stream."""
        with self._changed:
            return self._ended and not self._closed and not self._chunks and self._again is None

    @property
    def complete(self) -> bool:
        """Did the last `take` give all rows that had arrived? Those that are not on disk yet come later."""
        return not self._held_back

    def take(self, now: float, limit: int | None) -> pa.Table | None:
        """The rows that arrived up to `now`, stamped; at most `limit`. Those taken before count as delivered."""
        now_us, tables, left = round(now * 1e6), [], limit
        with self._changed:
            self._held_back = False
            while left != 0 and self._is_due(now_us):
                table, arrival_us, end = self._chunks.popleft()
                rows = table.num_rows if left is None else min(left, table.num_rows)
                self._bytes -= table.nbytes
                if rows < table.num_rows:
                    rest = table.slice(rows)
                    self._chunks.appendleft(_Chunk(rest, arrival_us, end))
                    self._bytes += rest.nbytes
                arrivals = np.full(rows, arrival_us, np.int64)
                tables.append(stamp(table.slice(0, rows).columns, self.schema, arrivals, self._given))
                self._given += rows
                left = None if left is None else left - rows
            self._in_hand = sum(found.num_rows for found in tables)
            if tables:
                self._changed.notify_all()
        return pa.concat_tables(tables) if tables else None

    def _is_due(self, now_us: int) -> bool:
        """Has the first chunk arrived, and is it on disk where there is a log? Those of an earlier run come first."""
        if self._again is not None and (not self._chunks or self._chunks[0].end > self._again_until):
            entry = next(self._again, None)
            if entry is None:
                self._again = None
            else:  # its clock may have been ahead
                self._chunks.appendleft(_Chunk(entry.table, min(entry.arrival_us, now_us), entry.end))
                self._bytes += entry.table.nbytes
        if not self._chunks or self._chunks[0].arrival_us > now_us:
            return False
        self._held_back = self._log is not None and self._chunks[0].end > self._log.durable
        return not self._held_back

    def first_due(self) -> float | None:
        """When the first row that waits arrived; None when none waits."""
        with self._changed:
            if self._again is not None and not self._chunks:
                return 0.0
            return self._chunks[0].arrival_us / 1e6 if self._chunks else None
