"""Counts, sums and averages that make up for what was dropped; which queries can have that, and where EXTRA goes."""

import pytest

from headgate.plan.operators import Aggregate, Port
from headgate.plan.weighing import error_bound, scaled, sheddable, weighed
from headgate.sql.schema import EXTRA, parse_schema
from tests.applications import application

SCHEMA = parse_schema("k INT, b BIGINT, v DOUBLE, d DECIMAL(10, 2), t STRING", "s")
STREAM = "k INT, v DOUBLE, ts TIMESTAMP"
WINDOW = "[RANGE 2 SECONDS SLIDE 2 SECONDS]"


def plan_of(cql, tolerance=0.3, **more):
    streams = {"s": {"schema": STREAM, "time": "ts"}, "t": {"schema": STREAM, "time": "ts"}}
    return application(streams, {"q": {"cql": cql, "tolerance": tolerance, **more}}).checked().plan


def aggregate(plan):
    (found,) = [one for one in plan.operators.values() if isinstance(one, Aggregate)]
    return found


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("count(*)", "sum(_extra)"),
        ("count(v)", "CASE WHEN (v) IS NOT NULL THEN _extra END"),
        ("count_if(k > 3)", "CASE WHEN (k > 3) THEN _extra END"),
        ("sum(k)", "sum(CAST((k) AS BIGINT) * _extra)"),
        ("sum(b)", "DECIMAL(19, 0)"),
        ("sum(v)", "sum((v) * _extra) / 64"),
        ("sum(d)", "AS DECIMAL(20, 2)"),
        ("avg(v)", "nullif(count((v))"),
        ("round(sum(v) / count(*), 2)", "sum((v) * _extra)"),
    ],
)
def test_what_can_be_estimated_is(text, added):
    assert added in scaled(text, SCHEMA)


@pytest.mark.parametrize(
    "text", ["min(v)", "max(k)", "count(DISTINCT k)", "sum(v) FILTER (WHERE k > 1)", "avg(d)", "stddev(v)", "first(t)"]
)
def test_what_cannot_be_estimated_stays_as_it_is(text):
    assert scaled(text, SCHEMA) == text
    assert error_bound(text, SCHEMA) is None


def test_only_a_single_call_has_a_bound():
    assert error_bound("sum(v)", SCHEMA)
    assert error_bound("sum(v) / count(*)", SCHEMA) is None


def test_a_tolerant_query_reads_a_variant_of_its_stream_and_gives_the_same_columns():
    before = plan_of(f"SELECT k, count(*) AS n FROM s {WINDOW} WHERE v > 0.5 GROUP BY k")
    after = weighed(before)
    assert after.ports_of("s") == (Port("s"), Port("s", "weighed"))
    assert after.readers("s") == ("q",)
    assert EXTRA in aggregate(after).values["n"]
    assert after.schemas[after.queries["q"].root] == before.schemas[before.queries["q"].root]


@pytest.mark.parametrize(
    "cql",
    [
        f"SELECT sum(v) AS total FROM (SELECT v * 2 AS v, k FROM s) {WINDOW} WHERE k > 2",
        f"SELECT s.k, count(*) AS n FROM s {WINDOW}, t {WINDOW} WHERE s.k = t.k GROUP BY s.k",
        f"SELECT k, avg(v) AS mean FROM s {WINDOW} GROUP BY k HAVING count(*) > 3",
        "SELECT k, sum(v) AS total FROM s [RANGE 5 SECONDS] GROUP BY k",
        "SELECT count(*) AS n FROM s",
    ],
)
def test_what_can_be_weighed(cql):
    after = weighed(plan_of(cql))
    assert any(port.branch for one in after.operators.values() for port in one.inputs)
    assert all(EXTRA not in after.schemas[query.root].names for query in after.queries.values())


@pytest.mark.parametrize(
    "cql",
    [
        "SELECT k, v FROM s WHERE v > 0.5",
        f"ISTREAM(SELECT s.k FROM s {WINDOW}, t {WINDOW} WHERE s.k = t.k)",
        "SELECT k, count(*) AS n FROM s [ROWS 10] GROUP BY k",
        f"SELECT DISTINCT k FROM s {WINDOW}",
    ],
)
def test_what_cannot_be_weighed_is_left_alone(cql):
    before = plan_of(cql)
    assert weighed(before) is before
    assert sheddable(before, before.queries["q"])


def test_queries_without_tolerance_and_those_that_others_read_are_left_alone():
    plan = plan_of("SELECT count(*) AS n FROM s", tolerance=None)
    assert weighed(plan) is plan
    assert not sheddable(plan, plan.queries["q"])
    both = {"a": {"cql": "SELECT k, v FROM s", "tolerance": 0.2}, "b": "SELECT count(*) AS n FROM a"}
    plan = application({"s": STREAM}, both).checked().plan
    assert not any(sheddable(plan, query) for query in plan.queries.values())


def test_error_bounds_are_columns_of_the_result():
    cql = f"SELECT k AS room, count(*) AS n, sum(v) AS total, max(v) AS top FROM s {WINDOW} GROUP BY k"
    after = weighed(plan_of(cql, error_bounds=True))
    names = after.schemas[after.queries["q"].root].names
    assert names == ("room", "n", "total", "top", "n_error", "total_error")


@pytest.mark.parametrize(
    ("cql", "tolerance"),
    [("SELECT k FROM s", 0.3), ("SELECT count(*) AS n FROM s", None), ("SELECT max(v) AS top FROM s", 0.3)],
)
def test_error_bounds_that_cannot_be_given_are_refused(cql, tolerance):
    with pytest.raises(Exception, match="cannot have error bounds"):
        plan_of(cql, tolerance, error_bounds=True)
