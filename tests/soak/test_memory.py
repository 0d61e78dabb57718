"""Ten minutes at a load that Spark can hold: memory stays flat and no queue grows. `make soak` runs it.

Measured every ten seconds, after a warm-up fifth: the driver's heap in use right after a full collection, the resident
size of the Python process, and the tuples waiting in all queues. Flat means that a straight line fitted to the samples
rises over the rest of the run by no more than the tolerances below.
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

from headgate.cli.demo import APP
from headgate.plan.application import Application
from headgate.plan.load import load_application
from headgate.runtime.spark.engine import SparkRuntime

pytestmark = [pytest.mark.soak, pytest.mark.spark]

SECONDS = float(os.environ.get("HEADGATE_SOAK_SECONDS", "600"))
RATE = os.environ.get("HEADGATE_SOAK_RATE", "1000")
EVERY_S = 10.0
HEAP_MB = 15.0  # what the retained lists of Spark's status store may still add
PYTHON_MB = 15.0
WAITING_S = 1.0  # tuples in the queues never exceed this many seconds of input at the end


JOIN = Path(__file__).with_name("join.yaml")


def test_memory_is_flat(spark: Any, tmp_path: Path) -> None:
    app = load_application(APP, [f"streams.sensors.source.rate={RATE}"])
    _stays_flat(spark, app, tmp_path, WAITING_S * float(RATE) * len(app.plan.queries))


def test_memory_of_a_window_join_is_flat(spark: Any, tmp_path: Path) -> None:
    app = load_application(JOIN)
    rates = sum(stream.source["rate"] for stream in app.plan.streams.values())
    samples = _stays_flat(spark, app, tmp_path, 2 * WAITING_S * rates)
    assert samples[-1]["state_rows"] > 20 * rates, "the windows were not full"
    assert _rise(samples, "state_rows") < 0.1 * samples[-1]["state_rows"]


def _stays_flat(spark: Any, app: Application, tmp_path: Path, most_waiting: float) -> list[dict[str, float]]:
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
    return {
        "at": round(runtime.now(), 1),
        "heap_mb": (java.totalMemory() - java.freeMemory()) / 2**20,
        "python_mb": psutil.Process().memory_info().rss / 2**20,
        "waiting": sum(runtime.unfinished().values()),
        "state_rows": sum(size["rows"] for size in runtime.report()["state"].values()),
    }


def _rise(samples: list[dict[str, float]], key: str) -> float:
    """How much a straight line through the samples rises, the first fifth left out."""
    kept = samples[len(samples) // 5 :]
    at, values = np.array([s["at"] for s in kept]), np.array([s[key] for s in kept])
    return float(np.polyfit(at, values, 1)[0] * (at[-1] - at[0]))
