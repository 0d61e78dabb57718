"""Times that are years apart, on Spark: no call evaluates years of boundaries, and good rows get their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.connect.sinks.memory import MemorySink
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.source_thread import open_sources
from headgate.scheduling import boundary_budget
from tests.applications import application

pytestmark = pytest.mark.spark

QUERIES = {
    "grouped": "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 1 SECOND] GROUP BY k)",
    "every": "RSTREAM(SELECT k FROM s [RANGE 5 SECONDS SLIDE 1 SECOND])",
}
GOOD = [f"{n % 3},2025-01-01 08:00:{n:02d}" for n in range(40)]


def application_of(folder: Path, rows: list[str], queries: dict[str, str]) -> Any:
    (folder / "in.csv").write_text("\n".join(["k,ts", *rows]) + "\n")
    source = {"kind": "csv", "path": "in.csv"}
    stream = {"schema": "k INT, ts TIMESTAMP", "time": "ts", "max_jump": "1 day", "source": source}
    policy = {"name": "rr", "unit": "query"}
    return application({"s": stream}, queries, policy=policy, slots=1, folder=folder).checked()


def fed(spark: Any, app: Any) -> SparkRuntime:
    """A run that has read its file, without a rehearsal or threads."""
    runtime = SparkRuntime(app, spark)
    runtime.open()
    source = open_sources(app, letters=runtime.dead_letters)["s"]
    while (table := source.poll(0.0)) is not None:
        runtime.deliver({"s": table})
    runtime.ended("s")
    return runtime


def answers(spark: Any, app: Any) -> tuple[dict[str, list[str]], dict[str, Any]]:
    runtime = fed(spark, app)
    while runtime.step(0):
        pass
    report = runtime.stop()
    sinks = {name: sink for name, sink in runtime.sinks.items() if isinstance(sink, MemorySink)}
    found = {name: [repr(row) for table in sink.tables() for row in table.to_pylist()] for name, sink in sinks.items()}
    return {name: sorted(rows) for name, rows in found.items()}, report


def test_rows_of_other_years(spark: Any, tmp_path: Path) -> None:
    """A row of the year 9999 changes nothing. A row of the year 1 is like any other, and the years between cost
    nothing."""
    plain, _ = answers(spark, application_of(tmp_path, GOOD, QUERIES))
    rows = ["7,0001-01-01 00:00:00", *GOOD[:20], "7,9999-12-31 23:59:59", *GOOD[20:]]
    found, report = answers(spark, application_of(tmp_path, rows, QUERIES))
    assert not report["errors"]
    assert report["late"] == {"s": 0}
    assert report["dead_letters"]["streams"] == {"s": 1}
    assert {name: [row for row in rows if "'k': 7" not in row] for name, rows in found.items()} == plain
    assert {name: sum("'k': 7" in row for row in rows) for name, rows in found.items()} == {"grouped": 20, "every": 5}


def test_years_of_boundaries_with_a_row_at_each(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Billions of results are due. They come in bounded numbers per call, and none is left out."""
    monkeypatch.setattr(boundary_budget, "FIRST", 100)
    monkeypatch.setattr(boundary_budget, "MOST_ROWS", 500)
    query = {"forever": "RSTREAM(SELECT count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 1 SECOND])"}
    app = application_of(tmp_path, ["7,0001-01-01 00:00:00", *GOOD], query)
    runtime = fed(spark, app)
    rows_of_calls: list[int] = []
    try:
        for _ in range(4):
            before = runtime.sinks["forever"].rows
            assert runtime.step(0)
            rows_of_calls.append(runtime.sinks["forever"].rows - before)
    finally:
        report = runtime.stop()
    assert rows_of_calls == [100, 200, 200, 200]
    assert not report["errors"]
