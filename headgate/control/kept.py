"""A monitor for measurements: it keeps every latency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.control.monitor import Monitor, Tap
from headgate.plan.model import Plan

Floats = NDArray[np.float64]


class ClassMonitor(Monitor):
    """A monitor that keeps every latency of a class, with the time of its result."""

    def __init__(self, plan: Plan, warm_s: float) -> None:
        super().__init__(plan)
        self._warm_s = warm_s
        self._kept: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in plan.classes}

    def seen(self, tap: Tap, times: Floats, latencies: Floats) -> None:
        self._kept[tap.class_name].append((times, latencies))

    def of_class(self, name: str) -> tuple[Floats, Floats]:
        """Times of the results of a class and their latencies, without those of tuples that came before it was warm."""
        self.fold()
        kept = self._kept[name]
        if not kept:
            return np.zeros(0), np.zeros(0)
        times, latencies = (np.concatenate(column) for column in zip(*kept, strict=True))
        warm = times - latencies >= self._warm_s
        return times[warm], latencies[warm]
