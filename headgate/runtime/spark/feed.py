"""Sources into queues: the source thread of the Spark runtime."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

import pyarrow as pa

from headgate.connect.sources import Source, make_source
from headgate.plan.application import Application
from headgate.plan.operators.base import Port

log = logging.getLogger("headgate.source")

TICK_S = 0.005  # how often sources are asked; the price is at most this much latency
DUTY = 0.2  # most of a core's time that reading may take when there is no hurry; ticks get longer with many sources
ROWS_A_TICK = 100_000  # most rows read from one source at once, so that no source holds the others up


def open_sources(app: Application, quiet: bool = False) -> dict[str, Source]:
    """Fresh sources of every stream that is read."""
    epoch_us = time.time_ns() // 1000
    read = [stream for name, stream in app.plan.streams.items() if app.plan.consumers[Port(name)]]
    return {stream.name: make_source(stream, app.folder, app.seed, epoch_us, quiet) for stream in read}


class Feed(threading.Thread):
    """Polls every source and hands what arrived to `deliver`. A source that fails ends; the others go on.

    `tick` is told up to when everything that arrived on a stream has been delivered.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        now: Callable[[], float],
        deliver: Callable[[str, pa.Table], None],
        tick: Callable[[str, float], None],
        memory_short: Callable[[], bool],
        ended: Callable[[str, Exception | None], None],
    ) -> None:
        super().__init__(name="headgate-sources", daemon=True)
        self._sources = dict(sources)
        self._now = now
        self._deliver = deliver
        self._tick = tick
        self._memory_short = memory_short
        self._ended = ended
        self._stopping = threading.Event()
        self.rejected: dict[str, int] = dict.fromkeys(sources, 0)

    def run(self) -> None:
        open_sources = dict(self._sources)
        while open_sources and not self._stopping.is_set():
            busy = False
            began = time.thread_time()  # its own: on a busy machine most of the clock's time is that of others
            for name, source in list(open_sources.items()):
                error: Exception | None = None
                try:
                    busy |= self._poll(name, source)
                    over = source.exhausted  # may read ahead, so it may fail too
                except Exception as problem:
                    log.exception("stream %s failed", name)
                    error, over = problem, True
                self.rejected[name] = source.rejected
                if over:
                    source.close()
                    del open_sources[name]
                    self._ended(name, error)
            if not busy:
                spent = time.thread_time() - began
                self._stopping.wait(max(TICK_S, spent * (1 - DUTY) / DUTY))
        for source in open_sources.values():
            source.close()

    def _poll(self, name: str, source: Source) -> bool:
        """Read once; True when there may be more to read right now."""
        if source.replayable and self._memory_short():
            return False
        now = self._now()
        table = source.poll(now, ROWS_A_TICK)
        rows = 0 if table is None else table.num_rows
        if rows:
            self._deliver(name, table)
        if rows < ROWS_A_TICK and not source.exhausted:
            self._tick(name, now)
        return bool(source.replayable and rows >= 1000)

    def stop(self) -> None:
        self._stopping.set()
