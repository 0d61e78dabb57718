"""A monitor that keeps every latency, for studies and benches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.monitor import Monitor, ResultTap
from headgate.plan.model import Plan

Floats = NDArray[np.float64]


class RecordingMonitor(Monitor):
    """Keeps every latency with the time of its result, by class and query.

    Results of tuples that arrived before `warm_s` do not count.
    """

    def __init__(self, plan: Plan, warm_s: float) -> None:
        super().__init__(plan)
        self._warm_s = warm_s
        self._kept: dict[str, dict[str, list[tuple[Floats, Floats]]]] = {name: {} for name in plan.classes}

    def record(self, tap: ResultTap, times: Floats, latencies: Floats) -> None:
        self._kept[tap.class_name].setdefault(tap.query, []).append((times, latencies))

    def of_class(self, name: str) -> tuple[Floats, Floats]:
        """The times of the results of a class, and their latencies."""
        self.fold()
        return self._warm([part for parts in self._kept[name].values() for part in parts])

    def of_query(self, name: str) -> tuple[Floats, Floats]:
        """The times of the results of a query, and their latencies."""
        self.fold()
        return self._warm([part for queries in self._kept.values() for part in queries.get(name, ())])

    def by_query(self, class_name: str, until: float = np.inf) -> dict[str, Floats]:
        """Query -> latencies of its results up to `until`, for the queries of a class that have results at all."""
        self.fold()
        warm = {query: self._warm(parts) for query, parts in self._kept[class_name].items()}
        return {query: latencies[times <= until] for query, (times, latencies) in warm.items()}

    def _warm(self, parts: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        if not parts:
            return np.zeros(0), np.zeros(0)
        times, latencies = (np.concatenate(column) for column in zip(*parts, strict=True))
        warm = times - latencies >= self._warm_s
        return times[warm], latencies[warm]
