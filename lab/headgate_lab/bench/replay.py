"""A replay of parquet files, by reference and in Spark alone: what `bench sources` and `bench cluster` measure.

Times of Headgate are from the start of its sources to the last result, after a rehearsal; those of Spark from the call
that plans the query to its last result, after a query over the same files has warmed it up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headgate as hg
from headgate.application.checked import RunLimits
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime

SCHEMA = "k INT, v INT, note STRING, ts TIMESTAMP"
KEYS = 500
WINDOW_S = 60
RATE = 10_000  # tuples per second of event time
SELECT = "SELECT k, v, note FROM events WHERE v = 7"  # a hundredth of the tuples
WINDOWED = (
    f"RSTREAM(SELECT k, count(*) AS n, sum(v) AS total, max(v) AS high FROM events "
    f"[RANGE {WINDOW_S} SECONDS SLIDE {WINDOW_S} SECONDS] GROUP BY k)"
)
_NOTES = pa.array([f"a remark that every tuple carries along, number {number:06}" for number in range(1000)])


@dataclass(frozen=True)
class Replayed:
    """What a replay took and gave."""

    seconds: float
    results: int
    references: Mapping[str, int]  # see the report
    rows: int

    @property
    def driver_share(self) -> float:
        """The bytes that passed the driver, as a share of all that were read by reference or passed it."""
        passed = self.references["driver_bytes"]
        return passed / max(1, self.references["bytes"], passed)


def write_files(folder: Path, files: int, rows: int, seed: int = 1) -> int:
    """Files of so many rows each, in order of time; returns the bytes that all rows take in memory."""
    folder.mkdir(parents=True)
    random, size = np.random.default_rng(seed), 0
    for number in range(files):
        at = np.arange(number * rows, (number + 1) * rows) * (1_000_000 // RATE) + 1
        table = pa.table(
            {
                "k": pa.array(random.integers(0, KEYS, rows), pa.int32()),
                "v": pa.array(random.integers(0, 100, rows), pa.int32()),
                "note": _NOTES.take(pa.array(random.integers(0, len(_NOTES), rows))),
                "ts": pa.array(np.datetime64("2024-03-01", "us") + at, pa.timestamp("us", tz="UTC")),
            }
        )
        pq.write_table(table, folder / f"{number:04}.parquet", row_group_size=max(1, rows // 2))
        size += table.nbytes
    return size


def headgate_replay(spark: SparkSession, folder: Path, query: str) -> Replayed:
    """Replay a folder through one query."""
    source = {"kind": "folder", "path": str(folder), "format": "parquet", "watch": False}
    app = hg.Application(policy={"name": "fifo", "unit": "query"}, rehearse=True)
    app.stream("events", SCHEMA, time="ts", source=source)
    app.query("replay", query, sink={"kind": "memory"})
    runtime = SparkRuntime(app.checked(), spark, ways=Ways(referred_rows=10_000))
    runtime.start()
    try:
        runtime.wait(RunLimits(until_idle=True))
        seconds = runtime.now()
    finally:
        report = runtime.stop()
    if report["errors"]:
        raise RuntimeError(f"the replay failed: {report['errors']}")
    counts = report["queries"]["replay"]
    return Replayed(seconds, counts["outputs"], report["references"], counts["inputs"])


def batch_replay(spark: SparkSession, folder: Path) -> tuple[float, int]:
    """Seconds and results of the same selection as one query of Spark over the files."""
    began = time.perf_counter()
    spark.read.parquet(str(folder)).createOrReplaceTempView("events")
    rows = spark.sql(SELECT).toArrow()
    return time.perf_counter() - began, rows.num_rows


def streaming_replay(spark: SparkSession, folder: Path, checkpoint: Path) -> tuple[float, int]:
    """Seconds and results of the same windows in Structured Streaming, with all files available now.

    Its last windows stay open, so it may give fewer results.
    """
    results = 0

    def count(batch: Any, number: int) -> None:
        nonlocal results
        results += len(batch.collect())

    began = time.perf_counter()
    schema = spark.read.parquet(str(folder)).schema
    events = spark.readStream.schema(schema).parquet(str(folder)).withWatermark("ts", "0 seconds")
    windows = events.groupBy("k", F.window("ts", f"{WINDOW_S} seconds")).agg(
        F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("high")
    )
    query = windows.writeStream.trigger(availableNow=True).outputMode("append")
    query.option("checkpointLocation", str(checkpoint)).foreachBatch(count).start().awaitTermination()
    return time.perf_counter() - began, results
