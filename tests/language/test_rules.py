"""Each rewriting rule alone; the fixtures show what all rules do to whole queries."""

import pytest
import sqlglot
from sqlglot import exp

from headgate.language.rules import RULES
from headgate.language.rules.fold_constants import folded
from headgate.language.rules.share import share
from headgate.plan.operators import Select
from headgate.plan.operators.base import Declared, Operator, Port
from headgate.sql.dialect import Cql, sql_of
from tests.language.catalogs import plan_lines, plan_of


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("TRUE AND a > 1", "a > 1"),
        ("a > 1 AND 1 = 1", "a > 1"),
        ("a > 1 AND 1 > 2", "FALSE"),
        ("a > 1 OR 1 = 1", "TRUE"),
        ("FALSE OR (a OR b)", "(a OR b)"),
        ("NOT (1 = 2)", "TRUE"),
        ("a > 2 * 3 + 1", "a > 7"),
        ("a > 2 - 5", "a > (-3)"),
        ("a = 1 + b", "a = 1 + b"),
        ("2147483647 + 1 > a", "2147483647 + 1 > a"),  # overflows; Spark has to handle it
        ("5 / 2 > a", "5 / 2 > a"),
        ("0.1 + 0.2 = 0.3", "0.1 + 0.2 = 0.3"),
        ("'a' = 'a'", "'a' = 'a'"),
        ("NULL AND TRUE", "NULL"),
        ("f(1 + 1, x -> x + (1 + 1))", "f(2, x -> x + 2)"),
    ],
)
def test_constants(before: str, after: str) -> None:
    assert sql_of(folded(sqlglot.parse_one(before, read=Cql, into=exp.Condition))) == after


def rewritten(text: str) -> list[str]:
    return plan_lines(plan_of(text, rules=RULES))


def test_selections_never_pass_rows_windows() -> None:
    lines = rewritten("SELECT location FROM sensors [ROWS 3] WHERE humidity > 1")
    assert [line.split(" = ")[0] for line in lines] == ["select", "rows", "where", "select2", "changes"]


def test_selections_do_not_enter_a_view_that_others_read() -> None:
    lines = rewritten(
        "WITH v AS (SELECT location, humidity FROM sensors) "
        "SELECT a.location FROM v [NOW] a, v [NOW] b WHERE a.humidity > 1"
    )
    assert "v-select = project(sensors): location, humidity" in lines
    assert "v-where = select(v-select): humidity > 1" in lines


def test_selections_do_not_pass_a_union_of_other_types() -> None:
    lines = rewritten(
        "SELECT * FROM (SELECT humidity AS x FROM sensors UNION ALL SELECT 0.5 FROM doors) "
        "WHERE CAST(x AS STRING) = '1'"
    )
    assert lines[-1] == "where = select(union): CAST(x AS STRING) = '1'"


def test_a_selection_over_a_computed_column_repeats_the_computation() -> None:
    lines = rewritten("SELECT * FROM (SELECT humidity + 1 AS x, ts FROM sensors) WHERE x * 2 > 3 AND x IN (1, 2)")
    assert lines[0] == "where = select(sensors): (humidity + 1) * 2 > 3 AND (humidity + 1) IN (1, 2)"


def test_lambda_variables_never_hide_columns() -> None:
    lines = rewritten("SELECT y FROM (SELECT tags, k + 1 AS y FROM clicks) WHERE exists(tags, k -> int(k) = y)")
    assert "where = select(select): exists(tags, k -> int(k) = y)" in lines


def test_partition_columns_stay() -> None:
    lines = rewritten("SELECT sum(humidity) FROM sensors [PARTITION BY location ROWS 3]")
    assert lines[0] == "select = project(sensors): location, humidity"


def test_nothing_goes_below_a_global_aggregate() -> None:
    lines = rewritten("SELECT * FROM (SELECT count(*) AS n FROM sensors) WHERE 1 > 2")
    assert any(line.startswith("having = select(group): FALSE") for line in lines)


# Sharing -----------------------------------------------------------------------------------------------------------


def select(name: str, source: str, where: str, declared: Declared = Declared()) -> Operator:  # noqa: B008
    return Select(id=name, inputs=(Port(source),), where=where, declared=declared)


def test_equal_operators_over_equal_inputs_become_one() -> None:
    left, instead = share(
        [
            select("a/where", "s", "x > 1"),
            select("b/where", "s", "x > 1"),
            select("b/more", "b/where", "y > 1"),
            select("a/more", "a/where", "y > 1"),
            select("c/where", "t", "x > 1"),
            select("d/where", "s", "x > 1", Declared(cost_s=1)),
        ]
    )
    assert [operator.id for operator in left] == ["a/where", "c/where", "d/where", "b/more"]
    assert left[-1].inputs == (Port("a/where"),)
    assert instead == {Port("b/where"): Port("a/where"), Port("a/more"): Port("b/more")}
