"""Both sides of `bench classes` compute the same rows. Those of stock are computed over all tuples at once."""

import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.connect.sources import make_source
from headgate.runtime.spark.engine import SparkRuntime
from headgate_lab.bench.classes.comparison import POLICIES
from headgate_lab.bench.classes.stock import SETTINGS, build
from headgate_lab.bench.classes.workload import Workload, application, tuples

pytestmark = pytest.mark.spark

SECONDS = 4
BATCHES = 7
WORKLOAD = Workload("same", queries=12, rate=60.0, seconds=SECONDS)  # each kind once per class


def frame_of(spark, found):
    """The columns ts, k and v of a stream's tuples."""
    columns = (found.arrivals.tolist(), found.k.tolist(), found.v.tolist())
    rows = spark.createDataFrame(list(zip(*columns, strict=True)), "at DOUBLE, k INT, v DOUBLE")
    return rows.selectExpr("timestamp_micros(CAST(round(at * 1e6) AS BIGINT)) AS ts", "k", "v")


def stock_rows(spark, query, came):
    streams = [frame_of(spark, came[stream]) for stream in query.streams]
    if query.kind in ("count", "average"):  # Headgate lacks the last one: its time ends with the last tuple
        streams = [stream.where(f"ts < timestamp_seconds({SECONDS - 1})") for stream in streams]
    frame, _ = build(query, streams)
    return rounded(map(tuple, frame.collect()))


def headgate_rows(spark):
    """Query -> its rows, over all tuples that the feeders generate."""
    app = application(WORKLOAD, POLICIES["mbd"])
    kept = {name: replace(query, sink={"kind": "memory"}) for name, query in app.plan.queries.items()}
    runtime = SparkRuntime(replace(app, plan=replace(app.plan, queries=kept)), spark)
    runtime.open()
    for name, stream in app.plan.streams.items():
        runtime.deliver({name: make_source(stream, app.folder, app.seed, 0, quiet=True).poll(WORKLOAD.seconds)})
        runtime.ended(name)
    while sum(runtime.step(slot) for slot in range(app.slots)):
        pass
    assert runtime.stop()["errors"] == {}
    return {name: rounded(rows(sink)) for name, sink in runtime.sinks.items()}


def rows(sink):
    for table in sink.tables():
        yield from zip(*[column.to_pylist() for column in table.columns], strict=True)


def rounded(found):
    """The last bits of a sum of DOUBLE depend on the order of its terms."""
    return Counter(tuple(round(value, 9) for value in row) for row in found)


@pytest.mark.nightly
def test_both_sides_compute_the_same_rows(spark):
    came, ours = tuples(WORKLOAD), headgate_rows(spark)
    for query in WORKLOAD.members():
        assert ours[query.name].total() > 0
        assert ours[query.name] == stock_rows(spark, query, came), query.name


def in_batches(spark, found, folder):
    """A stream that gives each micro-batch a part of these tuples, in order."""
    folder.mkdir()
    times = pa.array(np.rint(found.arrivals * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "k": found.k, "v": found.v})
    for number, cut in enumerate(np.array_split(np.arange(len(times)), BATCHES), start=1):
        pq.write_table(table.take(cut), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (number, number))  # the order in which files are read
    source = spark.readStream.schema("ts TIMESTAMP, k INT, v DOUBLE").option("maxFilesPerTrigger", 1)
    return source.parquet(str(folder))


@pytest.mark.parametrize("kind", ["count", "join"])
def test_stock_drops_nothing_in_micro_batches(spark, tmp_path, kind):
    """The watermark is close behind the newest tuple, and streams are in order: no tuple and no pair is too late."""
    spark, came = spark.newSession(), tuples(WORKLOAD)
    for key in ("spark.sql.shuffle.partitions", "spark.sql.maxSinglePartitionBytes", "spark.sql.defaultSizeInBytes"):
        spark.conf.set(key, SETTINGS[key])
    query = next(one for one in WORKLOAD.members() if one.kind == kind)
    streams = [in_batches(spark, came[stream], tmp_path / stream) for stream in query.streams]
    frame, mode = build(query, streams)
    writer = frame.writeStream.format("memory").queryName(f"rows_{kind}").outputMode(mode).trigger(availableNow=True)
    running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert running.awaitTermination(120)
    assert "Exchange" not in running._jsq.explainInternal(False)  # one task per batch
    found = rounded(map(tuple, spark.table(f"rows_{kind}").collect()))
    frame, _ = build(query, [frame_of(spark, came[stream]) for stream in query.streams])
    expected = rounded(map(tuple, frame.collect()))
    if kind == "join":
        assert found == expected
    else:  # each batch gives the groups of its tuples again; the last time they are complete
        assert expected <= found
