"""Runs whose tuples come by reference: the answer is that of the driver, and the tuples stay away from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.application.checked import RunLimits
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime
from tests.applications import application

pytestmark = pytest.mark.spark

SCHEMA = "k INT, v INT, name STRING, ts TIMESTAMP"
QUERIES = {
    "some": "SELECT k, v * 2 AS w, name FROM s WHERE v % 50 = 3",
    "floors": "SELECT s.k, v, p.floor FROM s, places AS p WHERE s.k = p.k AND v = 7",
    "panes": "RSTREAM(SELECT k, count(*) AS n, sum(v) AS total, max(name) AS last "
    "FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k)",
    "means": "RSTREAM(SELECT k, avg(v * 0.1D) AS mean FROM s [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY k)",
    "tumbling": "SELECT k, window.start AS begins, count(*) AS n FROM s GROUP BY k, window(ts, '30 seconds')",
    "pairs": "ISTREAM(SELECT a.v, b.name FROM s [RANGE 30 SECONDS] AS a, r [RANGE 1 SECOND] AS b WHERE a.k = b.k "
    "AND a.v = b.v)",
}
ROWS, STEP_MS = 6000, 20


def write(folder: Path, rows: int, files: int, seed: int, step_ms: int = STEP_MS, jumble: int = 1) -> None:
    """Files of rows that are `step_ms` apart; up to `jumble` of them are out of order."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    places = np.arange(rows).reshape(-1, jumble)
    at = np.datetime64("2024-03-01T00:00:00.001", "us") + random.permuted(places, axis=1).ravel() * np.timedelta64(
        step_ms, "ms"
    )
    v = random.integers(0, 200, rows)
    table = pa.table(
        {
            "k": pa.array(random.integers(0, 8, rows), pa.int32()),
            "v": pa.array(v, pa.int32(), mask=random.random(rows) < 0.05),
            "name": pa.array([f"n{number % 97}" for number in v]),
            "ts": pa.array(at, pa.timestamp("us", tz="UTC")),
        }
    )
    each = rows // files
    for number in range(files):
        some = table.slice(number * each, each if number < files - 1 else None)
        pq.write_table(some, folder / f"part-{number:03}.parquet", row_group_size=1 + each // 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("references")
    write(path / "s", ROWS, files=4, seed=1, jumble=5)
    write(path / "r", ROWS // 10, files=1, seed=2, step_ms=STEP_MS * 10)
    (path / "places.csv").write_text("k,floor\n1,10\n2,20\n5,50\n")
    return path


def run(
    spark: Any, folder: Path, queries: dict[str, Any], referred_rows: int | None, slack: str = "1 second", **more: Any
) -> tuple[dict[str, Counter[Any]], dict[str, Any]]:
    """The results of each query, and the report."""
    streams = {
        name: {
            "schema": SCHEMA,
            "time": "ts",
            "slack": slack,
            "source": {"kind": "folder", "path": name, "format": "parquet", "watch": False},
        }
        for name in ("s", "r")
        if (folder / name).is_dir()
    }
    tables = {"places": {"kind": "csv", "path": "places.csv", "schema": "k INT, floor INT"}}
    sections = {name: one if isinstance(one, dict) else {"cql": one} for name, one in queries.items()}
    sections = {name: {"sink": {"kind": "memory"}, **one} for name, one in sections.items()}
    policy = more.pop("policy", {"name": "fifo", "unit": "query"})
    app = application(streams, sections, tables, policy=policy, folder=folder, **more)
    runtime = SparkRuntime(app.checked(), spark, ways=Ways(referred_rows=referred_rows))
    runtime.start()
    runtime.wait(RunLimits(seconds=240, until_idle=True))
    report = runtime.stop()
    found = {
        name: Counter(row for table in sink.tables() for row in rows(table)) for name, sink in runtime.sinks.items()
    }
    return found, report


def rows(table: pa.Table) -> list[Any]:
    return list(zip(*[column.to_pylist() for column in table.columns], strict=True))


@pytest.mark.parametrize("names", [("some", "panes", "pairs"), pytest.param(tuple(QUERIES), marks=pytest.mark.nightly)])
def test_references_give_the_answer_that_rows_in_the_driver_give(
    spark: Any, folder: Path, names: tuple[str, ...]
) -> None:
    queries = {name: QUERIES[name] for name in names}
    expected, through_driver = run(spark, folder, queries, None)
    found, referred = run(spark, folder, queries, 500)
    assert through_driver["errors"] == referred["errors"] == {}
    assert all(found[name] for name in queries)
    assert found == expected
    assert through_driver["calls"]["reference"] == 0
    assert referred["calls"]["reference"] >= len(queries)
    assert through_driver["late"] == referred["late"] == {"s": 0, "r": 0}
    for name in queries:
        assert referred["queries"][name]["inputs"] == through_driver["queries"][name]["inputs"]
        assert referred["queries"][name]["outputs"] == through_driver["queries"][name]["outputs"]


@pytest.mark.nightly
@pytest.mark.parametrize("policy", ["rr", "mbd", {"name": "rr", "unit": "operator"}, "wrr"])
def test_no_policy_changes_the_answer(spark: Any, folder: Path, policy: Any) -> None:
    queries = {name: QUERIES[name] for name in ("some", "panes", "pairs")}
    expected, _ = run(spark, folder, queries, None)
    found, report = run(spark, folder, queries, 500, policy=policy, slots=2)
    assert report["calls"]["reference"] > 0
    assert found == expected


def test_tuples_that_may_be_late_come_through_the_driver(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "s", 2000, files=2, seed=3, jumble=100)
    queries = {"n": "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] GROUP BY k)"}
    (tmp_path / "places.csv").write_text("k,floor\n")
    expected, through_driver = run(spark, tmp_path, queries, None, slack="500 milliseconds")
    found, referred = run(spark, tmp_path, queries, 500, slack="500 milliseconds")
    assert through_driver["late"]["s"] > 0
    assert referred["late"] == through_driver["late"]
    assert referred["calls"]["reference"] == 0
    assert found == expected


def test_a_bad_row_of_a_reference_is_found(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "s", 30_000, files=2, seed=4)
    (tmp_path / "places.csv").write_text("k,floor\n")
    bad = "SELECT k, 1 / (extract(SECOND FROM ts) - 59.941) AS x FROM s WHERE v = 3"
    queries = {
        "skips": {"cql": bad, "on_error": "skip"},
        "stops": {"cql": bad, "on_error": "stop"},
        "other": QUERIES["some"],
    }
    expected, through_driver = run(spark, tmp_path, queries, None)
    found, referred = run(spark, tmp_path, queries, 500)
    assert referred["calls"]["reference"] > 0
    assert set(referred["errors"]) == set(through_driver["errors"])
    assert {name: found[name] for name in ("skips", "other")} == {name: expected[name] for name in ("skips", "other")}
