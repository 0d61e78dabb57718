"""The source thread: polls sources and hands the tuples to the runtime."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from headgate.application.checked import CheckedApplication
from headgate.connect.dead_letters import DeadLetters
from headgate.connect.sources import Source, SourceContext, source_for_run
from headgate.connect.sources.base import forget, is_complete, lag_of, position_of
from headgate.connect.sources.rejects import OnReject, Position
from headgate.connect.sources.run_source import EndedSource, RunSource, goes_on_from
from headgate.runtime.spark.failures.error_messages import essence
from headgate.runtime.spark.source_retries import Reopen, Retries, may_pass

log = logging.getLogger("headgate.source")

TICK_S = 0.005  # pause between rounds; adds at most this much latency
DUTY = 0.15  # the share of a core that reading may take when there is no hurry; with many sources, pauses get longer
ROWS_A_ROUND = 100_000  # most rows read from one source at once, so that it does not hold up the others
ROWS_IN_A_HURRY = 1000  # a replayed source that gives this many at once probably has more


# Called with tables, streams that are complete, up to which time, and positions; returns the streams that are refused.
Deliver = Callable[[Mapping[str, pa.Table], Collection[str], float, Mapping[str, Any]], Mapping[str, Exception]]


def open_sources(
    app: CheckedApplication,
    quiet: bool = False,
    letters: DeadLetters | None = None,
    streams: Collection[str] | None = None,
    since: float = 0.0,
    resume: Mapping[str, Any] = MappingProxyType({}),
    epoch_us: int | None = None,
) -> dict[str, RunSource | EndedSource]:
    """New sources for these streams; None: for all streams that are read. Rows put aside go to the dead letters.

    `since` is the time in the run at which they begin. Those with a position in `resume` go on from there instead, and
    those of streams that had ended give nothing. `epoch_us` is the date and time of the run's time 0; None: now.
    """
    epoch_us = time.time_ns() // 1000 if epoch_us is None else epoch_us
    found: dict[str, RunSource | EndedSource] = {}
    for name, stream in app.plan.streams.items():
        if name in streams if streams is not None else app.plan.entrances(name):
            on_reject = None if letters is None else _to_dead_letters(letters, name)
            context = SourceContext(stream, app.folder, app.seed, epoch_us, quiet, on_reject, resume.get(name))
            found[name] = source_for_run(context, since)
    return found


class Opening:
    """Opens the sources of an application for a run, and opens those again that failed.

    `since` is the time in the run at which they begin, and `epoch_us` the date and time of the run's time 0; None: now.
    """

    def __init__(
        self, app: CheckedApplication, letters: DeadLetters, since: float = 0.0, epoch_us: int | None = None
    ) -> None:
        self._app = app
        self._letters = letters
        self._since = since
        self._epoch_us = time.time_ns() // 1000 if epoch_us is None else epoch_us

    def sources(
        self, streams: Collection[str] | None = None, resume: Mapping[str, Any] = MappingProxyType({})
    ) -> dict[str, RunSource | EndedSource]:
        """The sources of these streams; see `open_sources`."""
        return open_sources(
            self._app,
            letters=self._letters,
            streams=streams,
            since=self._since,
            resume=resume,
            epoch_us=self._epoch_us,
        )

    def again(self, stream: str, position: Any) -> Source:
        """The source of one stream, at a position."""
        return self.sources([stream], {stream: position})[stream]


def _to_dead_letters(letters: DeadLetters, stream: str) -> OnReject:
    def put_aside(position: Position, row: str, reason: str, kind: str) -> None:
        letters.put(kind, stream, position, row, reason)

    return put_aside


class SourceThread(threading.Thread):
    """Polls every source, round after round, and passes what arrived to `deliver`.

    That is all tables of a round at once, the streams for which they are everything up to the time of the round, and
    the positions of the sources behind these tables. A source that fails is opened again where it was, if the error may
    pass and the source has a position; else it ends. The others go on. A source whose stream is no longer in `read()`
    is closed: its queries have ended. If a window boundary is near, the next round begins there, because many units
    have something to do then. Streams that are `held_up()` are left unread if they can
    be: the target of a query's sink does not keep up.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        now: Callable[[], float],
        deliver: Deliver,
        ended: Callable[[str, Exception | None], None],
        broken: Callable[[Exception], None],
        may_read: Callable[[bool], bool],
        next_boundary: Callable[[float], float],
        read: Callable[[], Collection[str]],
        reopen: Reopen,
        held_up: Callable[[], Collection[str]] = tuple,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(name="headgate-sources", daemon=True)
        self._open = dict(sources)
        self._sources = dict(sources)  # the latest of each stream, closed or not
        self._now = now
        self._deliver = deliver
        self._ended = ended
        self._broken = broken
        self._may_read = may_read
        self._next_boundary = next_boundary
        self._read = read
        self._retries = Retries(reopen, jitter)
        self._positions: dict[str, Any] = {name: position_of(source) for name, source in sources.items()}
        self._held_up = held_up
        self._stopping = threading.Event()
        self._rejected_before: dict[str, int] = dict.fromkeys(sources, 0)  # by sources that failed since
        self.rejected: dict[str, int] = dict.fromkeys(sources, 0)
        self.states: dict[str, dict[str, Any]] = {name: {"state": "running"} for name in sources}

    def run(self) -> None:
        """Read until all sources have ended. An error that is not the fault of a source ends the run."""
        try:
            while (self._open or self._retries.closed) and not self._stopping.is_set():
                began = time.thread_time()  # of this thread: on a busy machine, most wall time goes to others
                if not self.read_round():
                    self._stopping.wait(self.rest_s(time.thread_time() - began))
        except Exception as error:
            log.exception("reading sources failed")
            self._broken(error)
        for name in [*self._open, *self._retries.closed]:
            self._close(name)
            self._retries.forget(name)

    def read_round(self) -> bool:
        """Read every source once; True if there may be more to read at once."""
        now, hurry, held = self._now(), False, 0
        came: dict[str, pa.Table] = {}
        positions: dict[str, Any] = {}
        complete: list[str] = []
        over: dict[str, Exception | None] = {}
        failed: dict[str, Exception] = {}
        self._close_unread()
        reopened = self._reopened(now, over)
        self._open |= reopened
        self._sources |= reopened
        for name, source in self._open.items():
            try:
                rows = self._poll(name, source, now, came)
                if rows:
                    positions[name] = self._positions[name] = position_of(source)
                held += rows or 0
                if source.exhausted:  # may read ahead, so it can fail, too
                    over[name] = None
                elif rows is not None and rows < ROWS_A_ROUND and is_complete(source):
                    complete.append(name)
                hurry |= source.replayable and (rows or 0) >= ROWS_IN_A_HURRY
                if rows is not None:
                    self._note_passed(name, source, rows, now)
            except Exception as problem:
                failed[name] = problem
            if held >= ROWS_A_ROUND:
                over.update(self._deliver(came, complete, now, positions))
                came, complete, held, positions = {}, [], 0, {}
        over.update(self._deliver(came, complete, now, positions))
        over |= {name: why for name, why in failed.items() if name not in over and not self._retry(name, why, now)}
        for name, error in over.items():
            self._end(name, error)
        return hurry

    def _poll(self, name: str, source: Source, now: float, came: dict[str, pa.Table]) -> int | None:
        """Read a source once; returns how many tuples arrived. None: it has to wait, for memory or for a sink."""
        if not self._may_read(source.replayable) or (source.replayable and name in self._held_up()):
            return None
        table = source.poll(now, ROWS_A_ROUND)
        if table is None or not table.num_rows:
            return 0
        came[name] = table
        return table.num_rows

    def _note_passed(self, name: str, source: Source, rows: int, now: float) -> None:
        """A source was polled without an error."""
        self._retries.passed(name, rows, now)
        self.rejected[name] = self._rejected_before[name] + source.rejected
        lag = lag_of(source)
        self.states[name] = {"state": "running"} if lag is None else {"state": "running", "lag": lag}

    def _retry(self, name: str, error: Exception, now: float) -> bool:
        """Close a source that failed, to open it again where it was; False: that would not help."""
        position = self._positions[name]
        if not may_pass(error) or not goes_on_from(position):
            return False
        self._close(name)
        self._rejected_before[name] = self.rejected[name]
        self._retries.add(name, error, position, now)
        self._note_retrying(name)
        return True

    def _reopened(self, now: float, over: dict[str, Exception | None]) -> dict[str, Source]:
        """The sources that are open again; those that never will be are `over`."""
        waiting = self._retries.closed
        if not waiting:
            return {}
        found, final = self._retries.opened(now)
        over.update(final)
        for name in waiting:
            self._note_retrying(name)
        return found

    def _note_retrying(self, name: str) -> None:
        if (state := self._retries.state(name)) is not None:
            self.states[name] = state

    def _end(self, name: str, error: Exception | None) -> None:
        """A stream has ended, or cannot go on."""
        if error is not None:
            log.error("stream %s failed", name, exc_info=error)
        self._close(name)
        self._retries.forget(name)
        self.states[name] = {"state": "ended"} if error is None else {"state": "failed", "error": essence(error)}
        self._ended(name, error)

    def _close_unread(self) -> None:
        for name in {*self._open, *self._retries.closed} - set(self._read()):
            self._close(name)
            self._retries.forget(name)
            self.states[name] = {"state": "ended"}

    def _close(self, name: str) -> None:
        source = self._open.pop(name, None)
        try:
            if source is not None:
                source.close()
        except Exception:
            log.exception("the source of stream %s could not be closed", name)

    def rest_s(self, spent: float) -> float:
        """Seconds until the next round, changed by up to a half so that it begins at a boundary."""
        rest, now = max(TICK_S, spent * (1 - DUTY) / DUTY), self._now()
        left = self._next_boundary(now) - now
        return left if rest / 2 <= left < rest * 3 / 2 else rest

    def reads(self, streams: Collection[str]) -> bool:
        """Is a source of one of these streams still open? If nobody reads its stream, the next round closes it."""
        return self.is_alive() and not {*self._open, *self._retries.closed}.isdisjoint(streams)

    def forget(self, positions: Mapping[str, Any]) -> None:
        """No restart will go on before these positions anymore. Called from any thread."""
        for name in positions.keys() & self._sources.keys():
            forget(self._sources[name], positions[name])

    def stop(self) -> None:
        """Let the thread end after the current round."""
        self._stopping.set()
