"""Spark Structured Streaming and Headgate give the same results for the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headgate.application.checked import RunLimits
from headgate.runtime.spark.engine import SparkRuntime
from tests.applications import application

pytestmark = pytest.mark.spark

ROWS = 2000
SLACK_S = 4
SCHEMA = "id INT, k INT, v INT, ts TIMESTAMP"
BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
Row = tuple[Any, ...]

# Spark's windows are [start, end), those of CQL (end - length, end]; no tuple lies on a boundary, so they agree.
QUERIES = {
    "tumbling": "SELECT k, window.start AS begins, count(*) AS n, sum(v) AS total FROM e "
    "GROUP BY k, window(ts, '20 seconds')",
    "sliding": "SELECT window.start AS begins, max(v) AS high, avg(v) AS mean FROM e "
    "GROUP BY window(ts, '30 seconds', '10 seconds')",
    "session": "SELECT k, session_window.start AS begins, session_window.end AS ends, count(*) AS n FROM e "
    "GROUP BY k, session_window(ts, '3 seconds')",
    "pairs": "ISTREAM(SELECT a.id, b.id AS other FROM e [RANGE 5 SECONDS] AS a, f [NOW] AS b WHERE a.k = b.k)",
    "kinds": "SELECT DISTINCT k, v % 10 AS d FROM e",
    "slides": "RSTREAM(SELECT k, count(*) AS n, sum(v) AS total FROM e [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY k)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two streams of five minutes, out of order within the slack."""
    path = tmp_path_factory.mktemp("streaming")
    random = Random(7)
    for name, rows in (("e", ROWS), ("f", ROWS // 10)):
        lines = ["id,k,v,ts"]
        for number in range(rows):
            at_ms = number * 300_000 // rows - random.randrange(SLACK_S * 1000 - 500)
            at = BEGIN + timedelta(milliseconds=max(0, at_ms) // 10 * 10 + 1)
            lines.append(f"{number},{random.randrange(12)},{random.randrange(100)},{at:%Y-%m-%d %H:%M:%S.%f}")
        (path / name).mkdir()
        (path / name / "part.csv").write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def ours(spark: SparkSession, folder: Path) -> dict[str, list[Row]]:
    """The results of Headgate for all queries, from one run; rows of `slides` begin with the time."""
    stream = {"schema": SCHEMA, "time": "ts", "slack": f"{SLACK_S} seconds"}
    source = {"kind": "csv", "header": True, "replay": "fast"}
    streams = {name: {**stream, "source": {**source, "path": f"{name}/part.csv"}} for name in ("e", "f")}
    queries = {name: {"cql": text, "sink": {"kind": "memory"}} for name, text in QUERIES.items()}
    queries["slides"]["sink"] = {"kind": "memory", "format": "changes"}
    app = application(streams, queries, policy={"name": "fifo", "unit": "query"}, folder=folder)
    runtime = SparkRuntime(app.checked(), spark)
    runtime.start()
    runtime.wait(RunLimits(seconds=300, until_idle=True))
    report = runtime.stop()
    assert (report["errors"], report["late"]) == ({}, {"e": 0, "f": 0})
    return {name: _rows(sink.tables()) for name, sink in runtime.sinks.items()}  # type: ignore[attr-defined]


def _rows(tables: Iterable[Any]) -> list[Row]:
    return [row for table in tables for row in zip(*[c.to_pylist() for c in table.columns], strict=True)]


@pytest.fixture(scope="module")
def streaming(spark: SparkSession, folder: Path) -> Callable[..., Counter[Row]]:
    """Runs a query over the streams e and f with Structured Streaming, and returns all rows of its result."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.session.timeZone", "UTC")

    def result(mode: str, build: Callable[..., DataFrame]) -> Counter[Row]:
        streams = [
            session.readStream.schema(SCHEMA).csv(str(folder / name), header=True).withWatermark("ts", "1 hour")
            for name in ("e", "f")
        ]
        name = f"r{id(build)}"
        writer = build(*streams).writeStream.outputMode(mode).format("memory").queryName(name)
        writer.trigger(availableNow=True).start().awaitTermination()
        return Counter(_rows([session.table(name).toArrow()]))

    return result


def test_tumbling(ours: dict[str, list[Row]], streaming: Any) -> None:
    theirs = streaming("complete", lambda e, f: _tumbling(e))
    assert len(theirs) > 100
    assert Counter(ours["tumbling"]) == theirs


def _tumbling(e: DataFrame) -> DataFrame:
    groups = e.groupBy(F.window("ts", "20 seconds"), "k").agg(F.count("*").alias("n"), F.sum("v").alias("total"))
    return groups.select("k", "window.start", "n", "total")


def test_sliding(ours: dict[str, list[Row]], streaming: Any) -> None:
    def build(e: DataFrame, f: DataFrame) -> DataFrame:
        groups = e.groupBy(F.window("ts", "30 seconds", "10 seconds")).agg(
            F.max("v").alias("high"), F.avg("v").alias("m")
        )
        return groups.select("window.start", "high", "m")

    assert Counter(ours["sliding"]) == streaming("complete", build)


def test_session(ours: dict[str, list[Row]], streaming: Any) -> None:
    def build(e: DataFrame, f: DataFrame) -> DataFrame:
        groups = e.groupBy("k", F.session_window("ts", "3 seconds")).agg(F.count("*").alias("n"))
        return groups.select("k", "session_window.start", "session_window.end", "n")

    theirs = streaming("complete", build)
    assert len(theirs) > 100
    assert Counter(ours["session"]) == theirs


def test_time_join(ours: dict[str, list[Row]], streaming: Any) -> None:
    """A 5-second window joined with [NOW] pairs tuples less than 5 seconds apart."""

    def build(e: DataFrame, f: DataFrame) -> DataFrame:
        a, b = e.alias("a"), f.alias("b")
        near = F.expr("a.k = b.k AND a.ts <= b.ts AND a.ts > b.ts - INTERVAL 5 SECONDS")
        return a.join(b, near).select("a.id", F.col("b.id").alias("other"))

    theirs = streaming("append", build)
    assert len(theirs) > 100
    assert Counter(ours["pairs"]) == theirs


def test_distinct(ours: dict[str, list[Row]], streaming: Any) -> None:
    theirs = streaming("append", lambda e, f: e.select("k", (F.col("v") % 10).alias("d")).dropDuplicates(["k", "d"]))
    assert Counter(ours["kinds"]) == theirs


def test_sliding_windows_of_cql(ours: dict[str, list[Row]], streaming: Any) -> None:
    """At each boundary, RSTREAM outputs the window that ends there; the last one ends after the last event."""
    theirs = streaming("complete", lambda e, f: _tumbling(e))
    last = max(begins for _, begins, _, _ in theirs)
    length = timedelta(seconds=20)
    complete = {(b.replace(tzinfo=None) + length, k, n, total): c for (k, b, n, total), c in theirs.items() if b < last}
    assert Counter((at.replace(tzinfo=None), k, n, total) for at, _, k, n, total in ours["slides"]) == complete
