"""The moment between calls at which a checkpoint is cut."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.scheduling.core import Core

PATIENCE_S = 60.0  # how long a cut waits for calls in flight, while slots that are free stay idle


class CallsTakeLong(RuntimeError):
    """A call in flight did not end in time."""


class BetweenCalls:
    """Holds slots back until the calls in flight have ended: at most as long as the longest of them still takes."""

    def __init__(self, lock: threading.Condition, core: Core) -> None:
        self.held = False  # no slot may claim a call now; read with the lock
        self._lock = lock
        self._core = core

    @contextmanager
    def hold(self, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """The block has the lock, and no call is in flight. CallsTakeLong: one does not end."""
        with self._lock:
            self.held = True
            try:
                if not self._lock.wait_for(lambda: not self._core.board.calls_in_flight, patience_s):
                    raise CallsTakeLong("a call in flight does not end, and checkpoints come between calls")
                yield
            finally:
                self.held = False
                self._lock.notify_all()
