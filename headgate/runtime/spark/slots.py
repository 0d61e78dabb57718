"""Slot threads: each asks for calls and runs them until the run stops."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from threading import Thread

from pyspark import InheritableThread

log = logging.getLogger("headgate.spark")

IDLE_WAIT_S = 0.1  # an idle slot asks again after this long, even if nothing woke it


class SlotThreads:
    """One thread per slot. `step` runs one call in a slot; an error in it means a broken rule, and ends the run."""

    def __init__(self, slots: int, step: Callable[[int, float], bool], broken: Callable[[Exception], None]) -> None:
        self._step = step
        self._broken = broken
        self._stopping = False
        self._threads = [
            InheritableThread(target=self._run, args=(slot,), name=f"headgate-slot-{slot}", daemon=True)
            for slot in range(slots)
        ]

    def start(self) -> None:
        """Start all threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let threads end after their current calls. Wake the idle ones next, then `join`."""
        self._stopping = True

    def join(self, seconds: float) -> bool:
        """Wait at most `seconds` for calls in flight; have all threads ended?"""
        return join_all(self._threads, seconds)

    def _run(self, slot: int) -> None:
        try:
            while not self._stopping:
                self._step(slot, IDLE_WAIT_S)
        except Exception as error:
            log.exception("slot %d failed", slot)
            self._broken(error)


def join_all(threads: Iterable[Thread], seconds: float) -> bool:
    """Wait at most `seconds` for threads that were started; have all ended?"""
    until = time.monotonic() + seconds
    started = [thread for thread in threads if thread.ident is not None]
    for thread in started:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in started)
