"""Describes what a policy makes of an application before a run, as plain data: units, their priorities, and why.

The keys are stable. Numbers are in seconds, tuples and bytes; `null` is "not known". Statistics are the declared ones;
a selectivity that is not declared counts as 1 and a fixed cost as 0, as in the simulator. Costs are not guessed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.application.explain import AssumedStats
from headgate.metrics.stats import OperatorStats
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board


class StartingStats(AssumedStats):
    """As `AssumedStats`; a fixed cost that is not declared is 0."""

    def of(self, operator: str) -> OperatorStats:
        stats = super().of(operator)
        return replace(stats, fixed_s=stats.fixed_s or 0.0)


class EmptyQueue:
    """A queue before the run: nothing waits in it."""

    count = 0
    oldest: float | None = None
    bytes = 0.0


def explain_policy(app: CheckedApplication) -> dict[str, Any]:
    """The units of the application's policy, and what the policy says of each and of itself.

    Called by `headgate explain --policy`. Raises PolicyError for wrong settings.
    """
    policy = make_policy(app.policy.name, app.policy.parameters)
    queues = {edge: EmptyQueue() for edge in app.plan.edges}
    board = Board(app.plan, queues, policy, StartingStats(app.plan), app.slots)
    units = [
        {"id": unit.id, "operators": list(unit.operators), "queries": list(unit.queries)} | policy.explain_unit(unit)
        for unit in board.units
    ]
    named = {"policy": policy.name, "unit": policy.unit, "needs": list(policy.needs), "units": units}
    return named | policy.explain()
