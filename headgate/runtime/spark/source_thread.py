"""The source thread: polls sources and hands the tuples to the runtime."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping

from headgate.application.checked import CheckedApplication
from headgate.connect.dead_letters import DeadLetters
from headgate.connect.sources import Source, make_source
from headgate.connect.sources.delayed import DelayedSource
from headgate.connect.sources.push import PushedSource
from headgate.connect.sources.rejects import OnReject
from headgate.runtime.spark.references.entry import ReferenceEntry, Wait
from headgate.scheduling.reference import Rows

log = logging.getLogger("headgate.source")

TICK_S = 0.005  # pause between rounds; adds at most this much latency
DUTY = 0.15  # the share of a core that reading may take when there is no hurry; with many sources, pauses get longer
ROWS_A_ROUND = 100_000  # most rows read from one source at once, so that it does not hold up the others
ROWS_IN_A_HURRY = 1000  # a replayed source that gives this many at once probably has more


def open_sources(
    app: CheckedApplication,
    quiet: bool = False,
    letters: DeadLetters | None = None,
    streams: Collection[str] | None = None,
    since: float = 0.0,
) -> dict[str, Source]:
    """New sources for these streams; None: for all streams that are read. Rows put aside go to the dead letters.

    `since` is the time in the run at which they begin.
    """
    epoch_us = time.time_ns() // 1000
    found: dict[str, Source] = {}
    for name, stream in app.plan.streams.items():
        if name in streams if streams is not None else app.plan.entrances(name):
            on_reject = None if letters is None else _to_dead_letters(letters, name)
            source = make_source(stream, app.folder, app.seed, epoch_us, quiet, on_reject)
            pushed = isinstance(source, PushedSource)  # what is pushed arrives when it is pushed
            found[name] = DelayedSource(source, since) if since and not pushed else source
    return found


def _to_dead_letters(letters: DeadLetters, stream: str) -> OnReject:
    def put_aside(line: int, row: str, reason: str, kind: str) -> None:
        letters.put(kind, stream, line, row, reason)

    return put_aside


class SourceThread(threading.Thread):
    """Polls every source, round after round, and passes what arrived to `deliver`.

    That is all tables of a round at once, and the streams for which they are everything up to the time of the round. A
    source that fails ends; the others go on. A source whose stream is no longer in `read()` is closed: its queries have
    ended. If a window boundary is near, the next round begins there, because many units have something to do then.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        now: Callable[[], float],
        deliver: Callable[[Mapping[str, Rows], Collection[str], float], Mapping[str, Exception]],
        ended: Callable[[str, Exception | None], None],
        broken: Callable[[Exception], None],
        memory_short: Callable[[], bool],
        next_boundary: Callable[[float], float],
        read: Callable[[], Collection[str]],
        references: ReferenceEntry | None = None,
    ) -> None:
        super().__init__(name="headgate-sources", daemon=True)
        self._open = dict(sources)
        self._now = now
        self._deliver = deliver
        self._ended = ended
        self._broken = broken
        self._memory_short = memory_short
        self._next_boundary = next_boundary
        self._read = read
        self._references = references
        self._stopping = threading.Event()
        self.rejected: dict[str, int] = dict.fromkeys(sources, 0)

    def run(self) -> None:
        """Read until all sources have ended. An error that is not the fault of a source ends the run."""
        try:
            while self._open and not self._stopping.is_set():
                began = time.thread_time()  # of this thread: on a busy machine, most wall time goes to others
                if not self.read_round():
                    self._stopping.wait(self.rest_s(time.thread_time() - began))
        except Exception as error:
            log.exception("reading sources failed")
            self._broken(error)
        for source in self._open.values():
            source.close()
        if self._references is not None:
            self._references.close()

    def read_round(self) -> bool:
        """Read every source once; True if there may be more to read at once."""
        now, hurry, held = self._now(), False, 0
        came: dict[str, Rows] = {}
        complete: list[str] = []
        over: dict[str, Exception | None] = {}
        for name in self._open.keys() - self._read():
            self._open.pop(name).close()
        for name, source in self._open.items():
            try:
                rows = self._poll(name, source, now, came)
                held += rows or 0
                if source.exhausted:  # may read ahead, so it can fail, too
                    over[name] = None
                elif rows is not None and rows < ROWS_A_ROUND:
                    complete.append(name)
                hurry |= source.replayable and (rows or 0) >= ROWS_IN_A_HURRY
            except Exception as problem:
                over[name] = problem
            self.rejected[name] = source.rejected
            if held >= ROWS_A_ROUND:
                over.update(self._deliver(came, complete, now))
                came, complete, held = {}, [], 0
        over.update(self._deliver(came, complete, now))
        for name, error in over.items():
            if error is not None:
                log.error("stream %s failed", name, exc_info=error)
            self._open.pop(name).close()
            self._ended(name, error)
        return hurry

    def _poll(self, name: str, source: Source, now: float, came: dict[str, Rows]) -> int | None:
        """Read a source once; returns how many tuples arrived. None: more are there, but they have to wait."""
        if source.replayable and self._memory_short():
            return None
        referred = None if self._references is None else self._references.poll(name, source, now)
        if isinstance(referred, Wait):
            return None
        if referred is not None:
            came[name] = referred
            return referred.num_rows
        table = source.poll(now, ROWS_A_ROUND)
        rows = 0 if table is None else table.num_rows
        if self._references is not None:
            self._references.read(name, rows)
        if table is not None and rows:
            came[name] = table
        return rows

    def rest_s(self, spent: float) -> float:
        """Seconds until the next round, changed by up to a half so that it begins at a boundary."""
        rest, now = max(TICK_S, spent * (1 - DUTY) / DUTY), self._now()
        left = self._next_boundary(now) - now
        return left if rest / 2 <= left < rest * 3 / 2 else rest

    def reads(self, streams: Collection[str]) -> bool:
        """Is a source of one of these streams still open? If nobody reads its stream, the next round closes it."""
        return self.is_alive() and not self._open.keys().isdisjoint(streams)

    def stop(self) -> None:
        """Let the thread end after the current round."""
        self._stopping.set()
