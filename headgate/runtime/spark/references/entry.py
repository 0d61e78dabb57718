"""Which tuples come by reference: decided batch by batch, by how many a source has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

from headgate.connect.sources.base import ReferringSource, Source, can_refer
from headgate.runtime.spark.calls.caller import Caller
from headgate.runtime.spark.calls.ways import MOST_REFERRED_ROWS as MOST_ROWS
from headgate.scheduling.core import Core
from headgate.scheduling.reference import Reference
from headgate.scheduling.reference_entry import admits, may_refer, referred_rows

log = logging.getLogger("headgate.source")


class Wait(Enum):
    """Nothing comes now; `LATER` is no answer yet, or a queue that has enough."""

    LATER = "later"


class ReferenceEntry:
    """Asks the sources of a run for references, has them surveyed, and lets in those without late tuples.

    A source is never ahead of what was delivered: a reference counts as read only when it is let in. The tuples of one
    that is refused come through the driver, which marks late ones.

    `least`: with fewer tuples at its disposal, a source delivers them through the driver; None: all do. `most`: in one
    reference, and waiting per stream. `survey` adds what the executors find; `wanted` says whether the stream may come
    by reference at all, `admits` whether a surveyed reference may come next, `waiting` how many tuples of the stream
    wait by reference.
    """

    def __init__(
        self,
        survey: Callable[[Reference], Reference],
        wanted: Callable[[str], bool],
        admits: Callable[[Reference], bool],
        waiting: Callable[[str], int],
        least: int | None,
        most: int,
    ) -> None:
        self._survey = survey
        self._wanted = wanted
        self._admits = admits
        self._waiting = waiting
        self._least = least
        self._most = most
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="headgate-surveys")
        self._surveys: dict[str, tuple[Source, Reference, Future[Reference]]] = {}
        self._refused: dict[str, int] = {}  # stream -> tuples that still have to come through the driver

    def poll(self, stream: str, source: Source, now: float) -> Reference | Wait | None:
        """What comes of a stream now by reference; None: read the source."""
        if self._least is None or not can_refer(source) or stream in self._refused:
            return None
        if stream in self._surveys:
            if self._surveys[stream][0] is source:
                return self._surveyed(stream, source)
            del self._surveys[stream]  # it failed, and was opened again: it may be elsewhere
        if not self._wanted(stream):
            return None
        if self._waiting(stream) >= self._most:
            return Wait.LATER
        reference = source.refer(now, self._least, self._most)
        if reference is None:
            return None
        self._surveys[stream] = (source, reference, self._beside.submit(self._survey, reference))
        return Wait.LATER

    def read(self, stream: str, rows: int) -> None:
        """The source was read, because `poll` gave None; it has delivered so many tuples."""
        left = self._refused.pop(stream, 0) - rows
        if left > 0:
            self._refused[stream] = left

    def close(self) -> None:
        """No more sources are read; a survey that is under way is left to itself."""
        self._beside.shutdown(wait=False, cancel_futures=True)

    def _surveyed(self, stream: str, source: ReferringSource) -> Reference | Wait | None:
        _, reference, survey = self._surveys[stream]
        if not survey.done():
            return Wait.LATER
        del self._surveys[stream]
        try:
            found = survey.result()
        except Exception as error:
            log.warning("stream %s: %d tuples come through the driver: %s", stream, reference.num_rows, error)
        else:
            if self._wanted(stream) and self._admits(found):
                source.skip(found)
                return found
            log.info("stream %s: %d tuples come through the driver: some may be late", stream, reference.num_rows)
        self._refused[stream] = reference.num_rows
        return None


def make_entry(core: Core, caller: Caller, lock: AbstractContextManager[Any]) -> ReferenceEntry:
    """The entry to a run, whose core is guarded by a lock."""

    def locked(ask: Callable[[Core, Any], Any]) -> Callable[[Any], Any]:
        def answer(about: Any) -> Any:
            with lock:
                return ask(core, about)

        return answer

    asked = (locked(may_refer), locked(admits), locked(referred_rows))
    return ReferenceEntry(lambda one: caller.survey(one, core.plan), *asked, caller.ways.referred_rows, MOST_ROWS)
