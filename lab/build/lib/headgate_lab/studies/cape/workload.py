"""The two query plans of the CAPE report, and their load, which changes every five seconds.

The report gives the operators only in a figure that cannot be read, and neither rates nor lengths. The values here are
ours; the shapes are the report's.
"""

from __future__ import annotations

import math
import random
from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.plan.quality import MeasureName
from headgate_lab.sections import checked, feeder_stream
from headgate_lab.studies.sweep import Point

STEP_S = 5.0  # between two changes of the mean rate
LOADS = (0.4, 0.8, 1.0, 1.5)  # offered work per second; one is drawn for each step
CHAIN_COSTS_MS, CHAIN_PASSED = (1.0, 0.5, 2.0, 1.0), (0.9, 0.2, 0.8, 0.5)  # plan 1: four operators in a row
WINDOW_S, MATCH = 0.2, 0.1  # plan 2: two streams, a join of tuples within 200 ms of each other
SELECT_MS, PROBE_MS, PASSED = 1.0, 2.0, 0.5
PLANS = ("chain", "join")
# The policies compared; mtiq takes up to 100 tuples a call.
SINGLES: dict[str, dict[str, Any]] = {
    "rr": {"name": "rr", "quantum": 0.001},
    "fifo": {"name": "fifo"},
    "chain": {"name": "chain"},
    "mtiq": {"name": "mtiq", "batch": 100},
}
GOALS: dict[str, dict[MeasureName, float]] = {
    "memory": {"memory": 1.0},
    "delay": {"latency": 1.0},
    "delay 0.7, rate 0.3": {"latency": 0.7, "throughput": 0.3},
    "delay 0.3, rate 0.7": {"latency": 0.3, "throughput": 0.7},
    "delay 0.5, rate 0.5": {"latency": 0.5, "throughput": 0.5},
    "all three": {"memory": 1 / 3, "latency": 1 / 3, "throughput": 1 / 3},
}


def application(point: Point) -> CheckedApplication:
    """The application of a point: a plan, a policy, a seed, and for how long."""
    sections = _chain(point) if point["plan"] == "chain" else _join(point)
    classes = {"all": {"priority": 1}}
    return checked({**sections, "classes": classes, "policy": policy(point), "slots": 1, "seed": point["seed"]})


def policy(point: Point) -> dict[str, Any]:
    """The policy of a point as a section: a single one, or adaptive with goals."""
    if point["policy"] in SINGLES:
        return SINGLES[point["policy"]]
    found: dict[str, Any] = {"name": "adaptive", "period": point["period"], "selection": point["selection"]}
    # The cost of the framework is measured with four candidates that are all fifo, so that the schedule is fifo's.
    found["candidates"] = [SINGLES["fifo"]] * 4 if point["policy"] == "four times fifo" else list(SINGLES.values())
    found["goals"] = [{"statistic": name, "weight": weight} for name, weight in GOALS[point["goals"]].items()]
    return found


def loads(seed: int, seconds: float) -> list[float]:
    """The load of each step; the same for every plan and policy of a seed."""
    drawn = random.Random(f"cape loads {seed}")
    return [drawn.choice(LOADS) for _ in range(math.ceil(seconds / STEP_S))]


def chain_rate(load: float) -> float:
    """The rate at which the chain of operators has a load."""
    work, passed = 0.0, 1.0
    for cost, share in zip(CHAIN_COSTS_MS, CHAIN_PASSED, strict=True):
        work += passed * cost / 1000
        passed *= share
    return load / work


def join_rate(load: float) -> float:
    """The rate of each stream at which the plan with the join has a load.

    A tuple meets those of the other stream in the window, which are the more the higher the rate: the work per second
    grows with the square of the rate.
    """
    single = 2 * (SELECT_MS + PASSED * PROBE_MS) / 1000  # seconds of work for a tuple on each stream
    pairs = 2 * PASSED * MATCH * PASSED * WINDOW_S * SELECT_MS / 1000  # at a rate of 1
    return (-single + math.sqrt(single**2 + 4 * pairs * load)) / (2 * pairs)


def _stream(point: Point, rates: list[float]) -> dict[str, Any]:
    changes = [[at * STEP_S, rate / rates[0]] for at, rate in enumerate(rates)]
    return feeder_stream("v INT", arrivals="poisson", rate=rates[0], changes=changes[1:])


def _chain(point: Point) -> dict[str, Any]:
    rates = [chain_rate(load) for load in loads(point["seed"], point["seconds"])]
    operators = []
    for at, (cost, passed) in enumerate(zip(CHAIN_COSTS_MS, CHAIN_PASSED, strict=True)):
        source = f"o{at - 1}" if at else "s"
        operators.append(_select(f"o{at}", source, cost, passed))
    return {"streams": {"s": _stream(point, rates)}, "queries": {"q": {"operators": operators}}}


def _join(point: Point) -> dict[str, Any]:
    rates = [join_rate(load) for load in loads(point["seed"], point["seconds"])]
    probe: dict[str, Any] = {"id": "pairs", "kind": "join", "inputs": ["left", "right"], "match": MATCH}
    probe |= {"window": f"RANGE {int(WINDOW_S * 1000)} MILLISECONDS", "cost": f"{PROBE_MS} ms", "fixed_cost": 0.0}
    operators = [_select("left", "s", SELECT_MS, PASSED), _select("right", "t", SELECT_MS, PASSED), probe]
    operators.append(_select("out", "pairs", SELECT_MS, 0.8))
    streams = {"s": _stream(point, rates), "t": _stream(point, rates)}
    streams["t"]["schema"] = "w INT"
    return {"streams": streams, "queries": {"q": {"operators": operators}}}


def _select(name: str, source: str, cost_ms: float, passed: float) -> dict[str, Any]:
    declared = {"fixed_cost": 0.0, "cost": f"{cost_ms} ms", "selectivity": passed}
    return {"id": name, "kind": "select", "input": source, "where": "true", **declared}
