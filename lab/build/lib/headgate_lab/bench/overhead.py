"""headgate bench overhead: the cost of a unit call, compared with the same SQL written by hand and with Spark's floor.

Unit calls are made directly, as prepared jobs, and over partitions. All ways run the same query on the same batches,
alternating in one process, so that ratios are meaningful even if the machine's speed drifts.
"""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
from pyspark import InheritableThread
from pyspark.sql import SparkSession

import headgate as hg
from headgate.plan.arrow_types import arrow_schema
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import own_session, start_spark
from headgate.sql.schema import parse_schema
from headgate_lab.bench.parts import part

WHERE = "v > 0.3"
COLUMNS = {"k": "k", "w": "v * 2"}
SQL = "SELECT k, v * 2 AS w, _arrival, _sequence FROM {view} WHERE v > 0.3"
SCHEMA = "k INT, v DOUBLE"
QUERIES = 8  # for the slots comparison
ONE_PARTITION = {"direct": Ways(), "prepared": Ways(direct=False)}


@dataclass(frozen=True)
class OverheadBenchSize:
    """The size of the measurement."""

    rounds: int  # as many again warm up
    large_rounds: int
    large_warm: int
    slots_s: float
    sizes_rounds: int
    rows: int = 3_000
    large_rows: int = 300_000
    sizes: Sequence[int] = (1_000, 10_000, 100_000, 300_000, 1_000_000)


FULL = OverheadBenchSize(rounds=200, large_rounds=15, large_warm=10, slots_s=8.0, sizes_rounds=8)
QUICK = OverheadBenchSize(rounds=30, large_rounds=3, large_warm=2, slots_s=2.0, sizes_rounds=2)
SMALLEST = OverheadBenchSize(
    rounds=3, large_rounds=1, large_warm=1, slots_s=0.3, sizes_rounds=1, rows=50, large_rows=100, sizes=(10, 20)
)


