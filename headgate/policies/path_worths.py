"""Worths of paths and segments: processing capacity and memory release (Jiang and Chakravarthy, sections 2 and 3)."""

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
    """The statistics of a view, in the form of `Stats`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def of(self, operator: str) -> OperatorStats:
        """See `Stats`."""
        return self._view.stats(operator)

    def stream_bytes(self, stream: str) -> float | None:
        """See `Stats`."""
        return self._view.stream_bytes(stream)


def steps_by_path(view: View, paths: Iterable[Path]) -> dict[str, tuple[Step, ...]]:
    """Path -> what its operators do to a tuple, according to the current statistics."""
    stats = ViewStats(view)
    return {path.id: path_steps(view.plan, stats, path) for path in paths}


def capacity_worth(unit: Unit, view: View, steps: Sequence[Step]) -> Worth | None:
    """C^P (2.2): tuples per second through to the end of the path."""
    cost, fixed = path_cost(steps), fixed_cost(unit, view)
    return None if cost is None or fixed is None else Worth(1.0, cost, fixed)


def release_worth(unit: Unit, view: View, steps: Sequence[Step]) -> Worth | None:
    """C^M of a segment (3.2): bytes released per second."""
    gain, cost, fixed = bytes_released(steps), path_cost(steps), fixed_cost(unit, view)
    return None if gain is None or cost is None or fixed is None else Worth(gain, cost, fixed)
