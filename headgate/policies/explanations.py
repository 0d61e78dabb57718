"""What policies of paths and segments base their decisions on, as plain data for `headgate explain`.

The keys are stable. Numbers are in seconds, tuples and bytes; `null` means "not known".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.plan.paths import Path, find_paths
from headgate.policies.worth import finite, ratio
from headgate.scheduling.progress_chart import Point, lower_envelope, progress_chart
from headgate.scheduling.segments import Step, operator_release, path_steps


def explain_charts(plan: Plan, stats: Stats) -> list[dict[str, Any]]:
    """The progress chart of every path with its lower envelope; both are null if a cost is not known."""
    return [_chart(path, path_steps(plan, stats, path)) for path in find_paths(plan)]


def explain_cuts(plan: Plan, stats: Stats) -> list[dict[str, Any]]:
    """C^M of each operator on every path (2.1). A path is cut where it decreases.

    A release that is `known` but null belongs to an operator that costs nothing.
    """
    return [_releases(path, path_steps(plan, stats, path)) for path in find_paths(plan)]


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
    releases = [operator_release(step) for step in steps]
    return {
        "path": path.id,
        "query": path.query,
        "operators": [step.operator for step in steps],
        "releases": [finite(release) for release in releases],
        "known": [release is not None for release in releases],
    }
