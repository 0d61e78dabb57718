"""If a query skips bad rows, expressions that can fail are moved out of operators with state."""

from __future__ import annotations

import pytest

from headgate.plan.model import Plan
from headgate.plan.operators import Aggregate, Project, Select, StreamJoin
from tests.applications import application

STREAMS = {
    "s": {"schema": "k INT, v INT, ts TIMESTAMP", "time": "ts"},
    "t": {"schema": "k INT, w INT, ts TIMESTAMP", "time": "ts"},
}


def plan_of(cql: str, on_error: str = "skip") -> Plan:
    return application(STREAMS, {"q": {"cql": cql, "on_error": on_error}}).checked().plan


@pytest.mark.parametrize(
    ("cql", "columns", "values"),
    [
        ("SELECT sum(100 / v) AS x FROM s", {"in_1": "100 / v"}, {"x": "sum(in_1)"}),
        ("SELECT count(DISTINCT 100 / v) AS x FROM s", {"in_1": "100 / v"}, {"x": "count(DISTINCT in_1)"}),
        (
            "SELECT sum(100 / v) FILTER (WHERE v <> 0) AS x FROM s",
            {"v": "v", "in_1": "CASE WHEN v <> 0 THEN 100 / v END"},
            {"x": "sum(in_1) FILTER (WHERE v <> 0)"},
        ),
        ("SELECT max(v) AS m, sum(v + 1) AS x FROM s", {"v": "v", "in_2": "v + 1"}, {"m": "max(v)", "x": "sum(in_2)"}),
        ("SELECT sum(v) AS x FROM s", None, {"x": "sum(v)"}),
        ("SELECT count(*) AS x FROM s", None, {"x": "count(*)"}),
    ],
)
def test_what_an_aggregate_computes_per_row_moves_in_front_of_it(
    cql: str, columns: dict[str, str] | None, values: dict[str, str]
) -> None:
    operators = plan_of(cql).operators
    aggregate = operators["q/group"]
    assert isinstance(aggregate, Aggregate)
    assert dict(aggregate.values) == values
    before = operators.get("q/group-in")
    assert (dict(before.columns) if isinstance(before, Project) else None) == columns
    kept = plan_of(cql, "stop").operators
    assert "q/group-in" not in kept


def test_groups() -> None:
    cql = "SELECT window(ts, '10 s') AS w, k % 2 AS p, count(*) AS n FROM s GROUP BY window(ts, '10 s'), k % 2"
    operators = plan_of(cql).operators
    before, aggregate = operators["q/group-in"], operators["q/group"]
    assert isinstance(before, Project)
    assert isinstance(aggregate, Aggregate)
    assert list(before.columns.values()) == ["ts", "k % 2"]
    assert [text.split("(")[0] for text in aggregate.group.values()] == ["window", next(reversed(before.columns))]


def test_conditions_of_a_join() -> None:
    """Equalities and safe conditions stay; operators that read the join now read the selection after it."""
    cql = "SELECT s.k, t.w FROM s [NOW] AS s, t [NOW] AS t WHERE s.k = t.k AND s.v < t.w AND 100 / s.v < t.w"
    plan = plan_of(cql)
    join, where = plan.operators["q/join"], plan.operators["q/join-where"]
    assert isinstance(join, StreamJoin)
    assert isinstance(where, Select)
    assert join.condition == "(`s.k` = `t.k`) AND (`s.v` < `t.w`)"
    assert where.where == "(100 / `s.v` < `t.w`)"
    readers = [one.id for one in plan.operators.values() if any(port.node == "q/join" for port in one.inputs)]
    assert readers == ["q/join-where"]