def run(quick: bool = False, sizes: OverheadBenchSize | None = None) -> dict[str, Any]:
    """Measure. Headline ratios are at the top level, medians in milliseconds below."""
    spark = start_spark({"master": "local[2]"})
    chosen = sizes or (QUICK if quick else FULL)
    small = part("small_batches", lambda: _compare_small(spark, chosen))
    large = part("large_batches", lambda: _compare_large(spark, chosen))
    slots = part("calls_per_second_by_slots", lambda: _compare_slots(spark, chosen))
    by_rows = part("milliseconds_by_rows", lambda: _compare_sizes(spark, chosen))
    return {
        "direct_over_handwritten": small["direct"] / small["handwritten"],
        "direct_over_prepared": small["direct"] / small["prepared"],
        "direct_calls_per_second": slots["direct"],
        "direct_calls_over_prepared": {n: slots["direct"][n] / slots["prepared"][n] for n in slots["direct"]},
        "unit_over_handwritten": small["prepared"] / small["handwritten"],
        "unit_over_floor": small["prepared"] / small["floor"],
        "partitioned_over_handwritten": large["partitioned"] / large["handwritten"],
        "two_slots_over_one": slots["prepared"]["2"] / slots["prepared"]["1"],
        "crossover_rows": _crossover(by_rows),
        "milliseconds": {f"{chosen.rows} rows": small, f"{chosen.large_rows} rows": large, "by rows": by_rows},
        "calls_per_second_by_slots": slots,
        "settings": {
            "rounds": chosen.rounds,
            "query": SQL,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


def _compare_small(spark: SparkSession, sizes: OverheadBenchSize) -> dict[str, float]:
    """Whole unit calls, directly and as prepared jobs, beside SQL by hand and Spark's floor."""
    batches = [_batch(sizes.rows, seed) for seed in range(20)]
    by_hand = _handwritten(spark, partitions=1)
    floor = _floor(spark, batches[0])
    runtimes = {way: _runtime(spark, queries=1, ways=only) for way, only in ONE_PARTITION.items()}
    ways: dict[str, Callable[[pa.Table], object]] = {"handwritten": by_hand, "floor": lambda _: floor()}
    ways |= {way: partial(_unit_call, runtime) for way, runtime in runtimes.items()}
    try:
        found = _alternate(ways, batches, sizes.rounds, sizes.rounds)
        for way, runtime in runtimes.items():
            assert runtime.report()["calls"][way] >= sizes.rounds, f"the unit was not run the {way} way"
        return found
    finally:
        for runtime in runtimes.values():
            runtime.stop()


def _compare_large(spark: SparkSession, sizes: OverheadBenchSize) -> dict[str, float]:
    runtime = _runtime(spark, queries=1, ways=Ways(partitioned_rows=0))
    ways: dict[str, Callable[[pa.Table], object]] = {
        "handwritten": _handwritten(spark, partitions=None),
        "partitioned": lambda batch: _unit_call(runtime, batch),
    }
    try:
        batches = [_batch(sizes.large_rows, seed) for seed in range(3)]
        return _alternate(ways, batches, sizes.large_warm, sizes.large_rounds)
    finally:
        runtime.stop()


def _compare_sizes(spark: SparkSession, sizes: OverheadBenchSize) -> dict[str, dict[str, float]]:
    """All ways over batch sizes, to find out from which size on partitions pay."""
    unbounded = {way: replace(only, partitioned_rows=2**40) for way, only in ONE_PARTITION.items()}
    chosen = {**unbounded, "partitioned": Ways(partitioned_rows=0)}
    runtimes = {way: _runtime(spark, queries=1, ways=only) for way, only in chosen.items()}
    ways: dict[str, Callable[[pa.Table], object]] = {way: partial(_unit_call, one) for way, one in runtimes.items()}
    found = {}
    try:
        for rows in sizes.sizes:
            found[str(rows)] = _alternate(ways, [_batch(rows, seed) for seed in range(3)], 3, sizes.sizes_rounds)
    finally:
        for runtime in runtimes.values():
            runtime.stop()
    return found


def _crossover(sizes: dict[str, dict[str, float]]) -> int | None:
    """The first measured size from which on the partitioned way is quicker; None if there is none."""
    slower = [int(rows) for rows, ms in sizes.items() if min(ms["direct"], ms["prepared"]) <= ms["partitioned"]]
    quicker = [int(rows) for rows in sizes if int(rows) > max(slower, default=0)]
    return min(quicker, default=None)


def _compare_slots(spark: SparkSession, sizes: OverheadBenchSize) -> dict[str, dict[str, float]]:
    """Calls per second, directly and as jobs, with one slot and with two, while eight queries always wait: medians."""
    seconds = sizes.slots_s
    runtimes = {way: _runtime(spark, QUERIES, slots=2, ways=only) for way, only in ONE_PARTITION.items()}
    batches = [_batch(sizes.rows, seed) for seed in range(20)]
    found: dict[str, dict[str, list[float]]] = {way: {"1": [], "2": []} for way in runtimes}
    try:
        for runtime in runtimes.values():
            _calls_per_second(runtime, batches, 2, seconds)
        for _ in range(3):
            for way, runtime in runtimes.items():
                for slots in (1, 2):
                    found[way][str(slots)].append(_calls_per_second(runtime, batches, slots, seconds / 3))
    finally:
        for runtime in runtimes.values():
            runtime.stop()
    return {way: {n: statistics.median(values) for n, values in by_slots.items()} for way, by_slots in found.items()}


def _calls_per_second(runtime: SparkRuntime, batches: Sequence[pa.Table], slots: int, seconds: float) -> float:
    until = time.perf_counter() + seconds
    calls = [0] * slots
    turn = itertools.count()
    lock = threading.Lock()

    def work(slot: int) -> None:
        while time.perf_counter() < until:
            with lock:
                number = next(turn)
            runtime.deliver({f"s{number % QUERIES}": batches[number // QUERIES % len(batches)]})
            calls[slot] += runtime.step(slot)

    threads = [InheritableThread(target=work, args=(slot,)) for slot in range(slots)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while runtime.step(0):
        pass
    return sum(calls) / seconds


def _unit_call(runtime: SparkRuntime, batch: pa.Table) -> None:
    """Make a complete call: queue, policy, stamps, job, sink, monitor, statistics."""
    runtime.deliver({"s0": batch})
    if not runtime.step(0):
        raise RuntimeError("the policy ran nothing")


def _handwritten(spark: SparkSession, partitions: int | None) -> Callable[[pa.Table], pa.Table]:
    """A call as a person would write it: a temporary view over the batch, and SQL."""
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")  # the quicker setting for these batches
    session.conf.set("spark.sql.shuffle.partitions", str(partitions or spark.sparkContext.defaultParallelism))

    def call(batch: pa.Table) -> pa.Table:
        frame = session.createDataFrame(batch)
        if partitions is not None:
            frame = frame.coalesce(partitions)
        frame.createOrReplaceTempView("batch")
        return session.sql(SQL.format(view="batch")).toArrow()

    return call


def _floor(spark: SparkSession, batch: pa.Table) -> Callable[[], pa.Table]:
    """A call that runs one planned query again on unchanged data: Spark's own cost of a job."""
    session = own_session(spark)
    session.createDataFrame(batch).coalesce(1).createOrReplaceTempView("floor")
    return session.sql(SQL.format(view="floor")).toArrow


def _alternate(
    ways: dict[str, Callable[[pa.Table], object]], batches: Sequence[pa.Table], warm: int, rounds: int
) -> dict[str, float]:
    """Median milliseconds of each way, alternating on the same batches."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for index in range(warm + rounds):
        batch = batches[index % len(batches)]
        for name, call in ways.items():
            started = time.perf_counter()
            call(batch)
            if index >= warm:
                taken[name].append((time.perf_counter() - started) * 1e3)
    return {name: statistics.median(values) for name, values in taken.items()}


def _runtime(spark: SparkSession, queries: int, slots: int = 1, ways: Ways | None = None) -> SparkRuntime:
    runtime = SparkRuntime(_application(queries, slots).checked(), spark, ways=ways)
    runtime.open()
    return runtime


def _application(queries: int, slots: int) -> hg.Application:
    """One stream and one query (select, project) each. The bench delivers the tuples itself."""
    app = hg.Application(policy={"name": "rr", "unit": "query", "quantum": None}, slots=slots)
    for i in range(queries):
        app.stream(f"s{i}", SCHEMA, source=hg.sources.Feeder(rate=1))
        select = {"id": "select", "kind": "select", "input": f"s{i}", "where": WHERE}
        project = {"id": "project", "kind": "project", "input": "select", "columns": COLUMNS}
        app.query(f"q{i}", operators=[select, project], sink=hg.sinks.Nothing())
    return app


def _batch(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "k": rng.integers(0, 20, rows, dtype=np.int32),
            "v": rng.random(rows),
            "_arrival": np.arange(rows, dtype=np.int64),
            "_sequence": np.arange(rows, dtype=np.int64),
        },
        schema=arrow_schema(parse_schema(SCHEMA, "bench")),
    )
