"""Capacities of paths and segments as worths (Jiang and Chakravarthy, sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headgate.metrics.stats import OperatorStats
from headgate.plan.paths import Path
from headgate.policies.worth import Worth
from headgate.scheduling.costs import fixed_cost
from headgate.scheduling.policy import View
from headgate.scheduling.segments import Step, bytes_released, path_cost, path_steps
from headgate.scheduling.units import Unit


class ViewStats:
    """The statistics that a view shows."""

    def __init__(self, view: View) -> None:
        self._view = view

    def of(self, operator: str) -> OperatorStats:
        return self._view.stats(operator)

    def stream_bytes(self, stream: str) -> float | None:
        return self._view.stream_bytes(stream)


def steps_by_path(view: View, paths: Iterable[Path]) -> dict[str, tuple[Step, ...]]:
    """What the operators of each path do to a tuple, with the statistics of now."""
    stats = ViewStats(view)
    return {path.id: path_steps(view.plan, stats, path) for path in paths}


def capacity_worth(unit: Unit, view: View, steps: Sequence[Step]) -> Worth | None:
    """C^P (2.2): tuples a second through to the end."""
    cost, fixed = path_cost(steps), fixed_cost(unit, view)
    return None if cost is None or fixed is None else Worth(1.0, cost, fixed)


def release_worth(unit: Unit, view: View, steps: Sequence[Step]) -> Worth | None:
    """C^M of a segment (3.2): bytes released a second."""
    gain, cost, fixed = bytes_released(steps), path_cost(steps), fixed_cost(unit, view)
    return None if gain is None or cost is None or fixed is None else Worth(gain, cost, fixed)
