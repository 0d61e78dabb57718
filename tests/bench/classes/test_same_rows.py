"""Both sides of `bench classes` compute the same rows. Those of stock are computed over all tuples at once."""

from collections import Counter
from dataclasses import replace

import pytest

from headgate.bench.classes.comparison import POLICIES
from headgate.bench.classes.stock import build
from headgate.bench.classes.workload import Workload, application, tuples
from headgate.connect.sources import make_source
from headgate.runtime.spark.engine import SparkRuntime

pytestmark = pytest.mark.spark

SECONDS = 4
WORKLOAD = Workload("same", queries=12, rate=60.0, seconds=SECONDS)  # each kind once a class


def stock_rows(spark, query, came):
    streams = [
        spark.createDataFrame(
            list(zip(found.arrivals.tolist(), found.k.tolist(), found.v.tolist(), strict=True)),
            "at DOUBLE, k INT, v DOUBLE",
        ).selectExpr("timestamp_micros(CAST(round(at * 1e6) AS BIGINT)) AS ts", "k", "v")
        for found in (came[stream] for stream in query.streams)
    ]
    if query.kind in ("count", "average"):  # of Headgate the last is missing: time ends with the last tuple
        streams = [stream.where(f"ts < timestamp_seconds({SECONDS - 1})") for stream in streams]
    frame, _ = build(query, streams)
    return rounded(map(tuple, frame.collect()))


def headgate_rows(spark):
    """Query -> its rows, with the tuples that the feeders give until the end."""
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
    """Sums of DOUBLE depend on their order in the last bits."""
    return Counter(tuple(round(value, 9) for value in row) for row in found)


def test_both_sides_compute_the_same_rows(spark):
    came, ours = tuples(WORKLOAD), headgate_rows(spark)
    for query in WORKLOAD.members():
        assert ours[query.name].total() > 0
        assert ours[query.name] == stock_rows(spark, query, came), query.name
