"""The threads that read the sources of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from headgate.connect.sources import Source
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.runtime.spark.slots import join_all
from headgate.runtime.spark.source_retries import Reopen
from headgate.runtime.spark.source_thread import TICK_S, Deliver, SourceThread
from headgate.scheduling.core import Core


class SourceThreads:
    """One thread for the sources that a run begins with, and another one each time added queries read more streams."""

    def __init__(
        self,
        core: Core,
        sinks: QuerySinks,
        now: Callable[[], float],
        deliver: Deliver,
        ended: Callable[[str, Exception | None], None],
        broken: Callable[[Exception], None],
    ) -> None:
        self._core = core
        self._sinks = sinks
        self._now = now
        self._deliver = deliver
        self._ended = ended
        self._broken = broken
        self._threads: list[SourceThread] = []

    def read(self, sources: Mapping[str, Source], reopen: Reopen) -> None:
        """Read these sources from now on, in a thread of their own. `reopen` opens those again that fail."""
        thread = SourceThread(
            sources,
            now=self._now,
            deliver=self._deliver,
            ended=self._ended,
            broken=self._broken,
            may_read=self._core.may_read,
            next_boundary=self._core.next_boundary,
            read=lambda: self._core.time.open,
            reopen=reopen,
            held_up=lambda: self._sinks.held_up(self._core.plan),
        )
        self._threads.append(thread)
        thread.start()

    def wait_closed(self, streams: Collection[str]) -> None:
        """Return when no source of these streams is open, which no query reads anymore."""
        while any(thread.reads(streams) for thread in self._threads):
            time.sleep(TICK_S)

    @property
    def rejected(self) -> dict[str, int]:
        """How many rows were put aside, by stream."""
        return {name: count for thread in self._threads for name, count in thread.rejected.items()}

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """By stream, whether its source runs, and what is wrong if it does not."""
        return {name: state for thread in self._threads for name, state in thread.states.items()}

    def forget(self, positions: Mapping[str, Any]) -> None:
        """A checkpoint with these positions is durable, and no older one is kept: sources may drop what they keep for
        a restart. Raises OSError."""
        for thread in self._threads:
            thread.forget(positions)

    def stop(self) -> None:
        """Let the threads end after their current rounds; `join` waits for that."""
        for thread in self._threads:
            thread.stop()

    def join(self, seconds: float) -> bool:
        """Wait at most `seconds` for the threads to end; have they all?"""
        return join_all(self._threads, seconds)
