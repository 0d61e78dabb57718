"""Forecasts of several alternatives, and which one to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from headgate.plan.model import PolicySettings
from headgate.plan.quality import MeasureName
from headgate.twin.snapshot import Snapshot
from headgate.twin.twin import Twin, WhatIf

SECONDS = 20.0  # of the time that is forecast
BETTER = 0.05  # an alternative must be better by that share to be worth a change


@dataclass(frozen=True)
class Alternative:
    """A policy, and how long queries linger; None: as it is. `queries`: those it is for; none: the application."""

    policy: PolicySettings
    linger_s: float | None = None
    queries: tuple[str, ...] = ()

    def __str__(self) -> str:
        given = ",".join(f"{key}={value}" for key, value in self.policy.parameters.items())
        name = f"{self.policy.name}:{given}" if given else self.policy.name
        return name if self.linger_s is None else f"{name}, linger {self.linger_s * 1e3:g} ms"


@dataclass(frozen=True)
class ClassForecast:
    """What a class would get."""

    mean: float | None  # latency in seconds; None: no results
    p95: float | None
    memory: float = 0.0  # bytes that wait, on average
    score: float | None = None  # how well its promises would be kept, from 0 to 1; None: there are none


@dataclass(frozen=True)
class Forecast:
    """What an alternative would do over the next seconds."""

    alternative: Alternative
    classes: Mapping[str, ClassForecast]
    weighted_mean_latency: float | None  # by the priorities of the classes
    memory_mean: float  # bytes queued
    memory_max: float
    calls_a_second: float
    score: float | None  # how well promises would be kept, from 0 to 1; None: there are none
    queries: Mapping[str, Mapping[MeasureName, float]] = field(default_factory=dict)  # with promises -> what they get

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        data = asdict(self)
        alternative = data.pop("alternative")
        del data["queries"]
        policy = {"policy": alternative["policy"]["name"], "parameters": alternative["policy"]["parameters"]}
        return {**policy, "linger_s": alternative["linger_s"], **data}


def forecast(snapshot: Snapshot, alternative: Alternative, seconds: float = SECONDS, seed: int = 0) -> Forecast:
    """Run a twin under an alternative."""
    policy, own = alternative.policy, dict.fromkeys(alternative.queries, alternative.policy)
    twin = Twin(snapshot, WhatIf(None if own else policy, alternative.linger_s, own), seed)
    report = twin.run(seconds)
    scores = {name: one["score"] for name, one in report["qos"].items() if one["score"] is not None}
    members = {name: [scores[q] for q in scores if report["queries"][q]["class"] == name] for name in report["classes"]}
    return Forecast(
        alternative=alternative,
        classes={
            name: ClassForecast(one["latency"]["mean"], one["latency"]["p95"], one["memory"], _mean(members[name]))
            for name, one in report["classes"].items()
        },
        weighted_mean_latency=report["weighted_mean_latency"],
        memory_mean=report["memory"]["mean"],
        memory_max=report["memory"]["max"],
        calls_a_second=twin.calls / seconds,
        score=_mean(list(scores.values())),
        queries={name: one["mean"] for name, one in report["qos"].items()},
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def ranked(found: Sequence[Forecast]) -> list[Forecast]:
    """Best first: by how well promises are kept; of equals, and without promises, by latency, weighted by priority."""
    return sorted(found, key=_order)


def recommendation(found: Sequence[Forecast], current: Alternative) -> str:
    """One sentence for people."""
    winner = ranked(found)[0]
    now = next((one for one in found if one.alternative == current), None)
    if now is None or winner is now:
        return f"keep {current}: no alternative would do better" if now else f"change to {winner.alternative}"
    if not _is_worth_it(winner, now):
        return f"keep {current}: {winner.alternative} would do hardly better ({_compared(winner, now)})"
    return f"change from {current} to {winner.alternative}: {_compared(winner, now)}"


def _order(one: Forecast) -> tuple[float, float]:
    latency = one.weighted_mean_latency
    # Scores that differ by less than a hundredth are equal.
    return (-round(one.score or 0.0, 2), float("inf") if latency is None else latency)


def _is_worth_it(winner: Forecast, now: Forecast) -> bool:
    if (winner.score or 0.0) > (now.score or 0.0) * (1.0 + BETTER):
        return True
    if winner.weighted_mean_latency is None or now.weighted_mean_latency is None:
        return now.weighted_mean_latency is None
    return winner.weighted_mean_latency < now.weighted_mean_latency * (1.0 - BETTER)


def _compared(winner: Forecast, now: Forecast) -> str:
    parts = []
    if winner.score is not None and now.score is not None and abs(winner.score - now.score) >= 0.01:
        parts.append(f"promises would be kept to {winner.score:.0%} instead of {now.score:.0%}")
    for name, one in winner.classes.items():
        before = now.classes[name].mean
        if one.mean is not None and before is not None:
            parts.append(f"class {name} would wait {one.mean * 1e3:.3g} ms instead of {before * 1e3:.3g}")
    return ", ".join(parts) or "nothing would change"
