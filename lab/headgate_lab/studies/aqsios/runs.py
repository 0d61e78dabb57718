"""One run of the AQSIOS study, and what is measured in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.application.checked import RunLimits
from headgate.metrics.class_measures import by_priority, priority_inversion, starvation_ratio, weighted_mean
from headgate.metrics.recording_monitor import RecordingMonitor
from headgate.runtime.simulated import simulate
from headgate_lab.studies.aqsios.taken_back import TakingBackMonitor
from headgate_lab.studies.aqsios.workload import application, input_seconds
from headgate_lab.studies.sweep import Point

Floats = NDArray[np.float64]
LEVELS = ("mean", "p50", "p75", "p90", "p95")  # the figures by which classes are compared
PERCENTILES = (10, 25, 50, 75, 90, 95)
WARM_S = 0.2  # tuples that arrive before this do not count,
WARM_PART = 0.25  # nor, in very short runs, do those of the first quarter
BUCKET_S = 0.1  # the resolution of `series_k`


def run_point(point: Point) -> dict[str, Any]:
    """Simulate one point until its queues are empty, but for at most twice the time of its input, and measure it.

    The run goes on after the input, because the dissertation takes the responses of "the tuples outputted" and injects
    10,000 per stream: nothing says that it stops before they have come out. `ended_` measures are those of the results
    before the input ends, the other reading. For each class k: `mean_k`, `p10_k` .. `p95_k` (seconds), `series_k` (mean
    of the results in each 0.1 s, or None). For the whole run: `weighted_mean`, `weighted_p50` .., `inversion_mean`,
    `inversion_p50` .., `starvation`, `updates` and `updated_at` of the schedule, `seconds`, `left` (share of the input
    that was not processed).
    """
    app = application(point)
    lasts = input_seconds(point)
    kind = TakingBackMonitor if point.get("variant") == "taken back" else RecordingMonitor
    monitor = kind(app.plan, min(WARM_S, WARM_PART * lasts))
    result = simulate(app, RunLimits(seconds=2.0 * lasts, until_idle=True), monitor)
    found: dict[str, Any] = {
        "seconds": result.report["seconds"],
        "updates": result.report["schedule"]["updates"],
        "updated_at": result.report["schedule"]["updated_at"],
        "left": _left(result.operators),
    }
    kept = {name: monitor.of_class(name) for name in app.plan.classes}
    found |= {
        f"series_{name.removeprefix('class')}": _series(times, latencies, result.report["seconds"])
        for name, (times, latencies) in kept.items()
    }
    early = {name: latencies[times <= lasts] for name, (times, latencies) in kept.items()}
    for prefix, by_class in (("", {name: latencies for name, (_, latencies) in kept.items()}), ("ended_", early)):
        found |= {prefix + key: value for key, value in _measures(by_class, monitor.priorities).items()}
    return found


def _measures(by_class: Mapping[str, Floats], priorities: Mapping[str, int]) -> dict[str, float | None]:
    summaries = {name: _summary(latencies) for name, latencies in by_class.items()}
    found = {f"{key}_{name.removeprefix('class')}": v for name, of in summaries.items() for key, v in of.items()}
    order = by_priority(priorities)
    for level in LEVELS:
        values = {name: summary[level] for name, summary in summaries.items()}
        found[f"weighted_{level}"] = weighted_mean(values, priorities)
        found[f"inversion_{level}"] = priority_inversion(order, values, priorities)
    found["starvation"] = starvation_ratio(order, {name: summary["mean"] for name, summary in summaries.items()})
    return found


def _summary(latencies: Floats) -> dict[str, float | None]:
    if not len(latencies):
        return dict.fromkeys(("mean", *(f"p{p}" for p in PERCENTILES)))
    values = np.percentile(latencies, PERCENTILES)
    return {"mean": float(latencies.mean()), **{f"p{p}": float(v) for p, v in zip(PERCENTILES, values, strict=True)}}


def _series(times: Floats, latencies: Floats, seconds: float) -> list[float | None]:
    buckets = int(seconds / BUCKET_S) + 1
    number = np.minimum((times / BUCKET_S).astype(np.int64), buckets - 1)
    counts = np.bincount(number, minlength=buckets)
    sums = np.bincount(number, latencies, minlength=buckets)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _left(operators: dict[str, dict[str, int | float]]) -> float:
    entered = sum(counts["in"] for counts in operators.values())
    return sum(counts["queued"] for counts in operators.values()) / entered if entered else 0.0
