"""headgate bench burst: an application that keeps its promise at the normal rate meets a burst beyond its capacity.

A windowed query must answer within a second. For a minute twice as many tuples come, more than it can process.
Without a tolerance its latency grows and recovers, and nothing is lost. With a tolerance of 0.3 part of the input is
shed until the promise is kept again. Both runs get the same tuples, so the results of the first are the truth that the
estimates of the second are compared with, window by window and group by group.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import headgate as hg
from headgate.application.checked import CheckedApplication, RunLimits
from headgate.metrics.recording_monitor import Floats, RecordingMonitor
from headgate.qos.monitoring import Monitoring
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate.scheduling.call_work import Spent
from headgate_lab.bench.parts import part

log = logging.getLogger("headgate_lab.bench")

LATENCY_S, TOLERANCE = 1.0, 0.3
NORMAL, BURST = 0.65, 1.3  # of the rate that the query can carry with a tolerance; without one it carries a bit more
GROUPS = 20
VALUES = ("n", "total")
HASHES = 24  # make a tuple so expensive that the sources are not the limit
QUERY, BESIDE = "revenue", "large"


@dataclass(frozen=True)
class BurstBenchSize:
    """Seconds before, during and after the burst, and of the search for the rate that the query can carry."""

    before_s: float
    burst_s: float
    after_s: float
    search_s: float


FULL = BurstBenchSize(before_s=30.0, burst_s=60.0, after_s=60.0, search_s=15.0)
QUICK = BurstBenchSize(before_s=12.0, burst_s=24.0, after_s=24.0, search_s=8.0)
SMALLEST = BurstBenchSize(before_s=2.0, burst_s=2.0, after_s=2.0, search_s=2.0)


@dataclass(frozen=True)
class Ran:
    """What a run left: its report, its results, and when each result came with which latency."""

    report: Mapping[str, Any]
    results: pd.DataFrame
    times: Floats
    latencies: Floats
    shed_late: int  # tuples that were shed in the second half of the time after the burst


def run(quick: bool = False, sizes: BurstBenchSize | None = None) -> dict[str, Any]:
    """Measure. Headline figures first; `without` and `with` have the two runs."""
    effort = sizes or (QUICK if quick else FULL)
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "4g"})
    capacity = part("capacity", lambda: carried(spark, effort.search_s))
    strict = part("without tolerance", partial(_summed, spark, capacity, effort, None))
    tolerant = part("with tolerance", partial(_summed, spark, capacity, effort, TOLERANCE))
    errors = compared(tolerant.results, strict.results)
    begins, ends = effort.before_s, effort.before_s + effort.burst_s
    seconds = ends + effort.after_s
    return {
        "latency_met_after_periods": periods_until_met(tolerant, begins, ends),
        "relative_error_max": float(errors["error"].max()) if len(errors) else None,
        "bound_coverage": float(errors["covered"].mean()) if len(errors) else None,
        "shed_after_burst": tolerant.shed_late,
        "share_shed": _share_shed(tolerant),
        "relative_error_mean": float(errors["error"].mean()) if len(errors) else None,
        "windows_compared": len(errors),
        "capacity": capacity,
        "without": _shown(strict, begins, ends, seconds),
        "with": _shown(tolerant, begins, ends, seconds) | {"decisions": tolerant.report["decisions"]},
        "settings": {
            "latency_s": LATENCY_S,
            "tolerance": TOLERANCE,
            "normal": NORMAL,
            "burst": BURST,
            "burst_begins_s": begins,
            "burst_ends_s": ends,
            "seconds": seconds,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


def application(
    rate: float, changes: Sequence[Sequence[float]], tolerance: float | None, promised: bool = True
) -> CheckedApplication:
    """A query that must answer within a second, and a small one beside it that promises nothing."""
    app = hg.Application(policy={"name": "rr", "unit": "query"}, slots=2, seed=3, rehearse=True)
    values = {"k": f"uniform 0 {GROUPS - 1}", "v": "uniform 1 3"}
    source = {"kind": "feeder", "rate": rate, "values": values, "changes": [list(one) for one in changes]}
    app.stream("clicks", "k INT, v DOUBLE", source=source)
    cql = (
        f"RSTREAM(SELECT k, count(*) AS n, sum(v) AS total FROM clicks [RANGE 1 SECOND SLIDE 1 SECOND] "
        f"WHERE {expensive()} GROUP BY k)"
    )
    shedding: dict[str, Any] = {} if tolerance is None else {"tolerance": tolerance, "error_bounds": True}
    points = [[0, LATENCY_S], [30, LATENCY_S]]
    qos = {"latency": {"priority": "must", "points": points}} if promised else None
    app.query(QUERY, cql, qos=qos, sink={"kind": "memory", "format": "changes"}, **shedding)
    app.query(BESIDE, "SELECT k, v FROM clicks WHERE v > 2.999")
    return app.checked()


def expensive() -> str:
    """A condition that is always true and costs some microseconds."""
    text = "CAST(v AS STRING)"
    for _ in range(HASHES):
        text = f"sha2({text}, 256)"
    return f"length({text}) > 0"


def carried(spark: SparkSession, seconds: float) -> float:
    """Tuples per second that the query can process: what its calls do of many more.

    Only calls count that ended after a third of the time, and the time that they took. So neither the start matters
    nor what the last call had not finished.
    """
    rate = 5000.0
    while True:
        runtime = SparkRuntime(application(rate, (), TOLERANCE, promised=False), spark)
        runtime.start()
        runtime.wait(RunLimits(seconds=seconds / 3))
        before = _spent(runtime)
        runtime.wait(RunLimits(seconds=seconds))
        after, left = _spent(runtime), runtime.unfinished()[QUERY]
        report = runtime.stop()
        if left > report["queries"][QUERY]["inputs"] * 0.2 and after.tuples > before.tuples:
            return (after.tuples - before.tuples) / (after.seconds - before.seconds)
        rate *= 2.0
        log.warning("the query carries %.0f tuples/s and more", rate / 2.0)


def _spent(runtime: SparkRuntime) -> Spent:
    return runtime.core.work.spent(QUERY, runtime.now())


def _summed(spark: SparkSession, capacity: float, effort: BurstBenchSize, tolerance: float | None) -> Ran:
    begins, ends = effort.before_s, effort.before_s + effort.burst_s
    app = application(NORMAL * capacity, [(begins, BURST / NORMAL), (ends, 1.0)], tolerance)
    monitor = RecordingMonitor(app.plan, 0.0)
    runtime = SparkRuntime(app, spark, monitor=monitor)
    runtime.start()
    runtime.wait(RunLimits(seconds=ends + effort.after_s / 2))
    shed = _tuples_shed(runtime)
    runtime.wait(RunLimits(seconds=ends + effort.after_s))
    sink = runtime.sinks[QUERY]
    report = runtime.stop()
    if report["errors"]:
        raise RuntimeError(str(report["errors"]))
    times, latencies = monitor.of_query(QUERY)
    table = pa.concat_tables(sink.tables())  # type: ignore[attr-defined]  # a sink in memory
    late = report["queries"][QUERY]["shed"] - shed
    return Ran(report, table.to_pandas(), times, latencies, late)


def compared(estimated: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """For every window, group and value that was estimated: its relative error, and whether its bound covers it."""
    keys = ["time", "k"]
    both = estimated.set_index(keys).join(truth.set_index(keys), rsuffix="_true", how="inner")
    parts = []
    for value in VALUES:
        error = (both[value] - both[f"{value}_true"]).abs() / both[f"{value}_true"]
        bound = both[f"{value}_error"]
        parts.append(pd.DataFrame({"value": value, "error": error, "covered": error <= bound})[bound > 0])
    return pd.concat(parts)


def by_period(ran: Ran, seconds: float) -> list[float | None]:
    """The mean latency of the results in each monitoring period."""
    period = Monitoring().shortest_s
    periods = np.arange(0.0, seconds, period)
    found: list[float | None] = []
    for begins in periods:
        mine = ran.latencies[(ran.times >= begins) & (ran.times < begins + period)]
        found.append(float(mine.mean()) if len(mine) else None)
    return found


def periods_until_met(ran: Ran, begins: float, ends: float) -> int | None:
    """Periods from the first in the burst in which the promise is broken to the one from which it is kept on.

    None: it is not kept again before the burst ends; 0: it was never broken.
    """
    period = Monitoring().shortest_s
    means = by_period(ran, ends)[int(begins // period) :]
    broken = [at for at, mean in enumerate(means) if mean is None or mean > LATENCY_S]
    if not broken:
        return 0
    return broken[-1] + 1 - broken[0] if broken[-1] + 1 < len(means) else None


def _tuples_shed(runtime: SparkRuntime) -> int:
    return int(runtime.report()["queries"][QUERY]["shed"])


def _share_shed(ran: Ran) -> float:
    query = ran.report["queries"][QUERY]
    return float(query["shed"] / query["inputs"]) if query["inputs"] else 0.0


def _shown(ran: Ran, begins: float, ends: float, seconds: float) -> dict[str, Any]:
    means = by_period(ran, seconds)
    period = Monitoring().shortest_s
    return {
        "mean_latency_before_s": _mean(ran, 0.0, begins),
        "mean_latency_in_burst_s": _mean(ran, begins, ends),
        "worst_period_s": max((mean for mean in means if mean is not None), default=None),
        "mean_latency_at_end_s": _mean(ran, seconds - 3 * period, seconds),
        "inputs": ran.report["queries"][QUERY]["inputs"],
        "shed": ran.report["queries"][QUERY]["shed"],
        "latency_by_period_s": means,
    }


def _mean(ran: Ran, begins: float, ends: float) -> float | None:
    mine = ran.latencies[(ran.times >= begins) & (ran.times < ends)]
    return float(mine.mean()) if len(mine) else None
