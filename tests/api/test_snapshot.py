"""One-time queries over what a run holds, on Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.api.snapshot import SnapshotTimeout
from headgate.application.untrusted import Allowed

pytestmark = pytest.mark.spark
PATIENCE_S = 120.0


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


@pytest.fixture(scope="module")
def run(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[hg.Run]:
    folder: Path = tmp_path_factory.mktemp("snapshots")
    (folder / "places.csv").write_text("symbol,place\nA,Wien\nB,Praha\n")
    app = hg.Application(slots=1, folder=folder)
    app.stream("trades", "symbol STRING, price DOUBLE, ts TIMESTAMP", time="ts")
    app.table("names", [{"symbol": "A", "name": "Alpha"}, {"symbol": "B", "name": "Beta"}])
    app.table("places", "places.csv", "symbol STRING, place STRING")
    app.query("last_minute", "SELECT * FROM trades [RANGE 10 SECONDS]")
    app.query("last_two", "SELECT symbol, price, ts FROM trades [ROWS 2]")
    app.query("sums", "SELECT symbol, sum(price) AS total FROM trades GROUP BY symbol")
    app.query("large", "SELECT t.symbol, n.name FROM trades t JOIN names n ON t.symbol = n.symbol WHERE t.price > 2")
    app.query("none", "SELECT symbol FROM trades WHERE price < 0")
    app.query("elsewhere", "SELECT symbol FROM trades", sink=hg.sinks.Nothing())
    with app.start(spark) as started:
        started.push("trades", [("A", 1.0, at(0)), ("B", 2.0, at(5)), ("A", 3.0, at(12)), ("A", 4.0, at(13))])
        started.push("trades", [("C", 0.0, at(14))])  # not there yet: more rows of this instant may come
        assert started.drain(PATIENCE_S)
        yield started


def rows(run: hg.Run, text: str, **settings: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in run.snapshot(text, **settings).to_pylist()]


def test_relations_stream_results_and_tables(run: hg.Run) -> None:
    assert rows(run, "SELECT symbol, price FROM last_minute ORDER BY price DESC LIMIT 2") == [("A", 4.0), ("A", 3.0)]
    assert rows(run, "SELECT * FROM Sums ORDER BY symbol") == [("A", 8.0), ("B", 2.0)]
    assert rows(run, "SELECT name, count(*) AS n FROM large GROUP BY name") == [("Alpha", 2)]
    assert rows(run, "SELECT count(*) AS n FROM none") == [(0,)]
    text = """
        WITH s AS (SELECT * FROM sums WHERE total > (SELECT min(total) FROM sums))  -- not the least
        SELECT s.symbol, names.name, place FROM s JOIN names USING (symbol) LEFT JOIN places p ON p.symbol = s.symbol
    """
    assert rows(run, text) == [("A", "Alpha", "Wien")]


def test_windows_that_a_query_holds(run: hg.Run) -> None:
    wanted = [("B", 2.0), ("A", 3.0), ("A", 4.0)]
    assert rows(run, "SELECT symbol, price FROM trades [RANGE 10 SECONDS] ORDER BY price") == wanted
    assert rows(run, "SELECT count(*) AS n FROM trades [RANGE 10000 MILLISECONDS] AS t WHERE t.price > 2") == [(2,)]
    assert rows(run, "SELECT max(t.price) AS m FROM trades [ROWS 2] t") == [(4.0,)]
    with pytest.raises(hg.ApplicationError, match=r"line 1, character 15: no running query holds .* \[RANGE 9 SECONDS"):
        run.snapshot("SELECT * FROM trades [RANGE 9 SECONDS]")
    with pytest.raises(hg.ApplicationError, match="'trades' is a stream, of which nothing is kept"):
        run.snapshot("SELECT * FROM trades")


def test_a_table_that_joins_later(run: hg.Run) -> None:
    run.add_table("late", [{"x": 1}])
    assert rows(run, "SELECT x + 1 AS y FROM late") == [(2,)]


def test_limit(run: hg.Run) -> None:
    assert len(rows(run, "SELECT * FROM last_minute a CROSS JOIN last_minute b", limit=5)) == 5
    assert len(rows(run, "SELECT * FROM last_minute LIMIT 2", limit=5)) == 2
    with pytest.raises(ValueError, match="limit must be at least 1"):
        run.snapshot("SELECT * FROM sums", limit=0)


@pytest.mark.parametrize(
    ("text", "problem"),
    {
        "SELECT\n totel FROM sums": "line 2, character 2: ",
        "SELECT symbol FROM sums WHERE symbol = ": "line 1, character 38: cannot parse the text at '='",
        "SELECT x FROM nothing": "line 1, character 15: there is no 'nothing' to read",
        "SELECT symbol FROM elsewhere": "line 1, character 20: the results of query 'elsewhere' are not kept in memory",
        "SELECT symbol FROM sums [NOW]": "'sums' is no stream and cannot have a window here",
        "ISTREAM(SELECT symbol FROM sums)": "ISTREAM makes a stream, and a one-time query has none",
        "SELECT 1 / (total - total) AS x FROM sums": "ivision by zero",
        "SELECT reflect('java.lang.System', 'getenv', 'HOME') FROM sums": "calls any method",
        "SELECT * FROM text.`/etc/passwd`": "has two parts",
        "SELECT * FROM global_temp.theirs": "has two parts",
        "SELECT * FROM theirs": "there is no 'theirs' to read",
        "SELECT * FROM theirs WHERE EXISTS (WITH theirs AS (SELECT 1) SELECT * FROM theirs)": "there is no 'theirs'",
        "WITH v AS (WITH theirs AS (SELECT 1 AS x) SELECT x FROM theirs) SELECT * FROM theirs": "there is no 'theirs'",
        "SELECT * FROM range(10)": "FROM contains something that cannot be read",
        "SELECT total FROM sums; DROP TABLE theirs": "there is more than one query",
        "DROP TABLE theirs": "this is not a query",
        "SELECT TRANSFORM(total) USING 'cat' FROM sums": "cannot parse the text",
        "SELECT /*+ BROADCAST(sums) */ total FROM sums": "a hint is not supported",
        "SELECT total FROM sums LIMIT length(reflect('a', 'b'))": "LIMIT is not a number",
    }.items(),
)
def test_errors(spark: Any, run: hg.Run, text: str, problem: str) -> None:
    spark.range(1).createOrReplaceTempView("theirs")
    spark.range(1).createOrReplaceGlobalTempView("theirs")
    with pytest.raises(hg.ApplicationError) as caught:
        run.snapshot(text)
    assert problem in caught.value.problem
    assert caught.value.place == "snapshot"


def test_a_text_is_what_it_says(run: hg.Run) -> None:
    assert rows(run, "SELECT '${env:HOME}' AS a, 'it''s' AS b FROM sums LIMIT 1") == [("${env:HOME}", "it's")]


def test_requests_use_listed_functions(run: hg.Run) -> None:
    assert rows(run, "SELECT explode(array(1, 2)) AS x", untrusted=Allowed()) == [(1,), (2,)]
    for text in (
        "SELECT from_xml(symbol, 'a INT') AS x FROM sums",
        "SELECT symbol FROM sums ORDER BY current_user()",
        "SELECT (SELECT max(repeat(symbol, 1000000000)) FROM sums) AS x",
    ):
        with pytest.raises(hg.ApplicationError, match="line 1, character"):
            run.snapshot(text, untrusted=Allowed())
    with pytest.raises(hg.ApplicationError, match="characters"):
        run.snapshot("SELECT 1" + " " * 30_000, untrusted=Allowed())


def test_a_long_query_is_canceled(spark: Any, run: hg.Run) -> None:
    text = (
        "SELECT sum(length(repeat(cast(a.id + b.id AS STRING), 9))) AS x FROM big a CROSS JOIN big b CROSS JOIN big c"
    )
    run.add_table("big", [{"id": number} for number in range(3000)])
    began = time.monotonic()
    with pytest.raises(SnapshotTimeout, match="longer than 2 seconds"):
        run.snapshot(text, timeout=2)
    assert time.monotonic() - began < 30
    assert rows(run, "SELECT count(*) AS n FROM sums") == [(2,)]  # the thread's next jobs are not canceled
    assert not spark.sparkContext.getLocalProperty("spark.jobGroup.id")


def test_from_several_threads_while_rows_come(run: hg.Run) -> None:
    found: list[int] = []

    def ask() -> None:
        for _ in range(3):
            found.append(rows(run, "SELECT count(*) AS n FROM last_two")[0][0])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for second in range(20, 30):
        run.push("trades", [("C", 5.0, at(second))])
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found == [2] * 9
    assert run.drain(PATIENCE_S)
    assert run.report().errors == {}
