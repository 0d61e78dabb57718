"""headgate bench twin: are the forecasts of a running application right?

Five applications run on Spark, each at a rate that keeps the processors busy for most of the time. While an application
runs, its policy is changed again and again. Just before each change a snapshot is taken; from it the twin forecasts the
mean latency of every class over the seconds that follow, which is compared with what Spark then did. The forecasts are
made after the runs, so that they do not take processor time from what they are compared with.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyspark
from pyspark.sql import SparkSession

from headgate.application.checked import PolicySettings, RunLimits
from headgate.metrics.class_measures import weighted_mean
from headgate.metrics.latency import LatencyTotal
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate.twin.prediction import Alternative, forecast
from headgate_lab.bench.classes.measured import jvm_cpu_s
from headgate_lab.bench.parts import part
from headgate_lab.bench.twin_applications import APPLICATIONS, PRIORITIES, Make

POLICIES = (
    PolicySettings("rr", {"unit": "query"}),
    PolicySettings("mbd"),
    PolicySettings("hr"),
    PolicySettings("wrr"),
)
BUSY = 0.7  # of the processors
LOOKS = 4  # at most, to find the rate for that

Means = Mapping[str, float | None]  # by class


@dataclass(frozen=True)
class TwinBenchSize:
    """How long each policy runs at a time, how often, and how long it runs before that to get warm."""

    seconds: float
    rounds: int
    warm_s: float
    look_s: float
    settle_s: float  # after a change, before what is measured counts
    applications: Sequence[str] = tuple(APPLICATIONS)
    policies: Sequence[PolicySettings] = POLICIES


FULL = TwinBenchSize(seconds=15.0, rounds=2, warm_s=8.0, look_s=5.0, settle_s=3.0)
QUICK = TwinBenchSize(seconds=8.0, rounds=1, warm_s=5.0, look_s=4.0, settle_s=2.0)
SMALLEST = TwinBenchSize(1.0, 1, 0.5, 0.5, 0.2, ("filters",), POLICIES[:2])


class Turn(NamedTuple):
    """What one policy did for some seconds, and the snapshot from just before."""

    policy: PolicySettings
    snapshot: bytes
    results: Mapping[str, LatencyTotal]  # by class


def run(quick: bool = False, sizes: TwinBenchSize | None = None) -> dict[str, Any]:
    """Measure and compare. `pairs` has each application and policy."""
    effort = sizes or (QUICK if quick else FULL)
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "4g"})
    pairs: list[dict[str, Any]] = []
    chosen: dict[str, dict[str, Any]] = {}
    for name in effort.applications:
        load, turns = part(f"{name} on Spark", partial(_measured, spark, APPLICATIONS[name], effort))
        pairs += part(f"{name} forecast", partial(_compared, name, load, turns, effort))
        chosen[name] = part(f"{name} choice", partial(_choice, name, pairs, turns, effort))
    errors = [one["errors"][name] for one in pairs for name in PRIORITIES if one["errors"].get(name) is not None]
    return {
        "error_p50": float(np.quantile(errors, 0.5)) if errors else None,
        "error_p90": float(np.quantile(errors, 0.9)) if errors else None,
        "best_agrees": sum(one["forecast"] == one["measured"] for one in chosen.values()) / len(chosen),
        "compared": len(errors),
        "best": chosen,
        "pairs": pairs,
        "settings": {
            "seconds": effort.seconds,
            "rounds": effort.rounds,
            "busy": BUSY,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


def _measured(spark: SparkSession, make: Make, effort: TwinBenchSize) -> tuple[float, list[Turn]]:
    load = _load(spark, make, effort.look_s)
    runtime = SparkRuntime(make(load, "rr"), spark)
    runtime.start()
    for policy in effort.policies:  # each prepares its calls, and the JVM compiles its code
        runtime.set_policy(policy)
        runtime.wait(RunLimits(seconds=runtime.now() + effort.warm_s))
    turns = []
    for _ in range(effort.rounds):
        for policy in effort.policies:
            snapshot = runtime.snapshot()
            runtime.set_policy(policy)
            runtime.wait(RunLimits(seconds=runtime.now() + effort.settle_s))
            before = _results(runtime)
            runtime.wait(RunLimits(seconds=runtime.now() + effort.seconds))
            after = _results(runtime)
            turns.append(Turn(policy, snapshot, {name: after[name].since(before[name]) for name in before}))
    report = runtime.stop()
    if report["errors"]:
        raise RuntimeError(str(report["errors"]))
    return load, turns


def _load(spark: SparkSession, make: Make, seconds: float) -> float:
    """How much load keeps the processors busy for `BUSY` of the time."""
    load = 1.0
    for _ in range(LOOKS):
        runtime = SparkRuntime(make(load, "rr"), spark)
        runtime.start()
        runtime.wait(RunLimits(seconds=seconds / 2))
        cpu, began = _cpu_s(spark), runtime.now()
        runtime.wait(RunLimits(seconds=seconds))
        busy = (_cpu_s(spark) - cpu) / (runtime.now() - began) / runtime.core.board.slots
        runtime.stop()
        if abs(busy - BUSY) < 0.05:
            break
        load *= min(2.0, BUSY / max(busy, 0.05))
    return load


def _cpu_s(spark: SparkSession) -> float:
    return jvm_cpu_s(spark) + time.process_time()


def _results(runtime: SparkRuntime) -> dict[str, LatencyTotal]:
    members = {
        name: [q.name for q in runtime.core.plan.queries.values() if q.class_name == name] for name in PRIORITIES
    }
    return {name: runtime.results_so_far(queries) for name, queries in members.items()}


def _compared(name: str, load: float, turns: Sequence[Turn], effort: TwinBenchSize) -> list[dict[str, Any]]:
    """For each policy: the mean latencies measured and forecast, and how far the latter are off."""
    found = []
    for policy in effort.policies:
        mine = [turn for turn in turns if turn.policy == policy]
        measured = {one: _mean([turn.results[one].mean for turn in mine]) for one in PRIORITIES}
        made = [forecast(pickle.loads(turn.snapshot), Alternative(policy), effort.seconds) for turn in mine]
        expected = {one: _mean([each.classes[one].mean for each in made]) for one in PRIORITIES}
        found.append(
            {
                "application": name,
                "policy": policy.name,
                "load": load,
                "measured": measured,
                "forecast": expected,
                "errors": {one: _error(expected[one], measured[one]) for one in PRIORITIES},
                "measured_weighted": weighted_mean(measured, PRIORITIES),
                "forecast_weighted": weighted_mean(expected, PRIORITIES),
            }
        )
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _error(forecast_s: float | None, measured_s: float | None) -> float | None:
    return None if forecast_s is None or not measured_s else abs(forecast_s - measured_s) / measured_s


def _choice(
    name: str, pairs: Sequence[Mapping[str, Any]], turns: Sequence[Turn], effort: TwinBenchSize
) -> dict[str, Any]:
    """The policy with the lowest weighted latency, measured and forecast; and how much worse the latter was.

    As `advise` does, all policies are forecast from the same snapshot: the first of each round.
    """
    measured = {one["policy"]: one["measured_weighted"] for one in pairs if one["application"] == name}
    expected: dict[str, float] = {}
    for policy in effort.policies:
        found = []
        for turn in turns[:: len(effort.policies)]:
            one = forecast(pickle.loads(turn.snapshot), Alternative(policy), effort.seconds)
            found.append(weighted_mean({key: each.mean for key, each in one.classes.items()}, PRIORITIES))
        expected[policy.name] = _mean(found) or float("inf")
    best, chosen = (min(one, key=lambda policy: one[policy]) for one in (measured, expected))
    loss = measured[chosen] / measured[best] - 1.0
    return {"measured": best, "forecast": chosen, "loss": loss, "measured_s": measured, "forecast_s": expected}
