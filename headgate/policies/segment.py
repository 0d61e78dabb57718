"""segment: first the segment that releases the most memory per second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.policies.explanations import explain_cuts
from headgate.policies.path_segments import CutRule, PathSegments
from headgate.policies.path_worths import ViewStats
from headgate.policies.ranked import RankedPolicy
from headgate.policies.starvation import Starvation
from headgate.policies.worth import Worth
from headgate.scheduling.segments import partition
from headgate.scheduling.units import Group


class Segments(RankedPolicy):
    """The segment that releases the most memory per second first; no tuple waits inside a segment.

    A segment is a run of operators, each of which releases memory at least as fast as the one before it (Jiang and
    Chakravarthy section 3.3, eq. 3.2).
    """

    name = "segment"
    unit = "segment"
    needs = ("fixed_s", "cost_s", "selectivity", "tuple_bytes")
    paper = (
        "Jiang, Chakravarthy: Scheduling Strategies for Processing Continuous Queries Over Streams, "
        "UTA TR CSE-2003-30, section 3.3"
    )

    def __init__(self, starvation: Starvation = None, period: int = 20) -> None:
        super().__init__(starvation, period)
        self._segments = PathSegments(self.cut())

    def cut(self) -> CutRule:
        """The rule that cuts a path by the memory releases of its operators."""
        return partition

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return self._segments.groups(plan, stats)

    def regroups(self, plan: Plan, stats: Stats) -> bool:
        return self._segments.outdated(plan, stats)

    def explain(self) -> dict[str, Any]:
        return super().explain() | {"cuts": explain_cuts(self.view.plan, ViewStats(self.view))}

    def worths(self) -> Sequence[Worth | None]:
        return self._segments.worths(self.view.units, self.view)
