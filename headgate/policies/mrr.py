"""mrr, morr, mprr: round robin for several cores, by query or by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.policies.groupings import combined_queries, operators_by_query
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.parameters import one_of, whole
from headgate.policies.portions import Base, portion_size, portions
from headgate.policies.rr import RoundRobin
from headgate.scheduling.policy import Decision, View
from headgate.scheduling.units import Group, Unit


class QueryRoundRobin(RoundRobin):
    """Queries in turn, each whole and with all its input; one that runs in another slot is skipped. Ignores classes.

    `together` is how many queries of a class may form one unit, and so one job.
    """

    name = "mrr"
    unit = "query"
    preemption = "none"
    paper = f"{AL_MOAKAR}, chapter 6"

    def __init__(self, together: int = 1) -> None:
        super().__init__(quantum=None, unit="query")
        self.together = whole("together", together)

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return super().units(plan, stats) if self.together == 1 else combined_queries(plan, self.together)


class OperatorRoundRobin(RoundRobin):
    """Operators in turn, each with all its input. Several operators of a query may run at once."""

    name = "morr"
    preemption = "none"
    paper = f"{AL_MOAKAR}, chapter 6"

    def __init__(self) -> None:
        super().__init__(quantum=None, unit="operator")

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return operators_by_query(plan)


class PortionRoundRobin(QueryRoundRobin):
    """As mrr, but a query gets only a share of its input, by its class's priority, and at least one tuple.

    The share is the priority over the `sum` of all priorities, or over the `largest`, as `of` says; the source leaves
    that open. Shares are fixed at the start: changed priorities have no effect, as in the source.
    """

    name = "mprr"

    def __init__(self, of: Base = "sum") -> None:
        super().__init__()
        self.of: Base = one_of("of", of, ("sum", "largest"))

    def start(self, view: View) -> None:
        super().start(view)
        self.portions = portions(view.priorities, self.of)

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        return {"portion": float(self.portions[unit.class_name])}

    def choose(self, slot: int) -> Decision | None:
        decision = super().choose(slot)
        if decision is None:
            return None
        portion = self.portions[decision.unit.class_name]
        inputs = [queue.count for queue in decision.unit.queues]
        return decision._replace(tuples=max(1, sum(portion_size(portion, waiting) for waiting in inputs)))
