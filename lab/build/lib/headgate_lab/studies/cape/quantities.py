"""Quantities that the claims of the CAPE study compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from headgate.plan.quality import NATURAL, MeasureName
from headgate_lab.studies.cape.runs import PERIOD_S
from headgate_lab.studies.cape.workload import GOALS, SINGLES
from headgate_lab.studies.claims import BySeed, SweepResults, estimate

MEASURES: dict[MeasureName, str] = {"latency": "delay_s", "throughput": "rate", "memory": "memory_bytes"}
SERIES: dict[MeasureName, str] = {
    "latency": "series_delay_s",
    "throughput": "series_rate",
    "memory": "series_memory_bytes",
}


def single(results: SweepResults, name: MeasureName, plan: str, policy: str) -> dict[int, float]:
    """A measure under a single policy, by seed."""
    return results.by_seed(MEASURES[name], plan=plan, policy=policy)


def adaptive(
    results: SweepResults,
    name: MeasureName,
    plan: str,
    goals: str,
    selection: str = "roulette",
    period: float = PERIOD_S,
) -> dict[int, float]:
    """A measure under adaptive with these goals, by seed."""
    return results.by_seed(
        MEASURES[name], plan=plan, policy="adaptive", goals=goals, selection=selection, period=period
    )


def advantage(of: BySeed, over: BySeed, name: MeasureName) -> list[float]:
    """By how much the first is better than the second, as a share of the second, seed by seed."""
    sign = 1.0 if NATURAL[name] == "maximize" else -1.0
    return [sign * (of[seed] - over[seed]) / over[seed] for seed in sorted(set(of) & set(over)) if over[seed]]


def average_single(results: SweepResults, name: MeasureName, plan: str) -> dict[int, float]:
    """The mean over the four single policies, by seed."""
    found = [single(results, name, plan, policy) for policy in SINGLES]
    return {seed: fmean(one[seed] for one in found) for seed in found[0]}


def best_single(results: SweepResults, name: MeasureName, plan: str) -> str:
    """The single policy that is best on average over the seeds."""
    sign = 1.0 if NATURAL[name] == "maximize" else -1.0
    means = {policy: sign * fmean(single(results, name, plan, policy).values()) for policy in SINGLES}
    return max(means, key=lambda policy: means[policy])


def below_all(results: SweepResults, name: MeasureName, plan: str, goals: str) -> list[float]:
    """The share of the seconds in which adaptive is better than every single policy, seed by seed."""
    chosen = _rows(results, plan=plan, policy="adaptive", goals=goals, selection="roulette", period=PERIOD_S)
    singles = {policy: _rows(results, plan=plan, policy=policy) for policy in SINGLES}
    found = []
    for seed, row in chosen.items():
        mine = row[SERIES[name]]
        theirs = [one[seed][SERIES[name]] for one in singles.values()]
        found.append(fmean(_is_best(name, *values) for values in zip(mine, *theirs, strict=True)))
    return found


def best_in_time(results: SweepResults, name: MeasureName, plan: str) -> list[float]:
    """The share of the seconds in which the policy that is best most often is the best, seed by seed; 1: always."""
    singles = {policy: _rows(results, plan=plan, policy=policy) for policy in SINGLES}
    found = []
    for seed in next(iter(singles.values())):
        series = [one[seed][SERIES[name]] for one in singles.values()]
        wins = [
            [_is_best(name, values[at], *values[:at], *values[at + 1 :]) for values in zip(*series, strict=True)]
            for at in range(len(series))
        ]
        found.append(max(fmean(one) for one in wins))
    return found


def weighted(results: SweepResults, plan: str, goals: str, values: Mapping[MeasureName, BySeed]) -> dict[int, float]:
    """How good values are by these goals: the weighted advantage over the mean of the single policies, by seed."""
    found: dict[int, float] = {}
    for name, weight in GOALS[goals].items():
        base = average_single(results, name, plan)
        for seed, value in values[name].items():
            sign = 1.0 if NATURAL[name] == "maximize" else -1.0
            found[seed] = found.get(seed, 0.0) + weight * sign * (value - base[seed]) / base[seed]
    return found


def shown(samples: Sequence[float]) -> str:
    """The mean over seeds, as a percentage, for the text of a finding."""
    return f"{100 * estimate(samples).mean:.1f} %"


def by_policy(results: SweepResults, name: MeasureName, plan: str) -> str:
    """A measure under the single policies, as text."""
    factor, unit = {"latency": (1e3, "ms"), "throughput": (1.0, "/s"), "memory": (1e-3, "kB")}[name]
    texts = [f"{one} {factor * fmean(single(results, name, plan, one).values()):.4g}" for one in SINGLES]
    return f"{', '.join(texts)} {unit}"


def _rows(results: SweepResults, **parameters: Any) -> dict[int, Mapping[str, Any]]:
    return {row["seed"]: row for row in results.rows if all(row.get(key) == value for key, value in parameters.items())}


def _is_best(name: MeasureName, mine: float | None, *others: float | None) -> bool:
    """Is the first value strictly better than all others? Seconds without results are nobody's best."""
    known = [value for value in others if value is not None]
    if mine is None or not known:
        return False
    return mine > max(known) if NATURAL[name] == "maximize" else mine < min(known)
