"""Forecasts what a query would get under other policies: short simulations of the same application.

The rates of all streams are scaled to what the query has to deal with now, backlog included. Forecasts are made when
they are first needed, at a few rates, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.plan.model import Plan, PolicySettings
from headgate.plan.quality import MeasureName
from headgate.qos.learned import Values
from headgate.qos.settings import OptimizerSettings
from headgate.qos.shedding import declared_rates

RATES = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)  # as multiples of the declared rates
TUPLES = 2_000  # of a simulation, on all streams together

Simulate = Callable[[CheckedApplication, RunLimits], Mapping[str, Any]]  # returns the report


class Forecasts:
    """What every candidate would give a query, by rate. An application whose rates are not declared has none."""

    def __init__(self, app: CheckedApplication, candidates: Sequence[str], simulate: Simulate) -> None:
        self._app = app
        self._candidates = tuple(candidates)
        self._simulate = simulate
        self._rates = declared_rates(app.plan)
        self._known: dict[tuple[str, float], dict[str, Values]] = {}

    def __call__(self, query: str, offered: float | None) -> Mapping[str, Values]:
        """Candidate -> what the query would get if so many tuples a second came; None: as declared."""
        rates = [self._rates[name] for name in self._app.plan.streams if query in self._app.plan.readers(name)]
        known = [rate for rate in rates if rate]
        if not known or len(known) < len(rates):
            return {}
        wanted = 1.0 if offered is None else offered / sum(known)
        nearest = min(RATES, key=lambda rate: max(rate, wanted) / max(1e-9, min(rate, wanted)))
        key = (query, nearest)
        if key not in self._known:
            self._known[key] = {name: self._forecast(query, name, nearest) for name in self._candidates}
        return self._known[key]

    def _forecast(self, query: str, candidate: str, factor: float) -> Values:
        plan = _scaled(self._app.plan, factor).with_policy(query, PolicySettings(candidate))
        app = replace(self._app, plan=plan, changes=(), optimizer=OptimizerSettings("none", linger=False))
        total = sum(rate or 0.0 for rate in self._rates.values()) * factor
        report = self._simulate(app, RunLimits(seconds=TUPLES / total))
        result = report["queries"][query]
        # The memory is that of all queries: candidates are compared, and what is observed corrects it.
        found: dict[MeasureName, float] = {"memory": report["memory"]["mean"]}
        found["throughput"] = result["outputs"] / report["seconds"]
        if result["latency"]["mean"] is not None:
            found["latency"] = result["latency"]["mean"]
        return found


def _scaled(plan: Plan, factor: float) -> Plan:
    """The plan with steady streams at so many times their declared rates."""
    steady = {
        name: replace(stream, source={**stream.source, "rate": stream.source["rate"] * factor, **_ENDLESS})
        for name, stream in plan.streams.items()
    }
    return replace(plan, streams=steady)


_ENDLESS: dict[str, Any] = {"changes": (), "pauses": (), "rows": None}
