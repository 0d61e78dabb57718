"""What a side of `bench classes` measured, and the figures made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.bench.classes.workload import PRIORITIES
from headgate.control.measures import by_priority, priority_inversion, weighted_mean

Floats = NDArray[np.float64]

PERCENTILES = (50, 75, 95)


@dataclass(frozen=True)
class Measured:
    """One run of a workload; dicts by class."""

    latencies: Mapping[str, Mapping[str, Floats]]  # of each query, in seconds, one for each result
    arrived: Mapping[str, int]  # tuples
    completed: Mapping[str, int]  # of them, those whose batch or call had ended before the end
    cpu_s: float  # of the JVM and of this process, while it ran
    seconds: float
    details: Mapping[str, Any]


def merged(runs: Sequence[Measured]) -> Measured:
    """Several runs of a workload as one: all their results. Details are those of each."""

    def total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
        return dict(sum((Counter(count) for count in counts), Counter()))

    return Measured(
        latencies={name: _joined([run.latencies.get(name, {}) for run in runs]) for name in PRIORITIES},
        arrived=total(run.arrived for run in runs),
        completed=total(run.completed for run in runs),
        cpu_s=sum(run.cpu_s for run in runs),
        seconds=sum(run.seconds for run in runs),
        details={"runs": [dict(run.details) for run in runs]},
    )


def _joined(runs: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    queries = dict.fromkeys(query for run in runs for query in run)
    return {query: np.concatenate([run[query] for run in runs if query in run]) for query in queries}


def summary(measured: Measured) -> dict[str, Any]:
    """Figures by class and over all; None where there were no results."""
    classes = {name: _class_figures(measured, name) for name in PRIORITIES}
    done, arrived = sum(measured.completed.values()), sum(measured.arrived.values())
    means = {name: figures["mean"] for name, figures in classes.items()}
    order = by_priority(PRIORITIES)
    return {
        "classes": classes,
        "inversion": {
            key: priority_inversion(order, {name: classes[name][key] for name in order}, PRIORITIES)
            for key in ("mean", "p75")
        },
        "weighted_mean": weighted_mean(means, PRIORITIES),
        "completed": _share(done, arrived),
        "cpu_us_per_tuple": measured.cpu_s / done * 1e6 if done else None,
        "details": dict(measured.details),
    }


def _class_figures(measured: Measured, name: str) -> dict[str, Any]:
    queries = {query: found for query, found in measured.latencies.get(name, {}).items() if found.size}
    arrived, completed = measured.arrived.get(name, 0), measured.completed.get(name, 0)
    return {
        **_latency_figures(list(queries.values())),
        "by_query": {query: float(found.mean()) for query, found in queries.items()},
        "results": sum(found.size for found in queries.values()),
        "arrived": int(arrived),
        "completed": _share(completed, arrived),
    }


def _latency_figures(queries: Sequence[Floats]) -> dict[str, float | None]:
    """Mean and percentiles in which each query weighs the same, however many results it has.

    The sides count results of windows and joins differently; by result, a side would seem slower or faster by how many
    it makes of its slow kinds of query.
    """
    keys = ["mean", *(f"p{percent}" for percent in PERCENTILES)]
    if not queries:
        return dict.fromkeys(keys)
    latencies = np.concatenate(queries)
    weights = np.concatenate([np.full(found.size, 1.0 / found.size / len(queries)) for found in queries])
    order = np.argsort(latencies)
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, [percent / 100 - 1e-9 for percent in PERCENTILES])
    return dict(zip(keys, [float(latencies @ weights), *latencies[order][places].tolist()], strict=True))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def jvm_cpu_s(spark: SparkSession) -> float:
    """CPU seconds that Spark's JVM has taken so far, with those of the processes that it started and that ended.

    Without Hadoop's native library, writing a file through it can mean to start a `chmod`.
    """
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    used = psutil.Process(gateway.proc.pid).cpu_times()
    return float(used.user + used.system + used.children_user + used.children_system)
