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

PERCENTILES = (50, 75, 95)


@dataclass(frozen=True)
class Measured:
    """One run of a workload; dicts by class."""

    latencies: Mapping[str, NDArray[np.float64]]  # in seconds, one for each result
    arrived: Mapping[str, int]  # tuples
    completed: Mapping[str, int]  # of them, those whose results were handed over before the end
    cpu_s: float  # of the JVM and of this process, while it ran
    seconds: float
    details: Mapping[str, Any]


def merged(runs: Sequence[Measured]) -> Measured:
    """Several runs of a workload as one: all their results. Details are those of each."""

    def total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
        return dict(sum((Counter(count) for count in counts), Counter()))

    return Measured(
        latencies={
            name: np.concatenate([np.zeros(0), *(run.latencies[name] for run in runs if name in run.latencies)])
            for name in PRIORITIES
        },
        arrived=total(run.arrived for run in runs),
        completed=total(run.completed for run in runs),
        cpu_s=sum(run.cpu_s for run in runs),
        seconds=sum(run.seconds for run in runs),
        details={"runs": [dict(run.details) for run in runs]},
    )


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
    found = measured.latencies.get(name, np.zeros(0))
    arrived, completed = measured.arrived.get(name, 0), measured.completed.get(name, 0)
    return {
        "mean": float(found.mean()) if found.size else None,
        **{f"p{percent}": float(np.percentile(found, percent)) if found.size else None for percent in PERCENTILES},
        "results": int(found.size),
        "arrived": int(arrived),
        "completed": _share(completed, arrived),
    }


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
