"""When a query's promises are looked at: more often where its graph changes soon (Kendai sections 4.2.5 and 4.2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.plan.quality import QosMeasure


@dataclass(frozen=True)
class Monitoring:
    """How often to look, and how far ahead. The thesis looked every 3 seconds."""

    checks: int = 10  # in an interval of a graph
    shortest_s: float = 3.0  # between two checks; longer than all operators of a query take to run once
    longest_s: float = 30.0
    look_ahead: float = 1 / 3  # as a share of the time to the next check

    def period_s(self, measures: Sequence[QosMeasure], at: float) -> float:
        """The seconds from one check to the next: the shortest of the intervals in force, divided by `checks`."""
        lengths = [measure.graph.length(measure.graph.interval(at)) for measure in measures]
        wanted = min(lengths, default=self.longest_s) / self.checks
        return min(self.longest_s, max(self.shortest_s, wanted))

    def look_ahead_s(self, period_s: float) -> float:
        """A promise is judged by what will be expected that much later."""
        return self.look_ahead * period_s
