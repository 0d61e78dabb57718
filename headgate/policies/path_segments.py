"""Segments as units: how paths are cut, and when to cut them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.plan.paths import find_paths
from headgate.policies.path_worths import release_worth, steps_by_path
from headgate.policies.worth import Worth
from headgate.scheduling.policy import View
from headgate.scheduling.segments import Segment, cut_paths
from headgate.scheduling.units import Group, Unit

CutRule = Callable[[Sequence[float | None]], list[tuple[int, int]]]

PATIENCE = (
    3  # consecutive refreshes of the statistics that must ask for other segments, since changing units costs time
)


class PathSegments:
    """The segments that a policy schedules."""

    def __init__(self, cut: CutRule) -> None:
        self._cut = cut
        self._segments: tuple[Segment, ...] = ()
        self._doubts = 0  # consecutive refreshes that would have cut differently

    def groups(self, plan: Plan, stats: Stats) -> list[Group]:
        """Cut the paths of a plan."""
        self._doubts = 0
        self._segments = cut_paths(plan, stats, self._cut)
        return [Group(segment.id, segment.operators) for segment in self._segments]

    def outdated(self, plan: Plan, stats: Stats) -> bool:
        """Have the statistics asked for other segments `PATIENCE` times in a row?"""
        now = {segment.operators for segment in cut_paths(plan, stats, self._cut)}
        same = now == {segment.operators for segment in self._segments}
        self._doubts = 0 if same else self._doubts + 1
        return self._doubts >= PATIENCE

    def worths(self, units: Sequence[Unit], view: View) -> list[Worth | None]:
        """The memory release of each segment, computed on the first path it was cut from."""
        steps = steps_by_path(view, find_paths(view.plan))
        pieces = [
            [step for step in steps[segment.path] if step.operator in segment.operators] for segment in self._segments
        ]
        return [release_worth(unit, view, piece) for unit, piece in zip(units, pieces, strict=True)]
