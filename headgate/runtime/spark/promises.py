"""What promises ask of a run: room for the queries that join, and what can be dropped of a query's input."""

from __future__ import annotations

from headgate.metrics.stats import DeclaredStats
from headgate.plan.added_queries import merge_plans
from headgate.plan.model import Plan, Query
from headgate.qos.load import JoinedStats, estimate_load, refusal
from headgate.qos.measured_room import MeasuredRoom
from headgate.qos.shedding import SheddingSteps, declared_rates, places_of
from headgate.scheduling.core import Core


def promised(core: Core) -> list[str]:
    """The queries that something is promised to."""
    return [query.name for query in core.plan.queries.values() if query.qos]


def refuse_without_room(core: Core, plan: Plan, slots: int) -> None:
    """Raise ValueError if the queries of `plan` would endanger a must-promise. Called under the lock of the runtime.

    What is not known of them is free.
    """
    merged = merge_plans(core.plan, plan)
    stats = JoinedStats(core.stats, DeclaredStats(plan), plan)
    rates = {**dict(declared_rates(merged)), **core.rates()}
    load = estimate_load(merged, stats, rates, slots, core.stats.call_fixed_s)
    why = refusal(load, merged, plan.queries)
    if why is not None:
        raise ValueError(f"{why}; leave some out, or add them by force")


def shedding_steps(core: Core, slots: int, query: Query) -> SheddingSteps | None:
    """What can be dropped of a query's input: where its streams enter, before anything is queued. None: nothing."""
    entrances = [edge for edge, shedder in core.shedders.items() if shedder.query == query.name]
    places = places_of(core.plan, query, core.stats, declared_rates(core.plan), entrances)
    room = MeasuredRoom(core.work, query.name, slots, lambda: core.board.now)
    return SheddingSteps(places, room=room) if places else None
