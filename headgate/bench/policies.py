"""headgate bench policies: one bursty application under every policy on Spark, beside what the simulator predicts.

Six queries, a path each, of 3 or 4 selections over two self-similar streams. Costs (so many hashes of a tuple's key,
one of the other) are drawn log-uniformly and selectivities uniformly, once, by a seed: the same plan for everybody. A
first run measures what each operator costs on this machine. The streams then get the rate that keeps one slot busy for
LOAD of the time, not counting what calls cost beside their tuples, so that bursts pile up and must be worked off. Each
policy meets the very same tuples and runs until all of them are through; so nobody's latency leaves out what starved.

The simulator runs the same application, arrivals and policies on the measured costs.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from headgate.flow.types import arrow_schema
from headgate.plan.application import Application, PolicySettings, RunLimits, SimulatorSettings
from headgate.plan.graph import build_plan
from headgate.plan.model import Query, QueryClass, Stream
from headgate.plan.operators import Declared, Operator, Port, Select
from headgate.plan.paths import find_paths
from headgate.plan.schema import parse_schema
from headgate.policies.registry import POLICIES
from headgate.runtime.simulated import simulate
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.session import start_spark

log = logging.getLogger("headgate.bench")

SEED = 7
LENGTHS = (4, 4, 3, 3, 3, 3)  # operators of each path
MOST_HASHES = 60
LOAD = 0.7
SCHEMA = parse_schema("key INT", "bench")
ARRIVALS = {"kind": "self-similar", "flows": 16, "on_scale": 0.2, "off_scale": 0.2}
PROBES = (200, 4000, 1000, 8000)  # rows of a stream in the batches by which costs are measured


@dataclass(frozen=True)
class Costs:
    """What a run measured: the fixed cost of a call, and of each operator its cost a tuple and its selectivity."""

    call_s: float
    operators: Mapping[str, Declared]


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; rankings at the top level, figures of each policy below."""
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "4g"})
    seconds = 10.0 if quick else 60.0
    costs = _measured(spark, 12 if quick else 60)
    rates = _rates(costs)
    found = {}
    for number, name in enumerate(POLICIES, start=1):
        log.warning("policy %s (%d of %d)", name, number, len(POLICIES))
        app = _application(PolicySettings(name), rates, seconds, costs)
        found[name] = {
            "spark": _on_spark(spark, app),
            "simulated": _figures(simulate(app, RunLimits(until_idle=True)).report),
        }
    return {
        "agreement": {key: _agreement(found, key) for key in ("mean_latency", "mean_memory")},
        "policies": found,
        "costs": {"call_ms": costs.call_s * 1e3} | _told(costs),
        "settings": {
            "rates": rates,
            "seconds_of_input": seconds,
            "load": LOAD,
            "arrivals": ARRIVALS,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


# The application --------------------------------------------------------------------------------------------------


def _application(
    policy: PolicySettings, rates: Mapping[str, float], seconds: float, costs: Costs | None = None
) -> Application:
    streams = {name: Stream(name, SCHEMA, _source(rate, seconds), time=None) for name, rate in rates.items()}
    operators, queries = _paths(costs)
    plan = build_plan(streams, {}, {"only": QueryClass("only", 1)}, operators, queries)
    settings = SimulatorSettings(call_s=costs.call_s) if costs is not None else SimulatorSettings()
    return Application(plan, policy, slots=1, seed=SEED, simulator=settings)


def _source(rate: float, seconds: float) -> dict[str, Any]:
    values = {"key": "uniform 0 1000000000"}
    return {"kind": "feeder", "rate": rate, "rows": round(rate * seconds), "arrivals": ARRIVALS, "values": values}


def _paths(costs: Costs | None) -> tuple[list[Operator], list[Query]]:
    """The same plan each time; with `costs`, they are declared of its operators."""
    rng = np.random.default_rng(SEED)
    operators: list[Operator] = []
    queries = []
    for number, length in enumerate(LENGTHS):
        query, source = f"q{number + 1}", Port("a" if number < len(LENGTHS) // 2 else "b")
        for step in range(length):
            hashes = round(math.exp(rng.uniform(0.0, math.log(MOST_HASHES))))
            share = rng.uniform(0.05, 1.0)
            name = f"{query}/s{step + 1}"
            declared = costs.operators[name] if costs is not None else Declared()
            operators.append(
                Select(id=name, inputs=(source,), where=_condition(name, hashes, share), declared=declared)
            )
            source = Port(name)
        queries.append(Query(query, "only", source, (), sink={"kind": "none"}))
    return operators, queries


def _condition(salt: str, hashes: int, share: float) -> str:
    """True of so large a share of keys, at the cost of so many hashes."""
    key = f"concat(cast(key AS STRING), '{salt}')"
    text = f"aggregate(sequence(1, {hashes}), {key}, (found, n) -> sha2(found, 256))"
    return f"pmod(crc32({text}), 10000) < {round(share * 10000)}"


# Measuring --------------------------------------------------------------------------------------------------------


def _measured(spark: SparkSession, rounds: int) -> Costs:
    """Costs of operators that are run one by one, on batches of different sizes: only so can the cost a tuple be told
    from that of a call."""
    app = _application(PolicySettings("rr", {"unit": "operator", "quantum": None}), {"a": 1.0, "b": 1.0}, 1.0)
    runtime = SparkRuntime(app, spark)
    runtime.open()
    try:
        for number in range(rounds):
            for place, stream in enumerate(app.plan.streams):
                runtime.deliver(stream, _batch(PROBES[number % len(PROBES)], (number, place)))
            while runtime.step(0):
                pass
        stats = runtime.report()["stats"]
    finally:
        runtime.stop()
    operators = {
        name: Declared(cost_s=found["cost"], selectivity=found["selectivity"], tuple_bytes=found["bytes"])
        for name, found in stats["operators"].items()
    }
    return Costs(stats["call"], operators)


def _batch(rows: int, seed: tuple[int, int]) -> pa.Table:
    keys = np.random.default_rng(seed).integers(0, 1_000_000_000, rows, dtype=np.int32)
    stamps = pa.array(np.arange(rows, dtype=np.int64))
    schema = arrow_schema(SCHEMA)
    return pa.Table.from_arrays([pa.array(keys), *[stamps] * (len(schema) - 1)], schema=schema)


def _rates(costs: Costs) -> dict[str, float]:
    """Rates at which the tuples of both streams, each half of the work, make up the load."""
    app = _application(PolicySettings("fifo"), {"a": 1.0, "b": 1.0}, 1.0, costs)
    work = dict.fromkeys(app.plan.streams, 0.0)
    for path in find_paths(app.plan):
        reach = 1.0
        for step in path.operators:
            declared = costs.operators[step]
            work[path.stream] += reach * (declared.cost_s or 0.0)
            reach *= declared.selectivity or 0.0
    return {stream: LOAD / len(work) / seconds for stream, seconds in work.items()}


def _on_spark(spark: SparkSession, app: Application) -> dict[str, float]:
    return _figures(_run(spark, app))


def _run(spark: SparkSession, app: Application) -> dict[str, Any]:
    runtime = SparkRuntime(app, spark)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True))
    report = runtime.stop()
    if report["errors"]:
        raise RuntimeError(str(report["errors"]))
    return report


def _figures(report: Mapping[str, Any]) -> dict[str, float]:
    latency = report["classes"]["only"]["latency"]
    return {
        "mean_latency": latency["mean"],
        "p95_latency": latency["p95"],
        "mean_memory": report["memory"]["mean"],
        "peak_memory": report["memory"]["max"],
        "throughput": report["throughput"]["inputs"],
        "seconds": report["seconds"],
    }


def _told(costs: Costs) -> dict[str, Any]:
    return {
        "microseconds": {name: (found.cost_s or 0.0) * 1e6 for name, found in costs.operators.items()},
        "selectivities": {name: found.selectivity for name, found in costs.operators.items()},
    }


def _agreement(found: Mapping[str, Mapping[str, Mapping[str, float]]], key: str) -> dict[str, Any]:
    """The order of policies by a figure, least first, in both runtimes."""
    orders = {runtime: sorted(found, key=lambda name: found[name][runtime][key]) for runtime in ("spark", "simulated")}
    ours, theirs = orders["spark"], orders["simulated"]
    return {**orders, "best": ours[0] == theirs[0], "worst": ours[-1] == theirs[-1]}
