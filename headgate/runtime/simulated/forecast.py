"""Forecasts what queries would get under other policies: short simulations of the same application.

The rates of all streams are scaled to what a query has to deal with, backlog included, and all queries with promises
have the same policy. Forecasts are made when they are first needed, at a few rates, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.plan.model import Plan, PolicySettings
from headgate.qos.learned_table import Values
from headgate.qos.monitoring import Monitoring
from headgate.qos.settings import OptimizerSettings
from headgate.qos.shedding import declared_rates

RATES = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)  # as multiples of the declared rates
BUSY = 1.5  # the multiple that is assumed before anything was observed: calm times are no challenge to any policy
TUPLES = 1_500  # of a simulation, on all streams together,
LOOKS = 8  # and how often the promises are looked at meanwhile

Simulate = Callable[[CheckedApplication, RunLimits], Mapping[str, Any]]  # returns the report


class Forecasts:
    """What every candidate would give the queries, by rate. An application whose rates are not declared has none."""

    def __init__(self, app: CheckedApplication, candidates: Sequence[str], simulate: Simulate) -> None:
        self._app = app
        self._candidates = tuple(candidates)
        self._simulate = simulate
        self._rates = declared_rates(app.plan)
        self._known: dict[float, dict[str, dict[str, Values]]] = {}  # rate -> query -> candidate -> values

    def __call__(self, query: str, offered: float | None) -> Mapping[str, Values]:
        """Candidate -> what the query would get if so many tuples a second came; None: a busy time is assumed."""
        rates = [self._rates[name] for name in self._app.plan.streams if query in self._app.plan.readers(name)]
        known = [rate for rate in rates if rate]
        if not known or len(known) < len(rates):
            return {}
        wanted = BUSY if offered is None else offered / sum(known)
        nearest = min(RATES, key=lambda rate: max(rate, wanted) / max(1e-9, min(rate, wanted)))
        if nearest not in self._known:
            self._known[nearest] = self._at(nearest)
        return self._known[nearest][query]

    def _at(self, factor: float) -> dict[str, dict[str, Values]]:
        promised = [query.name for query in self._app.plan.queries.values() if query.qos]
        found: dict[str, dict[str, Values]] = {name: {} for name in promised}
        total = sum(rate or 0.0 for rate in self._rates.values()) * factor
        seconds = TUPLES / total
        for candidate in self._candidates:
            plan = _scaled(self._app.plan, factor)
            for name in promised:
                plan = plan.with_policy(name, PolicySettings(candidate))
            looks = Monitoring(shortest_s=seconds / LOOKS, longest_s=seconds / LOOKS)
            app = replace(self._app, plan=plan, changes=(), optimizer=OptimizerSettings("none", (), looks, False))
            report = self._simulate(app, RunLimits(seconds=seconds))
            for name in promised:
                found[name][candidate] = report["qos"][name]["mean"]
        return found


def _scaled(plan: Plan, factor: float) -> Plan:
    """The plan with steady streams at so many times their declared rates."""
    steady = {
        name: replace(stream, source={**stream.source, "rate": stream.source["rate"] * factor, **_ENDLESS})
        for name, stream in plan.streams.items()
    }
    return replace(plan, streams=steady)


_ENDLESS: dict[str, Any] = {"changes": [], "pauses": [], "rows": None}
