"""A sink that collects results and commits them in epochs."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Any, NamedTuple

import pyarrow as pa

from headgate.connect.sinks.base import CannotResume, EpochSink, Shape
from headgate.errors import RowText

log = logging.getLogger("headgate.sink")

EARLY_BYTES = 64 << 20  # results without a checkpoint: with more, one should be taken early
FULL_BYTES = 256 << 20  # results that wait: with more, the query should get no more input
MOST_BYTES = 2 * FULL_BYTES  # results that wait: with more, the query fails
RETRY_S = 0.5  # pause before a commit is tried again; it doubles up to
LONGEST_RETRY_S = 30.0
CLOSE_S = 30.0  # how long the end of a run waits for a commit that takes long
LAST_TRIES = 3  # how often the end of a run tries a commit that fails


class Epoch(NamedTuple):
    """Results that become visible together."""

    number: int
    table: pa.Table


class StagedSink:
    """A `Sink` around an `EpochSink`. A thread of its own commits, so nobody waits for the target.

    With checkpoints, the runtime calls `take` at the cut, saves `position` and `content`, which are those of the latest
    `take`, and calls `release` when the checkpoint is durable. With `held` an epoch waits for that, and each row is
    shown exactly once. Without, the sink commits by itself every `every_s` seconds, and after a restart rows may come
    twice.

    A commit that fails is repeated with growing pauses; meanwhile results wait here. Once they are `full`, the runtime
    stops reading the streams of the query where it can; with twice as many, `write` raises OSError.
    """

    def __init__(
        self,
        target: EpochSink,
        shape: Shape,
        held: bool = False,
        every_s: float = 1.0,
        resume: Any = None,
        content: pa.Table | None = None,
        query: str = "",
    ) -> None:
        self.rows = 0
        self._query = query  # for the log
        self.held = held
        self._target = target
        self._shape = shape
        self._every_s = every_s
        self._changed = threading.Condition()
        self._collected: list[pa.Table] = []  # since the last epoch ended
        self._collected_bytes = 0
        self._epochs: deque[Epoch] = deque()  # that are not committed
        self._epoch_bytes = 0
        self._last = self._committed = target.last_epoch  # the newest epoch that ended; that was committed
        if resume is not None:
            self._restore(resume, content)
        self.position: dict[str, Any] = self._position()
        self.content: pa.Table | None = content
        self._released = self._last  # epochs up to this one may be committed
        self._due = 0.0  # when the sink may end an epoch by itself
        self._closing = False
        self._failures = 0  # in a row
        self._error: Exception | None = None  # why the latest commit failed
        self._fatal: Exception | None = None  # why no more commits are tried
        self._thread = threading.Thread(target=self._commit_all, name="headgate-sink", daemon=True)
        self._thread.start()

    # The runtime's side ------------------------------------------------------------------------------------------

    def write(self, table: pa.Table) -> None:
        """See `Sink`; the rows are visible once their epoch is committed."""
        with self._changed:
            self._check()
            if not table.num_rows:
                return
            shaped = self._shape(table)
            self.rows += shaped.num_rows
            self._collected.append(shaped)
            self._collected_bytes += shaped.nbytes
            if not self.held and len(self._collected) == 1:  # the thread waits for no more than that
                self._changed.notify_all()

    def take(self) -> Epoch | None:
        """End the epoch, at the cut of a checkpoint; None: it has no rows."""
        with self._changed:
            epoch = self._end_epoch()
            self.position = self._position()
            # Also those whose commit failed. What is committed from now on is left out when it is committed again.
            self.content = pa.concat_tables(epoch.table for epoch in self._epochs) if self._epochs else None
            return epoch

    def release(self) -> None:
        """Let everything that was taken be committed: a checkpoint with it is durable. Returns at once."""
        with self._changed:
            self.content = None  # it is saved; do not keep it in memory
            self._released = self.position["last"]
            self._changed.notify_all()

    @property
    def wants_checkpoint(self) -> bool:
        """Do so many results wait for a checkpoint that one should be taken now?"""
        return self.held and self._collected_bytes > EARLY_BYTES

    @property
    def bytes(self) -> int:
        """The size of the results that are not committed, which are kept in memory."""
        return self._collected_bytes + self._epoch_bytes

    @property
    def full(self) -> bool:
        """Do so many results wait that the query should get no more input until the target has caught up?"""
        return self.bytes > FULL_BYTES

    def refresh(self) -> None:
        """See `Sink`. Raises the error after which no more commits are tried."""
        if self._fatal is not None:
            raise self._fatal

    def flush(self) -> None:
        """See `Sink`; results that are not committed are in the checkpoint."""

    def close(self) -> None:
        """See `Sink`. Commits what may be committed; OSError: some of that was not possible.

        Results that wait for a checkpoint are dropped: the application computes them again when it goes on from the
        last one.
        """
        with self._changed:
            if self._closing:
                return
            if not self.held:
                self._end_epoch()
            self._closing = True
            self._failures = 0
            self._changed.notify_all()
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._target.close()
        with self._changed:
            left = sum(epoch.table.num_rows for epoch in self._epochs if epoch.number <= self._released)
            if left and self._fatal is None:
                raise OSError(f"{left} results were not committed: {self._error or 'the target does not answer'}")

    def status(self) -> dict[str, Any]:
        """For the report: the newest epoch that was committed, the rows that wait, the current error."""
        with self._changed:
            waiting = sum(epoch.table.num_rows for epoch in self._epochs)
            waiting += sum(table.num_rows for table in self._collected)
            error = self._fatal or self._error
            return {"epoch": self._committed, "waiting": waiting, "error": None if error is None else str(error)}

    def _position(self) -> dict[str, Any]:
        epochs = [[epoch.number, epoch.table.num_rows] for epoch in self._epochs]
        return {"rows": self.rows, "last": self._last, "epochs": epochs}

    def _restore(self, position: dict[str, Any], content: pa.Table | None) -> None:
        """Go on from a checkpoint. Its epochs may have been committed just before the crash."""
        newest = position["last"]
        if self.held and self._last > newest:
            raise CannotResume(
                f"the target holds epoch {self._last}, but the checkpoint ends with epoch {newest}: it is an old one, "
                "or another application writes there"
            )
        self.rows = position["rows"]
        first = 0
        for number, rows in position["epochs"]:
            assert content is not None
            self._add(Epoch(number, content.slice(first, rows)))
            first += rows
        expected = position["epochs"][0][0] - 1 if position["epochs"] else newest
        if self._last < expected:
            said = (self._query, expected, self._last)
            log.warning(
                "results of query %s: epochs up to %d were committed, but the target has only %d of them", *said
            )
        self._last = max(self._last, newest)

    def _check(self) -> None:
        if self._closing:
            raise ValueError("the sink is closed")
        if self._fatal is not None:
            raise self._fatal
        if self.bytes > MOST_BYTES:
            reason = self._error or "it does not keep up"
            raise OSError(f"{self.bytes >> 20} MB of results wait for the target of the sink: {reason}")

    def _end_epoch(self) -> Epoch | None:
        if not self._collected:
            return None
        epoch = Epoch(self._last + 1, pa.concat_tables(self._collected))
        self._collected, self._collected_bytes = [], 0
        self._add(epoch)
        self._last = epoch.number
        if not self.held:
            self._released = epoch.number
        self._changed.notify_all()
        return epoch

    def _add(self, epoch: Epoch) -> None:
        self._epochs.append(epoch)
        self._epoch_bytes += epoch.table.nbytes

    # The thread --------------------------------------------------------------------------------------------------

    def _commit_all(self) -> None:
        while self._commit_next():
            pass

    def _commit_next(self) -> bool:
        epoch = self._next()
        if epoch is None:
            return False
        try:
            self._target.commit(*epoch)
        except Exception as error:
            self._failed(epoch, error)
        else:
            self._succeeded(epoch)
        return True

    def _next(self) -> Epoch | None:
        """Wait for an epoch that may be committed; None: the run ends, and there is none."""
        with self._changed:
            while self._fatal is None and not (self._closing and self._failures >= LAST_TRIES):
                wait = None
                if not self.held and self._collected:
                    wait = self._due - time.monotonic()
                    if wait <= 0 and not self._epochs:
                        self._end_epoch()
                if self._epochs and self._epochs[0].number <= self._released:
                    self._due = time.monotonic() + self._every_s
                    return self._epochs[0]
                if self._closing:
                    return None
                self._changed.wait(wait)
            return None

    def _succeeded(self, epoch: Epoch) -> None:
        with self._changed:
            self._epochs.popleft()
            self._epoch_bytes -= epoch.table.nbytes
            self._committed = epoch.number
            if self._failures:
                tries = self._failures + 1
                log.info("results of query %s: epoch %d was committed at attempt %d", self._query, epoch.number, tries)
            self._failures, self._error = 0, None
            self._changed.notify_all()

    def _failed(self, epoch: Epoch, error: Exception) -> None:
        with self._changed:
            self._error = error
            if isinstance(error, (ValueError, TypeError)):
                self._fatal = error
                return
            pause = min(RETRY_S * 2**self._failures, LONGEST_RETRY_S)
            self._failures += 1
            said = (self._query, epoch.number, RowText(error), pause)
            log.warning("results of query %s: epoch %d was not committed: %s; trying again in %g s", *said)
            closing = self._closing
            self._changed.wait_for(lambda: self._closing != closing, pause)
