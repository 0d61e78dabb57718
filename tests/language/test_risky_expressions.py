"""If a query skips bad rows, expressions that can fail are moved out of operators with state."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.application.load import load_application
from headgate.plan.model import Plan
from headgate.plan.operators import Aggregate, Project, Select, StreamJoin


def plan_of(folder: Path, cql: str, on_error: str = "skip", more: str = "") -> Plan:
    feeder = "source: {kind: feeder, rate: 1, rows: 1}"
    (folder / "app.yaml").write_text(
        f'streams:\n  s: {{schema: "k INT, v INT, ts TIMESTAMP", time: ts, {feeder}}}\n'
        f'  t: {{schema: "k INT, w INT, ts TIMESTAMP", time: ts, {feeder}}}\n'
        f'queries:\n  q: {{cql: "{cql}", on_error: {on_error}}}\n{more}'
    )
    return load_application(folder / "app.yaml").plan


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
    tmp_path: Path, cql: str, columns: dict[str, str] | None, values: dict[str, str]
) -> None:
    operators = plan_of(tmp_path, cql).operators
    aggregate = operators["q/group"]
    assert isinstance(aggregate, Aggregate)
    assert dict(aggregate.values) == values
    before = operators.get("q/group-in")
    assert (dict(before.columns) if isinstance(before, Project) else None) == columns
    kept = plan_of(tmp_path, cql, "stop").operators
    assert "q/group-in" not in kept


def test_groups(tmp_path: Path) -> None:
    cql = "SELECT window(ts, '10 s') AS w, k % 2 AS p, count(*) AS n FROM s GROUP BY window(ts, '10 s'), k % 2"
    operators = plan_of(tmp_path, cql).operators
    before, aggregate = operators["q/group-in"], operators["q/group"]
    assert isinstance(before, Project)
    assert isinstance(aggregate, Aggregate)
    assert list(before.columns.values()) == ["ts", "k % 2"]
    assert [text.split("(")[0] for text in aggregate.group.values()] == ["window", next(reversed(before.columns))]


def test_conditions_of_a_join(tmp_path: Path) -> None:
    """Equalities and safe conditions stay; operators that read the join now read the selection after it."""
    cql = "SELECT s.k, t.w FROM s [NOW] AS s, t [NOW] AS t WHERE s.k = t.k AND s.v < t.w AND 100 / s.v < t.w"
    plan = plan_of(tmp_path, cql)
    join, where = plan.operators["q/join"], plan.operators["q/join-where"]
    assert isinstance(join, StreamJoin)
    assert isinstance(where, Select)
    assert join.condition == "(`s.k` = `t.k`) AND (`s.v` < `t.w`)"
    assert where.where == "(100 / `s.v` < `t.w`)"
    readers = [one.id for one in plan.operators.values() if any(port.node == "q/join" for port in one.inputs)]
    assert readers == ["q/join-where"]
