"""Ten minutes at a load that Spark can hold: memory stays flat and no queue grows. `make soak` runs it.

Every ten seconds the test measures the driver's heap right after a full collection, the resident size of the Python
process, and the tuples waiting in all queues. The first fifth of the run is the warm-up. Flat means that a straight
line fitted to the other samples rises by no more than the tolerances below.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from headgate.application.checked import CheckedApplication
from headgate.application.load import load_application
from headgate.cli.demo import APP
from headgate.runtime.spark.engine import SparkRuntime

pytestmark = [pytest.mark.soak, pytest.mark.spark]

SECONDS = float(os.environ.get("HEADGATE_SOAK_SECONDS", "600"))
RATE = os.environ.get("HEADGATE_SOAK_RATE", "1000")
CHANGES_RATE = float(os.environ.get("HEADGATE_SOAK_CHANGES_RATE", "3000"))  # of both streams of state.yaml
EVERY_S = min(10.0, SECONDS / 12)
HEAP_MB = 15.0  # the lists that Spark's status store retains may still grow by this much
PYTHON_MB = 15.0
WAITING_S = 1.0  # at the end, the queues hold at most this many seconds of input


JOIN = Path(__file__).with_name("join.yaml")
STATE = Path(__file__).with_name("state.yaml")
SLOWER = 1.5  # latency in the last third may be this many times that in the second


def test_memory_is_flat(spark: Any, tmp_path: Path) -> None:
    app = load_application(APP, [f"streams.sensors.source.rate={RATE}"])
    _stays_flat(spark, app, tmp_path, WAITING_S * float(RATE) * len(app.plan.queries))


def test_memory_of_a_window_join_is_flat(spark: Any, tmp_path: Path) -> None:
    app = load_application(JOIN)
    rates = sum(stream.source["rate"] for stream in app.plan.streams.values())
    samples = _stays_flat(spark, app, tmp_path, 2 * WAITING_S * rates)
    assert samples[-1]["state_rows"] > 20 * rates, "the windows were not full"
    assert _rise(samples, "state_rows") < 0.1 * samples[-1]["state_rows"]


def test_changing_state_is_flat(spark: Any, tmp_path: Path) -> None:
    """DISTINCT, max by group, a join of relations that change with every tuple, and sessions, at 3,000 tuples/s."""
    shares = {"clicks": 1 / 3, "visits": 2 / 3}  # three queries read clicks, one visits
    rates = [f"streams.{name}.source.rate={CHANGES_RATE * share}" for name, share in shares.items()]
    app = load_application(STATE, rates)
    read = sum(app.plan.streams[s].source["rate"] for q in app.plan.queries for s in _streams(app, q))
    samples = _stays_flat(spark, app, tmp_path, 2 * WAITING_S * read)
    assert _rise(samples, "state_rows") < 0.1 * samples[-1]["state_rows"]
    middle, end = (_latency(samples, *part) for part in ((1 / 3, 2 / 3), (2 / 3, 1)))
    print(json.dumps({"latency": {"second third": middle, "last third": end}}))
    assert end < SLOWER * middle


def _streams(app: CheckedApplication, query: str) -> set[str]:
    ports = {port.node for name in app.plan.queries[query].operators for port in app.plan.operators[name].inputs}
    return ports & set(app.plan.streams)


def _latency(samples: list[dict[str, float]], start: float, end: float) -> float:
    """Mean latency of the results in a part of the run."""
    first, last = samples[int(start * (len(samples) - 1))], samples[int(end * (len(samples) - 1))]
    return (last["latency_sum"] - first["latency_sum"]) / (last["outputs"] - first["outputs"])


def _stays_flat(spark: Any, app: CheckedApplication, tmp_path: Path, most_waiting: float) -> list[dict[str, float]]:
    runtime = SparkRuntime(app, spark)
    runtime.start()
    samples = []
    while runtime.now() < SECONDS:
        time.sleep(EVERY_S)
        samples.append(_sample(spark, runtime))
    report = runtime.stop()
    rises = {key: _rise(samples, key) for key in ("heap_mb", "python_mb", "waiting", "state_rows")}
    summary: dict[str, Any] = {
        "queries": list(app.plan.queries),
        "seconds": SECONDS,
        "rises": rises,
        "first": samples[len(samples) // 5],
        "last": samples[-1],
    }
    summary["calls"], summary["classes"] = report["calls"], report["classes"]
    (tmp_path / "soak.json").write_text(json.dumps({"summary": summary, "samples": samples}))
    print(json.dumps(summary, indent=1))
    assert report["errors"] == {}
    assert rises["heap_mb"] < HEAP_MB
    assert rises["python_mb"] < PYTHON_MB
    last = samples[-len(samples) // 5 :]
    assert np.median([s["waiting"] for s in last]) < most_waiting
    return samples


def _sample(spark: Any, runtime: SparkRuntime) -> dict[str, float]:
    jvm = spark._jvm.java.lang
    jvm.System.gc()
    java = jvm.Runtime.getRuntime()
    report = runtime.report()
    queries = report["queries"].values()
    return {
        "at": round(runtime.now(), 1),
        "heap_mb": (java.totalMemory() - java.freeMemory()) / 2**20,
        "python_mb": psutil.Process().memory_info().rss / 2**20,
        "waiting": sum(runtime.unfinished().values()),
        "state_rows": sum(size["rows"] for size in report["state"].values()),
        "outputs": sum(query["outputs"] for query in queries),
        "latency_sum": sum(query["outputs"] * (query["latency"].get("mean") or 0.0) for query in queries),
    }


def _rise(samples: list[dict[str, float]], key: str) -> float:
    """The rise of a straight line fitted to the samples, without the first fifth."""
    kept = samples[len(samples) // 5 :]
    at, values = np.array([s["at"] for s in kept]), np.array([s[key] for s in kept])
    return float(np.polyfit(at, values, 1)[0] * (at[-1] - at[0]))
