"""`emit: final` in an application: queries whose windows close, and the errors for all others."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.application.checked import CheckedApplication
from headgate.errors import ApplicationError
from headgate.plan.operators import Aggregate, RStream
from tests.applications import application

STREAMS = {
    "s": {"schema": "k INT, v INT, ts TIMESTAMP, other TIMESTAMP", "time": "ts"},
    "a": {"schema": "k INT, ts TIMESTAMP"},
}
TABLES = {"p": {"kind": "rows", "schema": "k INT, floor INT", "rows": [{"k": 1, "floor": 2}]}}


def load(query: str | list[dict[str, Any]], emit: str = "final", **more: str) -> CheckedApplication:
    said = {"cql": query} if isinstance(query, str) else {"operators": query}
    return application(STREAMS, {"q": {**said, "emit": emit}, **more}, TABLES).checked()


def group_of(app: CheckedApplication) -> Aggregate:
    return next(one for one in app.plan.operators.values() if isinstance(one, Aggregate))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, window.start AS b, count(*) AS n FROM s GROUP BY k, window(ts, '1 minute')",
        "SELECT session_window, sum(v) AS n FROM s WHERE v > 1 GROUP BY session_window(ts, '5 min') HAVING sum(v) > 3",
        "SELECT p.floor, window.end AS e, count(*) FROM s JOIN p ON s.k = p.k GROUP BY p.floor, window(s.ts, '1 day')",
        "SELECT w, n FROM (SELECT window(ts, '10 seconds', '5 seconds') AS w, count(*) AS n FROM s GROUP BY 1) AS x",
    ],
)
def test_windows_of_spark(text: str) -> None:
    app = load(text)
    assert group_of(app).emits == "final"
    assert not app.plan.flows[app.plan.queries["q"].root].relation
    assert app.plan.warnings == (), "nothing is kept forever"
    assert "each window once, when it closes" in group_of(app).describe()


def test_listed_operators() -> None:
    group = {"id": "g", "kind": "aggregate", "input": "s", "group": {"w": "window(ts, '1 minute')"}}
    assert group_of(load([{**group, "values": {"n": "count(*)"}}])).emits == "final"


def test_sliding_windows_of_cql() -> None:
    by = "SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"
    assert group_of(load(by)).emits == "rstream"
    whole = "SELECT count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]"
    app = load(whole)
    assert any(isinstance(one, RStream) for one in app.plan.operators.values())
    assert not app.plan.flows[app.plan.queries["q"].root].relation


def test_other_queries_read_the_result_as_a_stream() -> None:
    text = "SELECT k, window.start AS b, count(*) AS n FROM s GROUP BY k, window(ts, '1 minute')"
    app = load(text, r="SELECT max(n) AS n FROM q [ROWS 3]")
    assert set(app.plan.queries) == {"q", "r"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT k FROM s", "does not end in a GROUP BY"),
        ("SELECT count(*) AS n FROM s GROUP BY session_window(ts, '1 month')", "months and years vary in length"),
        ("SELECT k, count(*) AS n FROM s GROUP BY k", "says when a group is final"),
        ("SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k", "says when a group is final"),
        ("SELECT count(*) AS n FROM s GROUP BY window(other, '1 minute')", "does not use the time of stream 's'"),
        ("SELECT count(*) AS n FROM a GROUP BY window(ts, '1 minute')", "the time of arrival"),
        ("SELECT count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY window(ts, '1 minute')", "rows leave"),
        ("ISTREAM(SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute'))", "does not end in a GROUP BY"),
        ("SELECT count(*) AS n FROM (SELECT DISTINCT ts FROM s) AS x GROUP BY window(ts, '1 minute')", "a relation"),
        (
            "SELECT count(*) AS n FROM s GROUP BY session_window(ts, CASE WHEN v > 1 THEN '1 day' ELSE '2 days' END)",
            "needs a single call of window",
        ),
    ],
)
def test_errors(text: str, problem: str) -> None:
    with pytest.raises(ApplicationError, match=problem) as error:
        load(text)
    assert error.value.place == "queries.q.emit"
    assert error.value.remedy


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(ApplicationError, match="final") as error:
        load("SELECT k FROM s", emit="finally")
    assert error.value.place == "queries.q.emit"


def test_changes_is_the_default() -> None:
    text = "SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute')"
    app: Any = load(text, emit="changes")
    assert group_of(app).emits == "relation"
