"""headgate bench state: the cost of windows compared with a query without state, how time grows with the updates of a
relation, and how fast a large file is replayed compared with Spark Structured Streaming.

Ways alternate in one process on the same batches or the same file. Times include everything that a call does: queues,
policy, job, logs, sink, monitor. A window consumes its input at its boundaries, so ways are compared over whole
windows, by the average cost of a batch.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headgate as hg
from headgate.plan.arrow_types import arrow_schema
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate.sql.schema import parse_schema
from headgate_lab.bench import relation_updates
from headgate_lab.bench.parts import part

POLICY = {"name": "rr", "unit": "query", "quantum": None}
ROWS = 3_000  # per batch
BATCH_US = 2_000_000  # the event time that a batch spans: 1,500 tuples/s
WINDOW = "RANGE 20 SECONDS"
TUMBLING = "RANGE 20 SECONDS SLIDE 20 SECONDS"
SLIDING = "RANGE 20 SECONDS SLIDE 2 SECONDS"  # a boundary in every batch
GROUPS = 50
VALUES = {"n": "count(*)", "mean": "avg(t)"}  # as in the demonstration: an average of integers
DOUBLES = {"n": "count(*)", "mean": "avg(v)"}  # more expensive: sums of DOUBLE are folded in time order
KEYS = 30_000  # of the join: about one match per tuple among the 30,000 of the other window
SCHEMA = "ts TIMESTAMP, k INT, v DOUBLE, t INT"
WINDOW_S = 20
SPAN = 10  # batches between two boundaries of the tumbling window
REPLAY_RATE = 1_000  # tuples per second of event time in the replayed file


@dataclass(frozen=True)
class StateBenchSize:
    """The size of the measurement."""

    warm: int  # windows of SPAN batches to warm up
    spans: int  # windows of SPAN batches that are timed
    updates: tuple[int, int]  # numbers of updates of a relation: few, many
    growth_rounds: int
    kinds: tuple[str, ...]  # kinds of queries over that relation
    replay_rows: int
    replays: int


FULL = StateBenchSize(20, 30, (3_000, 12_000), 3, tuple(relation_updates.QUERIES), 5_000_000, 3)
QUICK = StateBenchSize(3, 5, (3_000, 12_000), 1, ("max", "max by group"), 200_000, 1)
SMALLEST = StateBenchSize(2, 1, (60, 240), 1, ("max",), 40_000, 1)


def run(quick: bool = False, sizes: StateBenchSize | None = None) -> dict[str, Any]:
    """Measure. Headline ratios are at the top level, medians below."""
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "4g"})
    return measure(spark, sizes or (QUICK if quick else FULL))


def measure(spark: SparkSession, sizes: StateBenchSize) -> dict[str, Any]:
    """Measure all three parts on a given Spark session."""
    steps = part("milliseconds", lambda: _compare_steps(spark, sizes.warm, sizes.spans))
    counts, rounds = sizes.updates, sizes.growth_rounds
    grown = part("seconds_by_updates", lambda: relation_updates.compare(spark, sizes.kinds, counts, rounds))
    replay = part("replayed_tuples_a_second", lambda: _compare_replays(spark, sizes.replay_rows, sizes.replays))
    few, many = (str(count) for count in sizes.updates)
    growth = {kind: seconds[many] / seconds[few] for kind, seconds in grown.items()}
    return {
        "aggregate_over_stateless": steps["aggregate"] / steps["stateless"],
        "join_over_stateless": steps["join"] / steps["stateless"],
        "updates_growth": max(growth.values()),
        "replay_over_structured_streaming": replay["headgate"] / replay["structured streaming"],
        "milliseconds": steps,
        "updates_growth_by_query": growth,
        "seconds_by_updates": grown,
        "replayed_tuples_a_second": replay,
        "settings": {
            "rows": ROWS,
            "batches": sizes.spans * SPAN,
            "windows": {"aggregate": TUMBLING, "sliding aggregate": SLIDING, "join": WINDOW, "replay": TUMBLING},
            "values": {"aggregate": VALUES, "aggregate of doubles": DOUBLES},
            "updates": {kind: relation_updates.QUERIES[kind] for kind in sizes.kinds},
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


# Steps ------------------------------------------------------------------------------------------------------------


def _compare_steps(spark: SparkSession, warm: int, spans: int) -> dict[str, float]:
    queries = {
        "stateless": "SELECT k, v * 2 AS w FROM s WHERE v > 0.3",
        "aggregate": _grouped(VALUES, TUMBLING),
        "sliding aggregate": _grouped(VALUES, SLIDING),
        "aggregate of doubles": _grouped(DOUBLES, TUMBLING),
        "join": f"SELECT s.k, s.v, t.v AS w FROM s [{WINDOW}], t [{WINDOW}] WHERE s.k = t.k",
    }
    ways = {name: _runtime(spark, cql, ("s", "t") if name == "join" else ("s",)) for name, cql in queries.items()}
    keys = dict.fromkeys(ways, GROUPS) | {"join": KEYS}
    try:
        found = _alternate(ways, keys, warm, spans)
        for name, runtime in ways.items():
            assert runtime.report()["calls"]["direct"] >= spans, f"{name} was not run the direct way"
        return found
    finally:
        for runtime in ways.values():
            runtime.stop()


def _alternate(ways: Mapping[str, SparkRuntime], keys: Mapping[str, int], warm: int, spans: int) -> dict[str, float]:
    """Median milliseconds per batch of ROWS tuples in total, timed over SPAN batches at once; the ways alternate."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for span in range(warm + spans):
        for name, runtime in ways.items():
            streams = ("s", "t") if name == "join" else ("s",)
            rows, now = ROWS // len(streams), round(runtime.now() * 1e6)
            batches = [
                {s: _batch(number, keys[name], rows, seed, now) for seed, s in enumerate(streams)}
                for number in range(span * SPAN, (span + 1) * SPAN)
            ]
            started = time.perf_counter()
            steps = sum(_stepped(runtime, tables) for tables in batches)
            if span >= warm:
                taken[name].append((time.perf_counter() - started) * 1e3 / SPAN)
            if not steps and span:  # the first window ends only when the second begins
                raise RuntimeError(f"{name}: nothing ran in {SPAN} batches")
    return {name: statistics.median(values) for name, values in taken.items()}


