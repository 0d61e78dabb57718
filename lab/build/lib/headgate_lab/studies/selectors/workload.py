"""The application of a point: a drawn plan with bursty input, promises, and a way to choose policies."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.sections import checked, feeder_stream
from headgate_lab.studies.selectors.bursts import feeder_settings
from headgate_lab.studies.selectors.plans import RATE, DrawnPlan, Promise, drawn
from headgate_lab.studies.sweep import Point

CANDIDATES = ("rr", "fifo", "hr", "hnr", "chain", "pcs", "segment", "simplified-segment")
SELECTIONS = ("table", "roulette", "learned")
START = "rr"  # with a selection, of every query
CHECK_S = 3.0
LOOKS = 4
LAX = 3.0  # what is allowed at first, where a promise becomes strict
LEAST_OUTPUT = 0.5  # of the mean, for a promised throughput
CALIBRATION_SEED, CALIBRATION_S = 1_000, 60.0  # of the runs that promises follow from; no other run has this seed
ANYTHING = {"latency": 1e9, "memory": 1e15, "throughput": 1e-9}  # promises that are always kept


def application(point: Point) -> CheckedApplication:
    """The application of a point."""
    plan, seconds = drawn(point["plan"]), run_seconds(point)
    return _application(plan, point["plan"], point["policy"], point["seed"], seconds, promised(point["plan"]))


def run_seconds(point: Point) -> float:
    """How long a run takes: so many tuples come on each stream, on average; but a few looks at least."""
    return max(LOOKS * CHECK_S, float(point["tuples"]) / RATE)


@cache
def promised(name: str) -> dict[tuple[str, str], float]:
    """What the queries of a plan are promised, by query and measure.

    A latency or a memory is the median of what the fixed policies give on average, so that about half of them keep it;
    a throughput is half of the mean.
    """
    plan = drawn(name)
    values = {(query, one.measure): ANYTHING[one.measure] for query, found in plan.promises.items() for one in found}
    given: dict[tuple[str, str], list[float]] = {key: [] for key in values}
    for policy in CANDIDATES:
        app = _application(plan, name, policy, CALIBRATION_SEED, CALIBRATION_S, values)
        report = simulate(app, RunLimits(seconds=CALIBRATION_S)).report
        for query, measure in values:
            given[query, measure].append(report["qos"][query]["mean"][measure])
    return {
        (query, measure): median(found) * (LEAST_OUTPUT if measure == "throughput" else 1.0)
        for (query, measure), found in given.items()
    }


def _application(
    plan: DrawnPlan, name: str, policy: str, seed: int, seconds: float, values: dict[tuple[str, str], float]
) -> CheckedApplication:
    streams = {
        stream: feeder_stream(
            f"v_{stream} INT",
            bytes=plan.stream_bytes[stream],
            **feeder_settings(plan.arrivals, rate, seconds, f"{name} {seed}"),
        )
        for stream, rate in plan.rates.items()
    }
    queries = {
        query: {
            "operators": list(operators),
            "qos": {one.measure: _graph(one, values[query, one.measure], seconds) for one in plan.promises[query]},
        }
        for query, operators in plan.queries.items()
    }
    chosen = policy in SELECTIONS
    optimizer = {"selection": policy if chosen else "none", "candidates": list(CANDIDATES), "linger": False}
    optimizer |= {"shortest": CHECK_S, "longest": CHECK_S}
    sections = {"streams": streams, "queries": queries, "policy": START if chosen else policy}
    return checked({**sections, "optimizer": optimizer, "slots": 1, "seed": seed})


def _graph(promise: Promise, value: float, seconds: float) -> dict[str, Any]:
    points = [[0.0, value], [seconds, value]]
    if promise.lax_first:
        lax = value / LAX if promise.measure == "throughput" else value * LAX
        points = [[0.0, lax], [seconds / 2, lax], [seconds / 2 + 1e-3, value], [seconds, value]]
    return {"priority": promise.priority, "points": points}
