"""Spark's windows in GROUP BY, from file to sink: late tuples, windows output once, start and end in results."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.application.checked import RunLimits
from headgate.runtime.spark.engine import SparkRuntime
from tests.applications import application

pytestmark = pytest.mark.spark

ROWS = """k,at
1,2026-05-04 10:00:05
2,2026-05-04 10:00:50
1,2026-05-04 10:01:10
1,2026-05-04 10:01:09
2,2026-05-04 10:00:20
1,2026-05-04 10:02:30
2,2026-05-04 10:05:00
"""  # 10:01:09 is within the slack, 10:00:20 comes too late
MINUTES = "SELECT k, window.start AS since, count(*) AS n FROM s GROUP BY k, window(at, '1 minute')"
ENDS = "SELECT window, window.start AS since, window.end AS until, count(*) AS n FROM s GROUP BY window(at, '1 minute')"
SINKS = {
    "as_csv": {"kind": "csv", "path": "as.csv"},
    "changes_csv": {"kind": "csv", "path": "changes.csv", "format": "changes"},
    "as_json": {"kind": "json", "path": "as.jsonl"},
    "changes_json": {"kind": "json", "path": "changes.jsonl", "format": "changes"},
}
STREAM = {
    "schema": "k INT, at TIMESTAMP",
    "time": "at",
    "slack": "2 seconds",
    "source": {"kind": "csv", "path": "s.csv"},
}
JOINED = (
    f"SELECT a.k, a.since, a.n, b.n AS m FROM ({MINUTES}) AS a, ({MINUTES}) AS b WHERE a.k = b.k AND a.since = b.since"
)
GAPS = "SELECT k, session_window.end AS until, count(*) AS n FROM s GROUP BY k, session_window(at, '30 seconds')"
QUERIES: dict[str, dict[str, Any]] = {
    "plain": {"cql": MINUTES},
    "joined": {"cql": JOINED},
    "once": {"cql": MINUTES, "emit": "final"},
    "gaps": {"cql": GAPS, "emit": "final"},
    **{name: {"cql": ENDS, "emit": "final", "sink": sink} for name, sink in SINKS.items()},
}
AT = "2026-05-04 10:0"


@pytest.fixture(scope="module")
def ran(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[SparkRuntime, dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("windows")
    (folder / "s.csv").write_text(ROWS)
    runtime = SparkRuntime(application({"s": STREAM}, QUERIES, folder=folder).checked(), spark)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True))
    report = runtime.stop()
    assert report["errors"] == {}
    return runtime, report, folder


def content(runtime: SparkRuntime, query: str) -> list[tuple[Any, ...]]:
    sink: Any = runtime.sinks[query]
    rows = [row for table in sink.tables() for row in table.to_pylist()]
    return sorted(tuple(str(v)[:19] for v in row.values()) for row in rows)


def test_a_late_tuple_is_in_no_group_alone_or_joined(ran: Any) -> None:
    runtime, report, _ = ran
    counted = [("1", f"{AT}0:00", "1"), ("1", f"{AT}1:00", "2"), ("1", f"{AT}2:00", "1")]
    counted += [("2", f"{AT}0:00", "1"), ("2", f"{AT}5:00", "1")]
    assert content(runtime, "plain") == counted
    assert content(runtime, "joined") == [(*row, row[-1]) for row in counted]
    assert report["late"] == {"s": 1}


def test_each_window_is_output_once(ran: Any) -> None:
    runtime, report, _ = ran
    closed = [("1", f"{AT}0:00", "1"), ("1", f"{AT}1:00", "2"), ("1", f"{AT}2:00", "1"), ("2", f"{AT}0:00", "1")]
    assert content(runtime, "once") == closed
    assert report["queries"]["once"]["outputs"] == len(closed)
    gaps = [("1", f"{AT}0:35", "1"), ("1", f"{AT}1:40", "2"), ("1", f"{AT}3:00", "1"), ("2", f"{AT}1:20", "1")]
    assert content(runtime, "gaps") == gaps


def test_rows_carry_start_and_end_in_every_sink(ran: Any) -> None:
    _, _, folder = ran
    starts = [f"{AT}0:00", f"{AT}1:00", f"{AT}2:00"]
    for name in ("as.csv", "changes.csv"):
        with _file(folder / name).open() as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
        assert [row["since"][:19] for row in rows] == starts
        assert [_plain(json.loads(row["window"])["end"]) for row in rows] == [_plain(row["until"]) for row in rows]
        assert ("change" in rows[0]) == (name == "changes.csv")
    for name in ("as.jsonl", "changes.jsonl"):
        rows = [json.loads(line) for line in _file(folder / name).read_text().splitlines()]
        assert [_plain(row["window"]["start"]) for row in rows] == starts
        assert all(_plain(row["window"]["end"]) == _plain(row["until"]) for row in rows)
        assert {row.get("change") for row in rows} == ({"+"} if name == "changes.jsonl" else {None})


def _file(path: Path) -> Path:
    return next(path.iterdir()) if path.is_dir() else path


def _plain(time: str) -> str:
    return time.replace("T", " ")[:19]