def _stepped(runtime: SparkRuntime, tables: Mapping[str, pa.Table]) -> int:
    """Deliver a batch, make the calls that are due, and return their number."""
    for stream, table in tables.items():
        runtime.deliver({stream: table})
    steps = 0
    while runtime.step(0):
        steps += 1
    return steps


def _batch(number: int, keys: int, rows: int, seed: int, now_us: int) -> pa.Table:
    """A batch of tuples that spans BATCH_US of event time and arrives now."""
    rng = np.random.default_rng((number, seed))
    first = number * rows
    times = number * BATCH_US + np.arange(rows, dtype=np.int64) * (BATCH_US // rows)
    arrival, sequence = np.full(rows, now_us), np.arange(first, first + rows, dtype=np.int64)
    numbers = rng.integers(0, keys, rows, dtype=np.int32), rng.random(rows), rng.integers(0, 40, rows, dtype=np.int32)
    columns = [times.astype("datetime64[us]"), *numbers]
    schema = arrow_schema(parse_schema(SCHEMA, "bench"))
    arrays = [pa.array(c).cast(f.type) for c, f in zip([*columns, arrival, sequence], schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _runtime(spark: SparkSession, cql: str, streams: tuple[str, ...]) -> SparkRuntime:
    """The engine itself: the bench delivers tuples and steps the slot by hand."""
    app = hg.Application(policy=POLICY, slots=1)
    for name in streams:
        app.stream(name, SCHEMA, time="ts", source=hg.sources.Feeder(rate=1))
    app.query("q", cql, sink=hg.sinks.Nothing())
    runtime = SparkRuntime(app.checked(), spark)
    runtime.open()
    return runtime


def _grouped(values: Mapping[str, str], window: str) -> str:
    columns = ", ".join(f"{text} AS {name}" for name, text in values.items())
    return f"SELECT k, {columns} FROM s [{window}] GROUP BY k"


# Replays ----------------------------------------------------------------------------------------------------------


def _compare_replays(spark: SparkSession, rows: int, rounds: int) -> dict[str, float]:
    """Tuples per second of a file replayed as fast as possible, from the start of the query to its last result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        _write(folder / "in" / "data.csv", rows)
        ways: dict[str, Callable[[str], int]] = {
            "headgate": lambda _: _headgate(spark, folder, VALUES),
            "structured streaming": lambda name: _structured_streaming(spark, folder, name, VALUES),
            "headgate, doubles": lambda _: _headgate(spark, folder, DOUBLES),
            "structured streaming, doubles": lambda name: _structured_streaming(spark, folder, name, DOUBLES),
        }
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds + 1):
            for place, (way, replay) in enumerate(ways.items()):
                started = time.perf_counter()
                counted = replay(f"bench_{number}_{place}")
                seconds = time.perf_counter() - started
                if not rows - WINDOW_S * REPLAY_RATE <= counted <= rows:  # the last window is not complete
                    raise RuntimeError(f"{way} counted {counted} of {rows} tuples in complete windows")
                if number:  # the first round warms up
                    taken[way].append(rows / seconds)
    return {way: statistics.median(values) for way, values in taken.items()}


def _headgate(spark: SparkSession, folder: Path, values: Mapping[str, str]) -> int:
    app = hg.Application(policy=POLICY, folder=folder)
    app.stream("s", SCHEMA, time="ts", source=hg.sources.Csv(path="in/data.csv", header=True))
    app.query("q", f"RSTREAM({_grouped(values, TUMBLING)})")
    with app.start(spark) as run:
        run.wait()
    if errors := run.report().errors:
        raise RuntimeError(str(errors))
    return int(np.sum(run.results("q").to_arrow().column("n").to_numpy()))


def _structured_streaming(spark: SparkSession, folder: Path, name: str, values: Mapping[str, str]) -> int:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")  # otherwise the last windows stay open
    rows = (
        session.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE, t INT")
        .option("header", "true")
        .csv(str(folder / "in"))
    )
    grouped = rows.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "20 seconds"), "k")
    counts = grouped.agg(*[F.expr(text).alias(column) for column, text in values.items()])
    query = (
        counts.writeStream.outputMode("append")
        .format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder / f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return int(session.sql(f"SELECT sum(n) FROM {name}").collect()[0][0])


def _write(path: Path, rows: int) -> None:
    with path.open("wb") as file:
        for number, table in enumerate(_parts(rows)):
            options = pyarrow.csv.WriteOptions(include_header=number == 0)
            pyarrow.csv.write_csv(table, file, options)


def _parts(rows: int, part: int = 500_000) -> Iterator[pa.Table]:
    rng = np.random.default_rng(7)
    start = np.datetime64("2026-01-01T00:00:00", "us").astype(np.int64)
    for first in range(0, rows, part):
        count = min(part, rows - first)
        times = start + np.arange(first, first + count, dtype=np.int64) * (1_000_000 // REPLAY_RATE)
        yield pa.table(
            {
                "ts": times.astype("datetime64[us]"),
                "k": rng.integers(0, GROUPS, count, dtype=np.int32),
                "v": rng.random(count).round(6),
                "t": rng.integers(0, 40, count, dtype=np.int32),
            }
        )
