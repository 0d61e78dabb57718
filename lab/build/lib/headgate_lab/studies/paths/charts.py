"""Figures of the path and segment study."""

from __future__ import annotations

from collections.abc import Sequence

from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import Chart
from headgate_lab.studies.paths.quantities import of
from headgate_lab.studies.paths.runs import BASE, COMPARED, CONTEXT, HIGHEST, LOADS, MEMORIES_S, SERIES

_BY_LOAD = (
    ("latency", "latency_by_second_s", "mean latency in a second, s", True),
    ("output-variation", "output_cv", "variation of results a second", False),
    ("output-peak", "output_peak", "most results a second over the mean", False),
    ("memory-mean", "memory_mean_tuples", "tuples in queues, mean", True),
    ("memory-peak", "memory_peak_tuples", "tuples in queues, peak", True),
)
_OVER_TIME = (
    ("latency-over-time", "series_latency_s", "mean latency, s", True),
    ("output-over-time", "series_outputs", "results a second", False),
    ("memory-over-time", "series_memory_tuples", "tuples in queues", True),
)


def charts(results: SweepResults) -> list[Chart]:
    """Each measure against the load and, for one seed, over time; and threshold against its memory."""
    found = [_by_load(results, *row) for row in _BY_LOAD]
    found += [_over_time(results, *row) for row in _OVER_TIME]
    return [*found, _threshold(results)]


def _by_load(results: SweepResults, name: str, measure: str, label: str, log: bool) -> Chart:
    lines = {
        policy: [(load, list(of(results, measure, policy, load).values())) for load in LOADS] for policy in COMPARED
    }
    for policy in CONTEXT:
        lines[policy] = [(HIGHEST, list(of(results, measure, policy).values()))]
    return Chart(name, f"{label}, by load", "load", label, lines, log_y=log)


def _over_time(results: SweepResults, name: str, measure: str, label: str, log: bool) -> Chart:
    """A measure over time, as the report plots it; for the first seed only, since seeds differ in when they burst."""
    lines = {policy: _course(results, measure, policy) for policy in COMPARED}
    return Chart(name, f"{label}, load {HIGHEST:g}, first seed", "time, s", label, lines, log_y=log)


def _course(results: SweepResults, measure: str, policy: str) -> Sequence[tuple[float, Sequence[float]]]:
    wanted = {"policy": policy, "load": HIGHEST, "setting": BASE, "seed": 0}
    row = next(row for row in results.rows if all(row[key] == value for key, value in wanted.items()))
    step = row["seconds"] / SERIES
    return [((at + 0.5) * step, [value]) for at, value in enumerate(row[measure]) if value is not None]


def _threshold(results: SweepResults) -> Chart:
    line = [
        (memory, list(of(results, "latency_by_second_s", "threshold", memory_s=memory).values()))
        for memory in MEMORIES_S
    ]
    lines = {"threshold": line}
    for policy in COMPARED[:2]:
        samples = list(of(results, "latency_by_second_s", policy).values())
        lines[policy] = [(memory, samples) for memory in MEMORIES_S]
    label = "mean latency in a second, s"
    return Chart(
        "threshold", "threshold by its memory", "memory, seconds of input", label, lines, log_x=True, log_y=True
    )
