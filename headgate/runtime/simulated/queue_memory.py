"""Bytes queued between operators over time: collected as changes, and now and then summed in order of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.monitor import Monitor

Floats = NDArray[np.float64]


class QueueMemory:
    """Takes changes (time, bytes) in any order and reports the exact level over time to the monitor.

    A call reports its changes when it ends, for times since its start, so only the time before the start of every
    running call can be settled. Sorting blocks with numpy costs about 0.1 us a change; a heap would cost ten times as
    much.
    """

    def __init__(self, monitor: Monitor, keep: bool = False) -> None:
        self._monitor = monitor
        self.times: list[float] = []
        self.changes: list[float] = []
        self._parts: list[tuple[Floats, Floats]] = []
        self._level = 0.0
        self._keep = keep
        self._kept: list[tuple[Floats, Floats]] = []

    def add_block(self, times: Sequence[float] | Floats, changes: Sequence[float] | Floats) -> None:
        """Add many changes at once. A few are better appended to `times` and `changes`."""
        if len(times):
            self._parts.append((np.asarray(times, dtype=np.float64), np.asarray(changes, dtype=np.float64)))

    def settle(self, until: float) -> None:
        """Report the levels before `until` (exclusive) to the monitor. No change before it may be added afterwards."""
        self.add_block(self.times, self.changes)
        self.times.clear()
        self.changes.clear()
        if not self._parts:
            return
        times, changes = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(times, kind="stable")
        times, changes = times[order], changes[order]
        end = int(np.searchsorted(times, until, side="left"))
        self._parts = [(times[end:], changes[end:])] if end < len(times) else []
        if end:
            levels = self._level + np.cumsum(changes[:end])
            self._level = float(levels[-1])
            self._monitor.memory_levels(times[:end], levels)
            if self._keep:
                self._kept.append((times[:end], levels))

    def trace(self) -> list[tuple[float, float]]:
        """(time, bytes from then on), one entry per instant; empty unless made with `keep`."""
        found: dict[float, float] = {}
        for times, levels in self._kept:
            found.update(zip(times.tolist(), levels.tolist(), strict=True))
        return list(found.items())
