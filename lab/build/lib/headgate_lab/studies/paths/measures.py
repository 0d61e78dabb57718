"""The measures of a run: latency and results second by second, queue memory, and what happens in bursts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.application.checked import CheckedApplication
from headgate.feeder.arrivals import make_arrivals

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEAST_BURST_S = 10  # a shorter backlog is only a ripple; the paper's bursts last minutes


def offered_work(app: CheckedApplication, work: Sequence[float], seconds: int) -> Floats:
    """Seconds of work that arrive in each second on all streams together. It is the same for every policy."""
    total: Floats = np.zeros(seconds)
    for stream, cost in zip(app.plan.streams.values(), work, strict=True):
        source = stream.source
        changes = source.get("changes", ())
        arrivals = make_arrivals(source["arrivals"], source["rate"], source["rows"], source["seed"], changes)
        times = arrivals.until(math.inf).astype(np.int64)
        total += cost * np.bincount(times[times < seconds], minlength=seconds)
    return total


def backlog(work: Floats) -> Floats:
    """Seconds of work left at the end of each second, for any policy that never idles: W = max(0, W + work - 1)."""
    level, levels = 0.0, np.empty(len(work))
    for at, amount in enumerate(work.tolist()):
        level = max(0.0, level + amount - 1.0)
        levels[at] = level
    return levels


def bursts(levels: Floats) -> tuple[Bools, Bools]:
    """Which seconds are in a burst, and which are just after one: a busy period of at least ten seconds is a burst
    until its backlog is largest, and aftermath from then on."""
    during, after = np.zeros(len(levels), dtype=bool), np.zeros(len(levels), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], levels > 0.0, [False]]).astype(np.int8)))
    for first, end in edges.reshape(-1, 2).tolist():
        if end - first >= LEAST_BURST_S:
            top = first + int(np.argmax(levels[first:end])) + 1
            during[first:top] = True
            after[top:end] = True
    return during, after


def pattern(outputs: Floats, latencies: Floats, during: Bools, after: Bools) -> dict[str, float]:
    """The shape of a run over time. A figure that cannot be computed, for lack of bursts for example, is nan."""
    mean = float(outputs.mean())
    quiet = ~(during | after)
    return {
        "latency_by_second_s": _mean(latencies),
        "latency_worst_second_s": float(np.nanmax(latencies, initial=0.0)),
        "latency_in_or_after_bursts_s": _mean(latencies[~quiet]),
        "latency_else_s": _mean(latencies[quiet]),
        "output_cv": _over(float(outputs.std()), mean),
        "output_cv_10s": _variation_in_tens(outputs),
        "output_peak": _over(float(outputs.max()), mean),
        "output_in_bursts": _over(_mean(outputs[during]), mean),
        "output_peak_after_bursts": _over(_most(outputs[after]), mean),
        "silent_in_bursts": _mean((outputs[during] == 0.0).astype(np.float64)),
        "output_least_in_bursts": _over(-_most(-outputs[during]), mean),
        "burst_seconds": float(during.sum()),
        "after_burst_seconds": float(after.sum()),
    }


def in_parts(values: Floats, stretches: int) -> list[float | None]:
    """A series over time, reduced to means over equal stretches; None for a stretch without values."""
    means = [_mean(stretch) for stretch in np.array_split(values, stretches)]
    return [None if math.isnan(mean) else mean for mean in means]


def _variation_in_tens(outputs: Floats) -> float:
    tens = outputs[: len(outputs) // 10 * 10].reshape(-1, 10).sum(axis=1)
    return _over(float(tens.std()), float(tens.mean())) if len(tens) else math.nan


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _most(values: Floats) -> float:
    return float(values.max()) if len(values) else math.nan


def _over(value: float, mean: float) -> float:
    return value / mean if mean > 0.0 else math.nan
