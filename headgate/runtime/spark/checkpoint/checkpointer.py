"""Takes checkpoints while a run goes on: a cut, then a write in the background, then what waited for it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from headgate.runtime.spark.checkpoint.cut import Cut
from headgate.runtime.spark.checkpoint.files import CheckpointInUse
from headgate.runtime.spark.checkpoint.store import CheckpointStore, Saved, Written
from headgate.runtime.spark.checkpoint.tree import take_apart
from headgate.runtime.spark.query_sinks import Failed, QuerySinks
from headgate.scheduling.queue import FiledRows

log = logging.getLogger("headgate.checkpoint")

STOP_S = 60.0  # how long the end of a run waits for a checkpoint that is being written
_LOOK_S = 0.2  # how often to look whether results wait for a checkpoint


class Measured:
    """How long something takes, over and over."""

    def __init__(self) -> None:
        self.count = 0
        self.total = self.most = 0.0

    def add(self, value: float) -> None:
        """It took so long this time."""
        self.count += 1
        self.total += value
        self.most = max(self.most, value)

    def as_data(self) -> dict[str, float | None]:
        """For the report."""
        return {"mean": self.total / self.count if self.count else None, "max": self.most if self.count else None}


class Checkpointer:
    """Takes a checkpoint every `interval_s` seconds, when asked, and when too many results wait for one.

    `cut` waits until no call is in flight and returns the run as it is then; meanwhile slots are held up. When the
    checkpoint is durable, results that waited for it go out, and sources may `forget` what no checkpoint needs. A
    checkpoint that cannot be written is logged, and tried again later; what waits for one goes on waiting. `failed` is
    told of sinks that cannot write, and `broken` that another run has taken over.
    """

    def __init__(
        self,
        store: CheckpointStore,
        interval_s: float,
        keep: int,
        resumed: Saved | None,
        sinks: QuerySinks,
        cut: Callable[[], Cut],
        forget: Callable[[Mapping[str, Any]], None],
        failed: Callable[[Failed], None],
        broken: Callable[[Exception], None],
    ) -> None:
        self._store = store
        self._interval_s = interval_s
        self._resumed = resumed
        self._sinks = sinks
        self._cut = cut
        self._forget = forget
        self._positions: deque[Mapping[str, Any]] = deque(maxlen=keep)  # of the sources, in the checkpoints kept
        self._failed = failed
        self._broken = broken
        self._taking = threading.Lock()  # one at a time
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._pause, self._write = Measured(), Measured()
        self._bytes = 0
        self._last: Written | None = None
        self._last_at: float | None = None
        self._failures = 0
        self._error: str | None = None

    def start(self) -> None:
        """Take checkpoints from now on, in a thread."""
        self._thread = threading.Thread(target=self._run, name="headgate-checkpoints", daemon=True)
        self._thread.start()

    def stop(self) -> bool:
        """Take no more by itself; False: one that is being written does not get done."""
        self._stopping.set()
        if self._thread is None:
            return True
        self._thread.join(STOP_S)
        return not self._thread.is_alive()

    def take(self) -> None:
        """Take a checkpoint now, and return when it is durable. OSError, RuntimeError: it is not there."""
        with self._taking:
            try:
                self._take()
            except CheckpointInUse as error:
                self._broken(error)
                raise
            except Exception as error:
                self._failures += 1
                self._error = str(error)
                log.error("no checkpoint was written, the one before stays; it will be tried again: %s", error)
                raise
            self._error = None

    def report(self) -> dict[str, Any]:
        """For the report: how many were taken, how long slots were held up, how long writing took."""
        last = None if self._last is None else {"number": self._last.number, "at": self._last_at}
        return {
            "taken": self._write.count,
            "failed": self._failures,
            "error": self._error,
            "last": last,
            "bytes": self._bytes,
            "state_bytes": None if self._last is None else self._last.state_bytes,
            "pause_s": self._pause.as_data(),
            "write_s": self._write.as_data(),
            "resumed_from": None if self._resumed is None else self._resumed.number,
        }

    def _run(self) -> None:
        due = time.monotonic() + self._interval_s
        while not self._stopping.wait(min(_LOOK_S, max(0.0, due - time.monotonic()))):
            if time.monotonic() >= due or any(sink.wants_checkpoint for sink in self._sinks.staged):
                try:
                    self.take()
                except CheckpointInUse:
                    return
                except Exception:  # logged
                    pass
                due = time.monotonic() + self._interval_s

    def _take(self) -> None:
        began = time.monotonic()
        cut = self._cut()
        pause_s = time.monotonic() - began
        self._pause.add(pause_s)
        try:
            if bad := self._sinks.flush(cut.plan.queries):
                self._failed(bad)
                raise OSError("; ".join(f"the sink of query {name} failed: {error}" for name, error in bad.items()))
            written = self._store.write(cut.whole_state)
        finally:
            for one in take_apart(cut.state)[1]:
                if isinstance(one, FiledRows):
                    one.release()
        self._write.add(time.monotonic() - began - pause_s)
        self._bytes += written.bytes
        self._last, self._last_at = written, cut.state["at"]
        log.debug("checkpoint %d: %d bytes, slots held up for %.3f s", written.number, written.bytes, pause_s)
        for sink in self._sinks.staged:
            sink.release()
        self._let_go(cut.state["sources"])

    def _let_go(self, positions: Mapping[str, Any]) -> None:
        """Sources may drop what not even the oldest checkpoint needs that is kept."""
        self._positions.append(positions)
        if len(self._positions) == self._positions.maxlen:
            try:
                self._forget(self._positions[0])
            except OSError as error:
                log.warning("a source could not drop what no checkpoint needs any more: %s", error)
