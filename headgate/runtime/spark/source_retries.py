"""Sources that failed for a reason that may pass: when they are opened again, and what people see of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from headgate.connect.sources import Source
from headgate.runtime.spark.failures.error_messages import essence

log = logging.getLogger("headgate.source")

FIRST_WAIT_S = 1.0  # before the first attempt; each one after that waits twice as long
LONGEST_WAIT_S = 60.0

Reopen = Callable[[str, Any], Source]  # the source of a stream, at a position


def may_pass(error: Exception) -> bool:
    """Does an error lie outside, so that another attempt may succeed? That is OSError, with connection errors and
    time-outs; a source that has other errors of this kind raises them as an OSError. All others are final: wrong
    settings, a file that was replaced, a broken promise of the source."""
    return isinstance(error, OSError)


def wait_s(attempt: int, jitter: float) -> float:
    """How long to wait before an attempt, counted from 1. `jitter` from 0 to 1 takes up to half of it away, so that
    sources that failed together do not come back together."""
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempt - 1, 16)) * (1 - jitter / 2)


class Retries:
    """The sources of one source thread that failed, by stream, on their way back. Times are those of the run.

    A source is opened in a thread of its own, because that may take long, and the others go on meanwhile.
    """

    def __init__(self, reopen: Reopen, jitter: Callable[[], float]) -> None:
        self._reopen = reopen
        self._jitter = jitter
        self._troubles: dict[str, _Trouble] = {}

    @property
    def closed(self) -> Collection[str]:
        """The streams whose sources are not open at present."""
        return [name for name, trouble in self._troubles.items() if not trouble.is_open]

    def add(self, stream: str, error: Exception, position: Any, now: float) -> None:
        """A source failed, and was closed; it is opened again at this position."""
        before = self._troubles.get(stream)
        attempt = before.attempt + 1 if before else 1
        wait = wait_s(attempt, self._jitter())
        since = now if before is None or before.passed is not None else before.since
        if before is None or before.passed is not None:
            log.warning("stream %s failed, and is tried again: %s", stream, essence(error))
        elif type(before.error) is not type(error):
            log.warning("stream %s still fails, after %d attempts: %s", stream, before.attempt, essence(error))
        self._troubles[stream] = _Trouble(since, attempt, error, position, now + wait)

    def opened(self, now: float) -> tuple[dict[str, Source], dict[str, Exception]]:
        """Begin the attempts that are due. Returns the sources that are open again, and the errors that are final."""
        sources: dict[str, Source] = {}
        final: dict[str, Exception] = {}
        for name in self.closed:
            trouble = self._troubles[name]
            if trouble.attempting is None:
                if now >= trouble.due:
                    trouble.attempting = _Attempt(self._reopen, name, trouble.position)
                    trouble.attempting.start()
                continue
            if trouble.attempting.is_alive():
                continue
            found, trouble.attempting = trouble.attempting.found, None
            if not isinstance(found, Exception):
                assert found is not None
                sources[name], trouble.is_open = found, True
            elif may_pass(found):
                self.add(name, found, trouble.position, now)
            else:
                final[name] = found
        return sources, final

    def passed(self, stream: str, tuples: int, now: float) -> None:
        """A source was polled without an error. It is well again once it has given tuples, or has not failed for as
        long as the longest wait; until then, its next failure counts as one more attempt."""
        trouble = self._troubles.get(stream)
        if trouble is None:
            return
        if trouble.passed is None:
            trouble.passed = now
            log.info("stream %s is read again, after %.1f s", stream, now - trouble.since)
        if tuples or now >= trouble.passed + LONGEST_WAIT_S:
            del self._troubles[stream]

    def forget(self, stream: str) -> None:
        """A stream is not read anymore."""
        trouble = self._troubles.pop(stream, None)
        if trouble is not None and trouble.attempting is not None:
            trouble.attempting.abandon()

    def state(self, stream: str) -> dict[str, Any] | None:
        """What people see of a source that does not work at present."""
        trouble = self._troubles.get(stream)
        if trouble is None or trouble.passed is not None:
            return None
        error = essence(trouble.error)
        return {"state": "retrying", "since": trouble.since, "attempt": trouble.attempt, "error": error}


@dataclass
class _Trouble:
    """A source that failed."""

    since: float
    attempt: int  # the one that comes next or is under way, from 1
    error: Exception
    position: Any
    due: float  # when the attempt begins
    attempting: _Attempt | None = None
    is_open: bool = False
    passed: float | None = None  # when it was first polled without an error


class _Attempt(threading.Thread):
    """Opens a source; `found` is the source, or why it could not be opened."""

    def __init__(self, reopen: Reopen, stream: str, position: Any) -> None:
        super().__init__(name=f"headgate-retry-{stream}", daemon=True)
        self._reopen = reopen
        self._stream = stream
        self._position = position
        self._guard = threading.Lock()
        self._abandoned = False
        self.found: Source | Exception | None = None

    def run(self) -> None:
        try:
            found: Source | Exception = self._reopen(self._stream, self._position)
        except Exception as error:
            found = error
        with self._guard:
            self.found = found
        if self._abandoned:
            self.abandon()

    def abandon(self) -> None:
        """Nobody waits for the source anymore: close it, now or when it is open."""
        self._abandoned = True
        with self._guard:
            found, self.found = self.found, None
        if found is not None and not isinstance(found, Exception):
            found.close()
