"""The Headgate side of `bench classes`: a workload under a policy, on the Spark of this process."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import psutil
from pyspark.sql import SparkSession

from headgate.application.checked import RunLimits
from headgate.metrics.recording_monitor import RecordingMonitor
from headgate.runtime.spark.engine import SparkRuntime
from headgate_lab.bench.classes.measured import Measured, Served, jvm_cpu_s, jvm_process
from headgate_lab.bench.classes.workload import PRIORITIES, Workload, application, due, tuples

log = logging.getLogger("headgate_lab.bench")
BEHIND_S = 0.3  # of input: by how much the backlog may differ between halfway and the end, since it fluctuates
MOST_BEHIND_S = 3.0


class RateTrial(NamedTuple):
    """The result of trying a rate: seconds of input that were not finished or not even read, halfway and at the end."""

    halfway_s: float
    end_s: float

    @property
    def sustained(self) -> bool:
        """Whether the backlog hardly grew in the second half."""
        return self.end_s - self.halfway_s < BEHIND_S and self.end_s < MOST_BEHIND_S


def try_rate(spark: SparkSession, workload: Workload, policy: Mapping[str, Any]) -> RateTrial:
    """Run at a rate and measure how the backlog grows."""
    runtime = SparkRuntime(application(workload, dict(policy)), spark)
    behind = []
    with running(runtime):
        for part in (0.5, 1.0):
            runtime.wait(RunLimits(seconds=workload.seconds * part))
            read = sum(found["inputs"] for found in runtime.report()["queries"].values())
            done = read - sum(runtime.unfinished().values())
            behind.append(runtime.now() - done / (workload.rate * workload.queries))
    return RateTrial(*behind)


@contextmanager
def running(runtime: SparkRuntime) -> Iterator[None]:
    """Start the runtime, and stop it however the block ends."""
    runtime.start()
    try:
        yield
    finally:
        runtime.stop()


def follow(spark: SparkSession, workload: Workload, policy: Mapping[str, Any]) -> dict[str, Any]:
    """Swap the priorities of the most and the least important class halfway, and measure how soon latencies follow.

    They have followed when two successive buckets of the latencies over time are in order.
    """
    runtime = SparkRuntime(application(workload, dict(policy)), spark)
    with running(runtime):
        runtime.wait(RunLimits(seconds=workload.seconds / 2))
        before, changed = runtime.report(), runtime.now()
        first, *_, last = PRIORITIES
        runtime.set_priority(first, PRIORITIES[last])
        runtime.set_priority(last, PRIORITIES[first])
        runtime.wait(RunLimits(seconds=workload.seconds))
        report = runtime.report()
    course = report["course"]
    after = [at for at, time in enumerate(course["times"]) if time >= changed]
    in_order = [at for at in after[:-1] if _in_order(course, at) and _in_order(course, at + 1)]
    took = course["times"][in_order[0]] + course["bucket"] - changed if in_order else None
    round_s = (report["seconds"] - changed) / max(1, report["rounds"] - before["rounds"])
    return {
        "seconds_to_follow": took,
        "rounds_to_follow": None if took is None else took / round_s,
        "round_s": round_s,
        "mean_before": {name: found["latency"]["mean"] for name, found in before["classes"].items()},
        "mean_in_the_last_quarter": {name: _late_mean(course, name) for name in PRIORITIES},
    }


def _in_order(course: Mapping[str, Any], at: int) -> bool:
    """Whether all classes had results in this bucket, in the right order."""
    means = [course["classes"][name][at] for name in PRIORITIES]
    return None not in means and course["inversion"][at] == 0.0


def _late_mean(course: Mapping[str, Any], name: str) -> float | None:
    means = [mean for mean in course["classes"][name][len(course["times"]) * 3 // 4 :] if mean is not None]
    return float(np.mean(means)) if means else None


def run_headgate(spark: SparkSession, workload: Workload, policy: Mapping[str, Any]) -> Measured:
    """Run a workload once. Tuples in calls still running at the end count as not completed, as on the other side."""
    app, came = application(workload, dict(policy)), tuples(workload)
    monitor = RecordingMonitor(app.plan, workload.warm_s)
    began = time.monotonic()
    runtime = SparkRuntime(app, spark, monitor=monitor)
    checked = time.monotonic()
    with running(runtime):
        rehearsed = time.monotonic()
        cpu = -(jvm_cpu_s(spark) + time.process_time())
        runtime.wait(RunLimits(seconds=workload.seconds))
        report, unfinished = runtime.report(), runtime.unfinished()
        cpu += jvm_cpu_s(spark) + time.process_time()
        memory = {"python": psutil.Process().memory_info().rss, "jvm": jvm_process(spark).memory_info().rss}
    if report["errors"]:
        raise RuntimeError(f"queries stopped: {report['errors']}")
    classes: dict[str, dict[str, Served]] = {name: {} for name in PRIORITIES}
    in_time = {
        name: monitor.by_query(name, until=report["seconds"]) for name in PRIORITIES
    }  # without results that came while it stopped
    for query in workload.members():
        done = max(0, report["queries"][query.name]["inputs"] - unfinished[query.name])
        latencies = in_time[query.class_name].get(query.name, np.zeros(0))
        classes[query.class_name][query.name] = Served(latencies, due(query, workload, came), done)
    return Measured(
        classes=classes,
        cpu_s=cpu,
        seconds=report["seconds"],
        warm_s=workload.warm_s,
        details={
            "calls": report["calls"],
            "trains": report["trains"],
            "fallbacks": report["fallbacks"],
            "updates": report["schedule"]["updates"],
            "checked_s": checked - began,  # Spark's analyzer
            "rehearsed_s": rehearsed - checked,
            "memory_mb": {name: size / 2**20 for name, size in memory.items()},
        },
    )
