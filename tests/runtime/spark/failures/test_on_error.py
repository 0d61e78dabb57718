"""on_error: if rows that make an operator fail are skipped, every schedule gives the answer over all other rows."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headgate.application.checked import CheckedApplication
from headgate.connect.sinks.memory import MemorySink
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.source_thread import open_sources
from tests.applications import application

pytestmark = pytest.mark.spark

RANDOM = random.Random(3)
S = [(n, RANDOM.randrange(3), RANDOM.randrange(1, 9)) for n in range(24)]
BAD = {5, 17}
GOOD = [row for row in S if row[0] not in BAD]
T = [(n, RANDOM.randrange(3), RANDOM.randrange(1, 99)) for n in range(0, 24, 4)]
QUERIES = {
    "plain": "SELECT n, 100 / v AS q FROM s WHERE k <> 7",
    "sums": "RSTREAM(SELECT k, sum(100 / v) AS q FROM s [RANGE 16 SLIDE 8] GROUP BY k)",
    "pairs": "ISTREAM(SELECT s.n, t.w FROM s [RANGE 8] AS s, t [RANGE 8] AS t WHERE s.k = t.k AND 100 / s.v < t.w)",
    "counts": "RSTREAM(SELECT k, 100 / (count(*) - 4) AS q FROM s [RANGE 16 SLIDE 8] GROUP BY k)",
}


def expected() -> dict[str, Counter[str]]:
    """The results that the queries define without bad rows. For `counts` no row is bad, but a group of four rows is."""
    windows = {
        (at, k): [row for row in S if row[1] == k and at - 16 < row[0] <= at] for at in (0, 8, 16) for k in range(3)
    }
    good = {key: [row for row in rows if row in GOOD] for key, rows in windows.items()}
    counts = {key: len(rows) for key, rows in windows.items() if rows}
    return {
        "plain": Counter(str({"n": n, "q": 100 / v}) for n, _, v in GOOD),
        "sums": Counter(
            str({"k": key[1], "q": sum(100 / v for _, _, v in rows)}) for key, rows in good.items() if rows
        ),
        "pairs": Counter(
            str({"n": n, "w": w}) for n, k, v in GOOD for m, j, w in T if k == j and abs(n - m) < 8 and 100 / v < w
        ),
        "counts": Counter(str({"k": k, "q": 100 / (n - 4)}) for (_, k), n in counts.items() if n != 4),
    }


def stream(schema: str, name: str, time: str | None = None) -> dict[str, Any]:
    """A stream that reads the file of its name."""
    return {"schema": schema, "source": {"kind": "csv", "path": f"{name}.csv"}} | ({"time": time} if time else {})


def settings(folder: Path, policy: str = "rr", unit: str = "query") -> dict[str, Any]:
    letters = {"dead_letters": "letters.jsonl", "folder": folder}
    return {"policy": {"name": policy, "unit": unit}, "slots": 1, **letters}


def application_of(
    folder: Path, queries: dict[str, str], policy: str = "rr", unit: str = "query", on_error: str = "skip"
) -> CheckedApplication:
    """The queries over files with the rows of S and T; v is 0 in the bad rows of S."""
    rows = [(n, k, 0 if n in BAD else v) for n, k, v in S]
    (folder / "s.csv").write_text("n,k,v\n" + "".join(f"{n},{k},{v}\n" for n, k, v in rows))
    (folder / "t.csv").write_text("n,k,w\n" + "".join(f"{n},{k},{w}\n" for n, k, w in T))
    streams = {"s": stream("n BIGINT, k INT, v INT", "s", "n"), "t": stream("n BIGINT, k INT, w INT", "t", "n")}
    made = {name: {"cql": cql, "on_error": on_error} for name, cql in queries.items()}
    return application(streams, made, **settings(folder, policy, unit)).checked()


def run(
    spark: Any, app: CheckedApplication, piece: int
) -> tuple[dict[str, Counter[str]], dict[str, Any], list[dict[str, Any]]]:
    """Answers, report and dead letters when `piece` rows arrive at a time."""
    runtime = SparkRuntime(app, spark)
    runtime.open()
    sources = open_sources(app, letters=runtime.dead_letters)
    while sources:
        for name in list(sources):
            table = sources[name].poll(0.0, piece)
            if table is None:
                sources.pop(name)
                runtime.ended(name)
            else:
                runtime.deliver({name: table})
        while runtime.step(0):
            pass
    report = runtime.stop()
    answers = {
        name: Counter(repr(row) for table in sink.tables() for row in table.to_pylist())
        for name, sink in runtime.sinks.items()
        if isinstance(sink, MemorySink)
    }
    path = app.dead_letters
    assert path is not None
    letters = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    assert report["dead_letters"]["rows"] == len(letters)
    return answers, report, letters


@pytest.mark.parametrize(("policy", "unit", "piece"), [("rr", "query", 24), ("fifo", "operator", 7)])
def test_every_schedule_gives_the_answer_over_the_other_rows(
    spark: Any, tmp_path: Path, policy: str, unit: str, piece: int
) -> None:
    answers, report, letters = run(spark, application_of(tmp_path, QUERIES, policy, unit), piece)
    assert not report["errors"]
    assert answers == expected()
    assert {letter["kind"] for letter in letters} == {"failed"}
    assert all("Division by zero" in letter["reason"] for letter in letters)
    for query in ("plain", "sums"):
        assert sorted(letter["position"] for letter in letters if letter["query"] == query) == sorted(BAD)
        assert report["dead_letters"]["queries"][query] == len(BAD)
    groups = [letter["row"]["k"] for letter in letters if letter["query"] == "counts"]
    assert len(groups) == sum(
        len([n for n, j, _ in S if j == k and at - 16 < n <= at]) == 4 for at in (0, 8, 16) for k in range(3)
    )


def test_a_query_that_stops_has_given_all_earlier_results(spark: Any, tmp_path: Path) -> None:
    queries = {"plain": "SELECT n, 100 / v AS q FROM s", "good": "SELECT n FROM s WHERE v >= 0"}
    answers, report, letters = run(spark, application_of(tmp_path, queries, on_error="stop"), 24)
    assert answers["plain"].total() == min(BAD)
    assert answers["good"].total() == len(S)
    assert "Division by zero" in report["errors"]["plain"]
    assert "(operator select, stream s, position 5, row {'n': 5, " in report["errors"]["plain"]
    assert report["unprocessed"] == {"plain": len(S) - min(BAD)}
    assert not letters


def test_failing_functions_cost_only_their_rows(spark: Any, tmp_path: Path) -> None:
    """A function that raises, exits, dies, hangs, or returns an undeclared type costs only the affected rows."""
    (tmp_path / "s.csv").write_text("v\n" + "".join(f"{v}\n" for v in (10, 1, 11, 2, 3, 12, 4, 5, 13)))
    bad = {"function": "tests.runtime.spark.bad_functions:bad", "schema": "w BIGINT", "time_limit": "3 s"}
    query = {"operators": [{"id": "f", "kind": "function", "input": "s", **bad}], "on_error": "skip"}
    app = application({"s": stream("v BIGINT", "s")}, {"q": query}, **settings(tmp_path))
    answers, report, letters = run(spark, app.checked(), 9)
    assert not report["errors"]
    assert answers["q"] == Counter(f"{{'w': {w}}}" for w in (20, 22, 24, 26))
    assert [(letter["row"]["v"], letter["reason"]) for letter in letters] == [
        (v, f"function tests.runtime.spark.bad_functions:bad {what}")
        for v, what in (
            (1, "failed: ValueError: unlucky"),
            (2, "failed: SystemExit: 3"),
            (3, "failed: it ended its Python process, or it could not be interrupted at its time_limit of 3 s"),
            (4, "failed: TimeoutError: it took longer than 3 s (time_limit)"),
            (5, "returned column w as string; its schema declares int64"),
        )
    ]


def test_times_that_python_cannot_hold(spark: Any, tmp_path: Path) -> None:
    """Spark allows years outside 1 to 9999; results and letters with such years are still written."""
    (tmp_path / "s.csv").write_text("v,at\n1,2024-02-29 10:00:00\n0,2024-02-29 10:00:00\n")
    early = {"v": "v", "at": "named_struct('x', at - INTERVAL '2024' YEAR)"}
    operators = [
        {"id": "early", "kind": "project", "input": "s", "columns": early},
        {"id": "share", "kind": "project", "input": "early", "columns": {"share": "1 div v", "at": "at"}},
    ]
    query = {"operators": operators, "on_error": "skip", "sink": {"kind": "json", "path": "out.json"}}
    app = application({"s": stream("v INT, at TIMESTAMP", "s")}, {"q": query}, **settings(tmp_path))
    _, report, letters = run(spark, app.checked(), 10)
    assert not report["errors"]
    at = {"x": "0000-02-29 10:00:00"}
    assert [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()] == [{"share": 1, "at": at}]
    assert [letter["row"] for letter in letters] == [{"v": 0, "at": at}]
