"""A monitor that also counts results, latencies and queued bytes second by second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.monitor import Monitor, ResultTap
from headgate.plan.model import Plan

Floats = NDArray[np.float64]


class SecondsMonitor(Monitor):
    """Counts, besides what any monitor does, results, latencies and queued bytes in every second."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.outputs: Floats = np.zeros(0)
        self.latencies: Floats = np.zeros(0)
        self._levels: list[tuple[Floats, Floats]] = []  # times and bytes at the last change in each second

    def memory_levels(self, times: Floats, levels: Floats) -> None:
        super().memory_levels(times, levels)
        if len(times):
            last = np.append(np.diff(np.floor(times)) > 0, True)
            self._levels.append((np.floor(times[last]), levels[last]))

    def memory_series(self, seconds: int) -> Floats:
        """Bytes in queues at the last change in each second; a second without a change repeats the last value."""
        found: Floats = np.zeros(seconds)
        if self._levels:
            times, levels = (np.concatenate(column) for column in zip(*self._levels, strict=True))
            at = np.searchsorted(times, np.arange(seconds), side="right") - 1
            found = np.where(at >= 0, levels[np.maximum(at, 0)], 0.0)
        return found

    def record(self, tap: ResultTap, times: Floats, latencies: Floats) -> None:
        seconds = times.astype(np.int64)
        self._grow(int(seconds.max()) + 1)
        self.outputs += np.bincount(seconds, minlength=len(self.outputs))
        self.latencies += np.bincount(seconds, latencies, minlength=len(self.latencies))

    def _grow(self, size: int) -> None:
        missing = size - len(self.outputs)
        if missing > 0:
            missing += len(self.outputs)  # doubling, because runs extend it one second at a time
            self.outputs = np.append(self.outputs, np.zeros(missing))
            self.latencies = np.append(self.latencies, np.zeros(missing))

    def series(self, seconds: int) -> tuple[Floats, Floats]:
        """Results in each of the first `seconds`, and their mean latency (nan without results)."""
        self._grow(seconds)
        outputs, latencies = self.outputs[:seconds], self.latencies[:seconds]
        with np.errstate(invalid="ignore", divide="ignore"):
            return outputs, latencies / outputs
