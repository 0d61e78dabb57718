"""headgate bench optimizer: what looking after promises costs, and what it saves.

Twenty queries with a promised latency and a promised memory, a third of them windowed. The promises are kept, so the
optimizer decides little: what is measured is its looking. A second pair of runs has it set the linger of the queries,
and not: the processor time per tuple shows what waiting for company saves where a promise has room for it.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import headgate as hg
from headgate.application.checked import CheckedApplication, RunLimits
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate_lab.bench.classes.measured import jvm_cpu_s
from headgate_lab.bench.parts import part

LATENCY_S = 0.5
SHORTEST_S = 1.0  # the optimizer looks at each query that often


@dataclass(frozen=True)
class OptimizerBenchSize:
    """How many queries there are, how many tuples a second each gets, and for how long."""

    queries: int
    rate: float
    seconds: float


FULL = OptimizerBenchSize(queries=20, rate=500.0, seconds=40.0)
QUICK = OptimizerBenchSize(queries=20, rate=500.0, seconds=15.0)
SMALLEST = OptimizerBenchSize(queries=3, rate=100.0, seconds=4.0)


def run(quick: bool = False, sizes: OptimizerBenchSize | None = None) -> dict[str, Any]:
    """Measure. `cpu_share` is the optimizer's share of all processor time of the run, `forecast_cpu_share` that of the
    helper process, which forecasts once in so short a run."""
    effort = sizes or (QUICK if quick else FULL)
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "4g"})
    part("warm-up", lambda: _measured(spark, effort, linger=False))
    without = part("linger as it is", partial(_measured, spark, effort, linger=False))
    lingering = part("linger by promise", partial(_measured, spark, effort, linger=True))
    return {
        "cpu_share": max(without["cpu_share"], lingering["cpu_share"]),
        "forecast_cpu_share": max(without["forecast_cpu_share"], lingering["forecast_cpu_share"]),
        "microseconds_a_look": without["microseconds_a_look"],
        "cpu_per_tuple_over_default_linger": lingering["cpu_us_per_tuple"] / without["cpu_us_per_tuple"],
        "without_linger": without,
        "with_linger": lingering,
        "settings": {
            "queries": effort.queries,
            "rate": effort.rate,
            "seconds": effort.seconds,
            "latency_s": LATENCY_S,
            "looks_every_s": SHORTEST_S,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


def application(effort: OptimizerBenchSize, linger: bool) -> CheckedApplication:
    """Queries of which every third counts over windows of a second."""
    app = hg.Application(
        policy={"name": "rr", "unit": "query"},
        slots=2,
        rehearse=True,
        optimizer={"selection": "learned", "shortest": SHORTEST_S, "longest": SHORTEST_S, "linger": linger},
    )
    flat = [[0, LATENCY_S], [60, LATENCY_S]]
    qos = {"latency": {"priority": "must", "points": flat}}
    qos["memory"] = {"priority": "best-effort", "points": [[0, 1e9], [60, 1e9]]}
    for number in range(effort.queries):
        stream = f"s{number}"
        app.stream(stream, "k INT, v DOUBLE", source={"kind": "feeder", "rate": effort.rate})
        counted = "SELECT k % 5 AS g, count(*) AS n FROM {} [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k % 5"
        cql = counted if number % 3 == 2 else f"SELECT k, v FROM {{}} WHERE v > 0.{number % 3 + 1}"
        app.query(f"q{number}", cql.format(stream), qos=qos)
    return app.checked()


def _measured(spark: SparkSession, effort: OptimizerBenchSize, linger: bool) -> Mapping[str, Any]:
    runtime = SparkRuntime(application(effort, linger), spark)
    spent, looks = 0.0, 0
    look = runtime.optimizer.review

    def timed() -> Any:
        nonlocal spent, looks
        began = time.thread_time()
        found = look()
        spent, looks = spent + time.thread_time() - began, looks + 1
        return found

    runtime.optimizer.review = timed  # type: ignore[method-assign]
    runtime.start()
    cpu = -(jvm_cpu_s(spark) + time.process_time())
    helpers = -_helpers_cpu_s()
    runtime.wait(RunLimits(seconds=effort.seconds))
    cpu += jvm_cpu_s(spark) + time.process_time()
    report = runtime.stop()
    helpers += _helpers_cpu_s()
    cpu += helpers
    if report["errors"]:
        raise RuntimeError(f"queries stopped: {report['errors']}")
    tuples = sum(query["inputs"] for query in report["queries"].values())
    latencies = [query["latency"]["mean"] for query in report["queries"].values()]
    return {
        "cpu_share": spent / cpu if cpu else 0.0,
        "forecast_cpu_share": helpers / cpu if cpu else 0.0,
        "microseconds_a_look": spent / looks * 1e6 if looks else 0.0,
        "cpu_us_per_tuple": cpu / tuples * 1e6 if tuples else 0.0,
        "calls": sum(report["calls"].values()),
        "mean_latency_s": sum(one or 0.0 for one in latencies) / len(latencies),
        "kept": min((one["must_kept"] or 0.0 for one in report["qos"].values()), default=0.0),
    }


def _helpers_cpu_s() -> float:
    """The processor time of helper processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
