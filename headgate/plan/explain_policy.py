"""What a policy makes of an application before it runs, as plain data: its units, their priorities, and why.

The keys are stable. Numbers are in seconds, tuples and bytes; `null` is "not known". Statistics are the declared ones;
a selectivity that is not declared counts as 1 and a fixed cost as 0, as in the simulator. Costs are not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headgate.control.stats import OperatorStats
from headgate.flow.board import Board
from headgate.flow.units import Unit
from headgate.plan.application import Application
from headgate.plan.explain import AssumedStats, finite
from headgate.plan.model import Plan
from headgate.plan.paths import Path, find_paths
from headgate.plan.progress_chart import Point, lower_envelope, progress_chart
from headgate.plan.segments import Step, operator_release, path_steps
from headgate.policies.base import Policy
from headgate.policies.mrr import PortionsInTurn
from headgate.policies.ranked import RankedPolicy
from headgate.policies.registry import make_policy
from headgate.policies.rr import RoundRobin
from headgate.policies.segment import Segments
from headgate.policies.threshold import FIRST_MEAN, Threshold, limits
from headgate.policies.worth import Worth, ratio


class StartingStats(AssumedStats):
    """As `AssumedStats`; a fixed cost that is not declared is 0."""

    def of(self, operator: str) -> OperatorStats:
        stats = super().of(operator)
        return replace(stats, fixed_s=stats.fixed_s or 0.0)


class EmptyQueue:
    """Before a run nothing waits anywhere."""

    count = 0
    oldest: float | None = None
    bytes = 0.0


def explain_policy(app: Application) -> dict[str, Any]:
    """The units of the application's policy with their priorities, and what those follow from.

    Called by `headgate explain --policy`. Raises PolicyError for wrong settings. `charts`, `cuts` and `thresholds` are
    there only for the policies that go by them.
    """
    plan, stats = app.plan, StartingStats(app.plan)
    policy = make_policy(app.policy.name, app.policy.parameters)
    board = Board(plan, {edge: EmptyQueue() for edge in plan.edges}, policy, stats, app.slots)
    told: dict[str, Any] = {
        "policy": policy.name,
        "unit": policy.unit,
        "ranked": isinstance(policy, RankedPolicy),
        "needs": list(policy.needs),
        "units": _units(board, policy),
    }
    if policy.name == "chain":
        told["charts"] = charts(plan, stats)
    if isinstance(policy, (Segments, Threshold)):
        told["cuts"] = [_releases(path, path_steps(plan, stats, path)) for path in find_paths(plan)]
    if isinstance(policy, Threshold):
        told["thresholds"] = _thresholds(policy)
    return told


def charts(plan: Plan, stats: AssumedStats | None = None) -> list[dict[str, Any]]:
    """The progress chart of every path and its lower envelope; both are null where a cost is not known."""
    stats = stats or AssumedStats(plan)
    return [_chart(path, path_steps(plan, stats, path)) for path in find_paths(plan)]


def _units(board: Board, policy: Policy) -> list[dict[str, Any]]:
    worths: Sequence[Worth | None] = [None] * len(board.units)
    if isinstance(policy, RankedPolicy):
        worths = policy.worths()
    paths = len(find_paths(board.plan))
    told = []
    for unit, worth in zip(board.units, worths, strict=True):
        one: dict[str, Any] = {"id": unit.id, "operators": list(unit.operators), "queries": list(unit.queries)}
        if isinstance(policy, RankedPolicy):
            one |= _priority(worth)
        if isinstance(policy, PortionsInTurn):
            one["portion"] = float(policy.portions[unit.class_name])
        elif isinstance(policy, RoundRobin):
            one["turn"] = policy.turn(unit)
        if isinstance(policy, Threshold):
            one["mode"] = _mode(unit, paths)
        told.append(one)
    return told


def _priority(worth: Worth | None) -> dict[str, Any]:
    """`priority` is the papers' formula, which holds where long queues wait; `alone` that of a single waiting tuple,
    which bears the whole fixed cost. A known unit without priority costs nothing and goes first."""
    if worth is None:
        return dict.fromkeys(("priority", "alone", "gain", "cost", "fixed_cost")) | {"known": False}
    return {
        "priority": finite(ratio(worth.gain, worth.cost_s)),
        "alone": finite(worth.per_second()),
        "gain": worth.gain,
        "cost": worth.cost_s,
        "fixed_cost": worth.fixed_s,
        "known": True,
    }


def _mode(unit: Unit, paths: int) -> str:
    """Threshold has the paths first, then the segments."""
    return "normal" if unit.index < paths else "saving"


def _chart(path: Path, steps: Sequence[Step]) -> dict[str, Any]:
    chart = progress_chart(steps)
    one: dict[str, Any] = {"path": path.id, "query": path.query, "stream": path.stream, "points": None, "pieces": None}
    if chart is not None:
        after = [None, *(step.operator for step in steps)]
        one["points"] = [
            {"after": name, "seconds": point.seconds, "bytes": point.size, "tuples": point.reach}
            for name, point in zip(after, chart, strict=True)
        ]
        one["pieces"] = [
            {
                "operators": [step.operator for step in steps[first:end]],
                "points": [first, end],
                "slope": finite(_slope(chart[first], chart[end])),
            }
            for first, end in lower_envelope(chart)
        ]
    return one


def _slope(first: Point, end: Point) -> float:
    return ratio(first.size - end.size, end.seconds - first.seconds)


def _releases(path: Path, steps: Sequence[Step]) -> dict[str, Any]:
    """C^M of each operator (2.1): a path is cut where it falls. One that is `known` but null costs nothing."""
    releases = [operator_release(step) for step in steps]
    return {
        "path": path.id,
        "query": path.query,
        "operators": [step.operator for step in steps],
        "releases": [finite(release) for release in releases],
        "known": [release is not None for release in releases],
    }


def _thresholds(policy: Threshold) -> dict[str, float]:
    """Bytes, as they are when a run begins; the mean moves them."""
    mean = FIRST_MEAN * policy.memory
    high, low = limits(policy.memory, mean, policy.beta)
    return {"memory": policy.memory, "mean": mean, "saving_begins": high, "saving_ends": low}
