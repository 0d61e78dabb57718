"""Refuses an application whose declared load leaves no room for the promises that it makes."""

from __future__ import annotations

from headgate.application.checked import CheckedApplication
from headgate.errors import ApplicationError
from headgate.metrics.stats import DeclaredStats
from headgate.qos.load import estimate_load, refusal
from headgate.qos.shedding import declared_rates


def refuse_overload(app: CheckedApplication) -> None:
    """Raise ApplicationError if declared costs and rates are too much for a must-promise. What is not known is free."""
    plan = app.plan
    load = estimate_load(plan, DeclaredStats(plan), declared_rates(plan), app.slots)
    why = refusal(load, plan, plan.queries)
    if why is not None:
        raise ApplicationError("queries", why, "give it more slots, leave some queries out, or start it by force")
