"""Figures of the MavStream study."""

from __future__ import annotations

from collections.abc import Sequence

from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import Chart
from headgate_lab.studies.mavstream.errors import KINDS
from headgate_lab.studies.mavstream.runs import EXPERIMENTS, PARTS, TOLERANCES
from headgate_lab.studies.mavstream.workload import STRATEGIES

_SERIES = {"latency": ("series_latency_s", "mean latency, s"), "memory": ("series_memory_bytes", "bytes in queues")}


def charts(results: SweepResults) -> list[Chart]:
    """Latency and memory over time in every experiment, for the first seed; and the errors of shedding."""
    found = [_over_time(results, name, what) for name in EXPERIMENTS for what in _SERIES]
    return [*found, _errors(results, "sum"), _errors(results, "avg")]


def _over_time(results: SweepResults, name: str, what: str) -> Chart:
    series, label = _SERIES[what]
    lines = {policy: _course(results, name, series, policy, 0.0) for policy in STRATEGIES}
    for tolerance in TOLERANCES if name.startswith("6.3") else (0.0,):
        title = f"optimized, tolerance {tolerance:g}" if tolerance else "optimized"
        lines[title] = _course(results, name, series, "optimized", tolerance)
    title = f"{label}, experiment {name}, first seed"
    return Chart(f"{name}-{what}", title, "share of the run", label, lines, log_y=True)


def _course(
    results: SweepResults, name: str, series: str, policy: str, tolerance: float
) -> Sequence[tuple[float, Sequence[float]]]:
    wanted = {"name": name, "policy": policy, "tolerance": tolerance, "seed": 0}
    row = next(row for row in results.rows if all(row.get(key) == value for key, value in wanted.items()))
    return [((at + 0.5) / PARTS, [value]) for at, value in enumerate(row[series]) if value]


def _errors(results: SweepResults, what: str) -> Chart:
    lines = {
        form: [
            (float(at), list(results.by_seed(f"{form}_{kind}_{what}", policy="errors").values()))
            for at, kind in enumerate(KINDS)
        ]
        for form in ("thesis", "scaled")
    }
    title = f"relative error of {what} in a window: {', '.join(KINDS)}"
    return Chart(f"6.4-{what}", title, "", "relative error", lines, log_y=True)
