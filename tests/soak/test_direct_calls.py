"""A million direct calls: memory stays flat, and answers are right wherever they are looked at. `make soak` runs it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.runtime.spark.direct.server import replace
from headgate.runtime.spark.direct.trial import tried_server
from headgate.runtime.spark.internals.leaf import Leaf, serialized
from headgate.runtime.spark.launch.session import own_session

pytestmark = [pytest.mark.soak, pytest.mark.spark]

CALLS = int(os.environ.get("HEADGATE_SOAK_CALLS", "1000000"))
MEASURED = 10  # times
LOOKED_AT = 997  # every so many calls, the answer is compared
HEAP_MB = PYTHON_MB = 10.0  # by which the second half may be above the first
NATIVE_MB = 60.0  # of the JVM outside of its heap: code that is still being compiled, buffers of threads
SCHEMA = pa.schema([pa.field("k", pa.int32()), pa.field("v", pa.float64())])


def test_a_million_calls(spark: Any) -> None:
    session = own_session(spark)
    server = tried_server(session)
    rng = np.random.default_rng(5)
    batches = [
        pa.table({"k": pa.array(rng.integers(0, 9, 100), pa.int32()), "v": rng.random(100)}, schema=SCHEMA)
        for _ in range(50)
    ]
    payloads = [serialized(batch) for batch in batches]
    leaf, grouped = Leaf(session, SCHEMA), Leaf(session, SCHEMA)
    frames = [
        leaf.frame.where("v > 0.5").selectExpr("k", "v * 2 AS w"),
        grouped.frame.groupBy("k").agg({"v": "max"}).withColumnRenamed("max(v)", "w"),
    ]
    plans = [
        server.register(frame, [(one.array, None)], []) for frame, one in zip(frames, (leaf, grouped), strict=True)
    ]
    schemas = [to_arrow_schema(frame.schema, timezone="UTC") for frame in frames]
    samples = []
    for call in range(CALLS):
        which, number = call % 2, call // 2 % len(batches)
        rows, _ = server.call(plans[which], [replace(0, payloads[number])], schemas[which], interpreted=call % 4 < 2)
        if call % LOOKED_AT == 0:
            assert sorted(zip(*rows.to_pydict().values(), strict=True)) == _expected(batches[number], which)
        if (call + 1) % (CALLS // MEASURED) == 0:
            samples.append(_memory(session))
            print(call + 1, samples[-1])
    server.close()
    halves = samples[: MEASURED // 2], samples[MEASURED // 2 :]
    first, last = ({key: min(one[key] for one in half) for key in samples[0]} for half in halves)
    assert last["heap"] - first["heap"] < HEAP_MB
    assert last["python"] - first["python"] < PYTHON_MB
    assert last["native"] - first["native"] < NATIVE_MB


def _expected(batch: pa.Table, which: int) -> list[tuple[int, float]]:
    if which == 0:
        kept = batch.filter(pc.greater(batch["v"], 0.5))
        return sorted(zip(kept["k"].to_pylist(), [2 * v for v in kept["v"].to_pylist()], strict=True))
    largest = batch.group_by("k").aggregate([("v", "max")])
    return sorted(zip(largest["k"].to_pylist(), largest["v_max"].to_pylist(), strict=True))


def _memory(session: Any) -> dict[str, float]:
    """Megabytes after a collection: the heap, the JVM's other memory, and Python."""
    jvm = session.sparkContext._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    beans = jvm.java.lang.management.ManagementFactory
    resident = psutil.Process(session.sparkContext._gateway.proc.pid).memory_info().rss
    return {
        "heap": (runtime.totalMemory() - runtime.freeMemory()) / 2**20,
        "native": (resident - beans.getMemoryMXBean().getHeapMemoryUsage().getCommitted()) / 2**20,
        "python": psutil.Process().memory_info().rss / 2**20,
    }
