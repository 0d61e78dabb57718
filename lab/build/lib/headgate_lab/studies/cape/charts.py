"""Figures of the CAPE study."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.plan.quality import MeasureName
from headgate_lab.studies.cape.quantities import MEASURES, SERIES, adaptive, single
from headgate_lab.studies.cape.runs import PERIOD_S
from headgate_lab.studies.cape.workload import GOALS, PLANS, SINGLES
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import Chart

_LABELS: dict[MeasureName, tuple[str, bool]] = {
    "latency": ("mean delay, s", True),
    "throughput": ("results a second", False),
    "memory": ("bytes in queues", True),
}


def charts(results: SweepResults) -> list[Chart]:
    """Each measure under every policy and goal; and over time, for one seed, under the goals of figures 6 and 10."""
    found = [_by_policy(results, plan, name) for plan in PLANS for name in MEASURES]
    found += [_over_time(results, plan, "memory", "memory") for plan in PLANS]
    found += [_over_time(results, plan, "latency", "delay") for plan in PLANS]
    return found


def _by_policy(results: SweepResults, plan: str, name: MeasureName) -> Chart:
    label, log = _LABELS[name]
    samples = {policy: list(single(results, name, plan, policy).values()) for policy in SINGLES}
    samples |= {goals: list(adaptive(results, name, plan, goals).values()) for goals in GOALS}
    lines = {policy: [(float(at), values)] for at, (policy, values) in enumerate(samples.items())}
    title = f"{label}, plan '{plan}': single policies, and adaptive by its goals"
    return Chart(f"{plan}-{name}", title, "", label, lines, log_y=log)


def _over_time(results: SweepResults, plan: str, name: MeasureName, goals: str) -> Chart:
    label, log = _LABELS[name]
    lines = {policy: _course(results, SERIES[name], plan=plan, policy=policy) for policy in SINGLES}
    chosen = {"policy": "adaptive", "goals": goals, "selection": "roulette", "period": PERIOD_S}
    lines["adaptive"] = _course(results, SERIES[name], plan=plan, **chosen)
    title = f"{label}, plan '{plan}', adaptive for {goals} only, first seed"
    return Chart(f"{plan}-{name}-over-time", title, "time, s", label, lines, log_y=log)


def _course(results: SweepResults, series: str, **wanted: object) -> Sequence[tuple[float, Sequence[float]]]:
    wanted["seed"] = 0
    row = next(row for row in results.rows if all(row.get(key) == value for key, value in wanted.items()))
    return [(at + 0.5, [value]) for at, value in enumerate(row[series]) if value is not None]
