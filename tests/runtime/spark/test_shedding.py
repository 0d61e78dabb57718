"""Shedding on Spark: nothing changes while nothing is dropped, and estimates are honest while something is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.source_thread import open_sources
from headgate.scheduling.events import SheddingChanged
from headgate.scheduling.shedder import extra_for
from tests.applications import application

pytestmark = pytest.mark.spark

WINDOW = "[RANGE 1 SECOND SLIDE 1 SECOND]"
QUERIES = {
    "counts": f"RSTREAM(SELECT k, count(*) AS n, count(v) AS c FROM s {WINDOW} WHERE v > 0.2 GROUP BY k)",
    "sums": f"RSTREAM(SELECT k, sum(v) AS total, avg(v) AS mean, sum(k) AS whole FROM s {WINDOW} GROUP BY k)",
    "all": f"RSTREAM(SELECT sum(b) AS big, sum(d) AS exact, max(v) AS top FROM s {WINDOW})",
    "sliding": "ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 2 SECONDS] GROUP BY k)",
    "running": "SELECT k % 2 AS odd, sum(w) AS total FROM (SELECT k, v * 2 AS w FROM s) GROUP BY k % 2",
    "pairs": f"RSTREAM(SELECT s.k, count(*) AS n FROM s {WINDOW}, r {WINDOW} WHERE s.k = r.k GROUP BY s.k)",
    "plain": "SELECT k, v FROM s WHERE v > 0.5",
}
SCHEMA = "k INT, v DOUBLE, b BIGINT, d DECIMAL(10, 2)"
VALUES = {"k": "uniform 0 3", "v": "uniform 0 1", "b": "uniform 0 1000000"}


def run(
    spark: Any,
    queries: Mapping[str, str],
    rate: float = 60,
    seconds: int = 4,
    extra: int = 0,
    **more: Any,
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The results and the report of a run in virtual time in which a constant share is dropped."""
    feeder = {"kind": "feeder", "rate": rate, "rows": int(rate * seconds), "values": VALUES}
    slow = {"kind": "feeder", "rate": 20, "rows": 20 * seconds, "values": VALUES}
    streams = {"s": {"schema": SCHEMA, "source": feeder}, "r": {"schema": SCHEMA, "source": slow}}
    sink = {"kind": "memory", "format": "changes"}  # with the time of each row
    all_queries = {name: {"cql": cql, "sink": sink, **more} for name, cql in queries.items()}
    app = application(streams, all_queries, slots=1).checked()
    runtime = SparkRuntime(app, spark)
    runtime.open()
    sources = open_sources(app)
    for edge in list(runtime.core.shedders):
        runtime.core.handle(SheddingChanged(0.0, edge, extra))
    for tick in range(1, 2 * seconds + 2):
        now = tick / 2
        tables = {name: table for name, source in sources.items() if (table := source.poll(now)) is not None}
        runtime.deliver(tables, sources, now)
        while runtime.step(0):
            pass
    for name, source in sources.items():
        runtime.ended(name)
        source.close()
    while runtime.step(0):
        pass
    report = runtime.stop()
    assert report["errors"] == {}
    tables = {name: runtime.sinks[name].tables() for name in queries}
    return {name: pa.concat_tables(found) for name, found in tables.items() if found}, report


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def test_a_tolerance_changes_no_result_while_nothing_is_dropped(spark: Any) -> None:
    tolerant, report = run(spark, QUERIES, tolerance=0.3)
    strict, _ = run(spark, QUERIES)
    assert {name: rows(table) for name, table in tolerant.items()} == {n: rows(table) for n, table in strict.items()}
    assert {name: table.schema.names for name, table in tolerant.items()} == {
        name: table.schema.names for name, table in strict.items()
    }
    assert report["shedding"] == []


@pytest.mark.parametrize("shed", ["random", {"attribute": "v", "drop": "lowest"}])
def test_estimates_are_close_and_their_bounds_cover_the_truth(spark: Any, shed: Any) -> None:
    cql = f"RSTREAM(SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean FROM s {WINDOW} GROUP BY k)"
    queries = {"q": cql}
    truth, _ = run(spark, queries, rate=2000, seconds=6)
    more = {"tolerance": 0.3, "shed": shed, "error_bounds": True}
    found, report = run(spark, queries, rate=2000, seconds=6, extra=extra_for(0.3), **more)
    dropped = report["queries"]["q"]["shed"]
    assert 0.25 * 12_000 < dropped <= 0.3 * 12_000
    assert report["shedding"] == [{"query": "q", "operator": report["shedding"][0]["operator"], "tuples": dropped}]
    keys = ["time", "k"]
    both = found["q"].to_pandas().set_index(keys).join(truth["q"].to_pandas().set_index(keys), rsuffix="_true")
    assert len(both) == len(truth["q"])
    covered = []
    for name in ("n", "total", "mean"):
        error = np.abs(both[name] - both[f"{name}_true"]) / both[f"{name}_true"]
        assert error.max() < 0.3
        assert error.mean() < 0.06
        assert (both[f"{name}_error"] > 0).mean() > 0.9
        covered += list(error <= both[f"{name}_error"])
    assert np.mean(covered) >= 0.9


def test_a_query_without_tolerance_is_never_shed(spark: Any) -> None:
    found, report = run(spark, {"plain": QUERIES["plain"]}, extra=64)
    assert report["queries"]["plain"]["shed"] == 0
    half, report = run(spark, {"plain": QUERIES["plain"]}, extra=64, tolerance=0.5)
    assert report["queries"]["plain"]["shed"] == pytest.approx(120, abs=32)
    assert set(rows(half["plain"])) < set(rows(found["plain"]))


def test_tuples_are_conserved_and_time_goes_on_whatever_is_dropped(spark: Any) -> None:
    """All windows close although nearly everything is dropped; queues check themselves at the end."""
    found, _ = run(spark, {"counts": QUERIES["counts"]}, rate=500, extra=2000, tolerance=0.97)
    assert len(set(found["counts"].column("time").to_pylist())) >= 4
