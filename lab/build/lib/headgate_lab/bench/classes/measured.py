"""The measurements of a side of `bench classes`, and the figures computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import psutil
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.metrics.class_measures import by_priority, priority_inversion, weighted_mean
from headgate_lab.bench.classes.workload import PRIORITIES

Floats = NDArray[np.float64]

PERCENTILES = (50, 75, 95)
AGES = 200  # the number of ages by which unfinished input is represented


@dataclass(frozen=True)
class Served:
    """How a query was served in a run."""

    latencies: Floats  # in seconds, one per result of a tuple that counts
    arrived: int  # tuples
    completed: int  # the arrived tuples whose batch or call ended in time


@dataclass(frozen=True)
class Measured:
    """One run of a workload."""

    classes: Mapping[str, Mapping[str, Served]]  # class -> query -> how it was served
    cpu_s: float  # of the JVM and of this process, while it ran
    seconds: float
    warm_s: float  # tuples that arrive before this do not count
    details: Mapping[str, Any]


def summary(*runs: Measured) -> dict[str, Any]:
    """The figures of one run, or of several together, by class and overall; None where nothing was measured."""
    classes = {name: _class_figures(runs, name) for name in PRIORITIES}
    done = sum(query.completed for query in _queries(runs))
    in_time = sum(min(query.completed, query.arrived) for query in _queries(runs))
    means = {name: figures["mean"] for name, figures in classes.items()}
    order = by_priority(PRIORITIES)
    return {
        "classes": classes,
        "inversion": {
            key: priority_inversion(order, {name: classes[name][key] for name in order}, PRIORITIES)
            for key in ("mean", "p75")
        },
        "weighted_mean": weighted_mean(means, PRIORITIES),
        "completed": _share(in_time, sum(query.arrived for query in _queries(runs))),
        "cpu_us_per_tuple": sum(run.cpu_s for run in runs) / done * 1e6 if done else None,
        "details": dict(runs[0].details) if len(runs) == 1 else {"runs": [dict(run.details) for run in runs]},
    }


def _queries(runs: Sequence[Measured], name: str | None = None) -> list[Served]:
    """The served queries of a class, or of all classes."""
    chosen = PRIORITIES if name is None else (name,)
    return [query for run in runs for one in chosen for query in run.classes.get(one, {}).values()]


def _class_figures(runs: Sequence[Measured], name: str) -> dict[str, Any]:
    found: dict[str, list[Spread]] = {}
    for run in runs:
        for query, served in run.classes.get(name, {}).items():
            if (spread := _spread(served, run)) is not None:
                found.setdefault(query, []).append(spread)
    all_served = _queries(runs, name)
    arrived = sum(query.arrived for query in all_served)
    results = [query.latencies for query in all_served if query.latencies.size]
    return {
        **_latency_figures([spread for spreads in found.values() for spread in spreads]),
        "mean_of_results": float(np.mean([latencies.mean() for latencies in results])) if results else None,
        "by_query": {query: float(np.mean([spread.mean for spread in spreads])) for query, spreads in found.items()},
        "results": sum(latencies.size for latencies in results),
        "arrived": arrived,
        "completed": _share(sum(min(query.completed, query.arrived) for query in all_served), arrived),
    }


class Spread(NamedTuple):
    """The distribution of a query's latencies in a run."""

    values: Floats
    weights: Floats  # they sum to 1

    @property
    def mean(self) -> float:
        return float(self.values @ self.weights)


def _spread(served: Served, run: Measured) -> Spread | None:
    """The latencies of results, and the ages of input that was not completed, weighted by its share of the time.

    The age of a tuple at the end of the run is a lower bound of its latency. Without ages, a side that serves a few
    queries and leaves the others would seem fast. A query without results has only ages if it left most of its input;
    otherwise there is nothing to report, and the answer is None.
    """
    counted = run.seconds - run.warm_s
    done = min(1.0, served.completed / served.arrived) if served.arrived else 1.0  # more may arrive while a run ends
    left = min(counted, run.seconds * (1.0 - done))
    if not served.latencies.size and left <= counted / 2:
        return None
    undone = left / counted if served.latencies.size else 1.0
    ages = (np.arange(AGES) + 0.5) / AGES * left
    parts = [(served.latencies, 1.0 - undone), (ages, undone)]
    return Spread(
        np.concatenate([values for values, _ in parts]),
        np.concatenate([np.full(values.size, weight / max(1, values.size)) for values, weight in parts]),
    )


def _latency_figures(queries: Sequence[Spread]) -> dict[str, float | None]:
    """The mean and percentiles, with the same weight for each query, however many results it has.

    The sides count results of windows and joins differently. Weighted by result, a side would seem slower or faster
    depending on how many results its slow kinds of queries make.
    """
    keys = ["mean", *(f"p{percent}" for percent in PERCENTILES)]
    if not queries:
        return dict.fromkeys(keys)
    latencies = np.concatenate([spread.values for spread in queries])
    weights = np.concatenate([spread.weights for spread in queries]) / len(queries)
    order = np.argsort(latencies)
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, [percent / 100 - 1e-9 for percent in PERCENTILES])
    return dict(zip(keys, [float(latencies @ weights), *latencies[order][places].tolist()], strict=True))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def jvm_cpu_s(spark: SparkSession) -> float:
    """CPU seconds that Spark's JVM has used so far, including child processes that have ended.

    Without its native library, Hadoop may start a `chmod` to write a file.
    """
    used = jvm_process(spark).cpu_times()
    return float(used.user + used.system + used.children_user + used.children_system)


def jvm_process(spark: SparkSession) -> psutil.Process:
    """The process of Spark's JVM."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return psutil.Process(gateway.proc.pid)
