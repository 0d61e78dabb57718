"""Operators with windows and state, as an application lists them."""

from typing import Any

import pytest

from headgate.application.document import Document
from headgate.errors import ApplicationError
from headgate.plan.model import Plan
from headgate.plan.operators import (
    Aggregate,
    Changes,
    Distinct,
    Except,
    Intersect,
    RowWindow,
    RStream,
    StreamJoin,
    TimeWindow,
)
from headgate.plan.operators.base import DeclaredSide, Port
from headgate.plan.windows import WINDOW_REMEDY, RowsWindow, Span, parse_window
from tests.applications import application

STREAMS = {
    "sensors": {"schema": "location STRING, temperature INT, ts TIMESTAMP", "time": "ts"},
    "doors": {"schema": "place STRING, people INT, at TIMESTAMP", "time": "at"},
    "clicks": {"schema": "k INT"},
}
TWENTY = parse_window("RANGE 20 SECONDS")


def plan_of(*operators: str) -> Plan:
    """The plan of operators as a file has them, without the braces."""
    return application(STREAMS, {"q": [Document(f"{{{operator}}}").data for operator in operators]}).checked().plan


def test_aggregate() -> None:
    plan = plan_of(
        "id: avg, kind: aggregate, input: sensors, window: RANGE 20 SECONDS SLIDE 20 SECONDS, group: [location], "
        'values: {avg_t: "avg(temperature)"}',
    )
    operator = plan.operators["q/avg"]
    assert isinstance(operator, Aggregate)
    assert operator.group == {"location": "location"}
    assert operator.values == {"avg_t": "avg(temperature)"}
    assert str(operator.window) == "RANGE 20 SECONDS SLIDE 20 SECONDS"
    assert str(plan.schemas[Port("q/avg")]) == "location STRING, avg_t DOUBLE"
    assert operator.emits == "changes"
    assert plan.queries["q"].root == Port("q/avg")


@pytest.mark.parametrize("value", ["count(DISTINCT {})", "max(struct({}))", "count(*)"])
def test_a_star_stands_for_the_columns_of_the_stream(value: str) -> None:
    starred = value.format("*")
    plan = plan_of(f'id: a, kind: aggregate, input: sensors, group: [location], values: {{n: "{starred}"}}')
    operator = plan.operators["q/a"]
    assert isinstance(operator, Aggregate)
    columns = [column.name for column in plan.schemas[Port("sensors")]]
    parts = [f"{name} AS {name}" for name in columns] if "struct" in value else columns
    assert operator.values == {"n": value.format(", ".join(parts))}


@pytest.mark.parametrize("value", ["max(*  + 1)", "count(sensors.*)", "max(struct(location.*))"])
def test_a_star_that_is_not_allowed(value: str) -> None:
    with pytest.raises(ApplicationError):
        plan_of(f'id: a, kind: aggregate, input: sensors, group: [location], values: {{n: "{value}"}}')


@pytest.mark.parametrize("group", ['{room: "upper(location)"}', '["upper(location) AS room"]'])
def test_groups_may_be_expressions(group: str) -> None:
    plan = plan_of(f'id: a, kind: aggregate, input: sensors, group: {group}, values: {{n: "count(*)"}}')
    assert plan.schemas[Port("q/a")].names == ("room", "n")


def test_a_rows_window_becomes_an_operator_in_front() -> None:
    plan = plan_of('id: n, kind: aggregate, input: clicks, window: ROWS 5, values: {n: "count(*)"}')
    rows, aggregate = plan.operators["q/n-window"], plan.operators["q/n"]
    assert isinstance(rows, RowWindow)
    assert isinstance(aggregate, Aggregate)
    assert (rows.inputs, rows.window) == ((Port("clicks"),), RowsWindow(5))
    assert (aggregate.inputs, aggregate.window) == ((Port("q/n-window"),), None)


def join_of(plan: Plan) -> StreamJoin:
    operator = plan.operators["q/j"]
    assert isinstance(operator, StreamJoin)
    return operator


def test_join_of_two_streams() -> None:
    plan = plan_of(
        "id: j, kind: join, inputs: [sensors, doors], windows: [RANGE 20 SECONDS, ROWS 10], on: {location: place}, "
        'where: "people > temperature", costs: [10us, 20us], match: 0.01',
    )
    join = join_of(plan)
    assert (dict(join.on), join.condition, join.all_columns) == ({"location": "place"}, "people > temperature", False)
    assert plan.schemas[Port("q/j")].names == ("location", "temperature", "ts", "people", "at")
    assert "place" not in join.right
    assert join.windows == (TWENTY, None)
    assert join.inputs == (Port("sensors"), Port("q/j-right"))
    assert join.declared.sides == (DeclaredSide(10e-6), DeclaredSide(20e-6))
    assert join.declared.match == 0.01


def test_one_window_for_both_sides_and_no_columns() -> None:
    join = join_of(plan_of("id: j, kind: join, inputs: [sensors, doors], window: RANGE 20 SECONDS"))
    assert join.windows == (TWENTY, TWENTY)
    assert (dict(join.on), join.condition) == ({}, "")


@pytest.mark.parametrize(("kind", "expected"), [("except", Except), ("intersect", Intersect)])
def test_sets(kind: str, expected: Any) -> None:
    plan = plan_of(
        "id: a, kind: project, input: sensors, columns: [location]",
        "id: b, kind: project, input: doors, columns: [place]",
        f"id: x, kind: {kind}, inputs: [a, b], windows: [RANGE 20 SECONDS, null], all: true, selectivities: [0.5, 0]",
    )
    operator = plan.operators["q/x"]
    assert isinstance(operator, expected)
    assert (operator.all, operator.windows) == (True, (TWENTY, None))
    assert [side.selectivity for side in operator.declared.sides] == [0.5, 0.0]


def test_distinct_windows_and_changes() -> None:
    plan = plan_of(
        "id: w, kind: window, input: clicks, window: NOW",
        "id: d, kind: distinct, input: w",
        "id: i, kind: istream, input: d",
        "id: r, kind: window, input: i, window: ROWS 3",
        "id: c, kind: changes, input: r",
    )
    assert [type(o) for o in plan.operators.values()] == [TimeWindow, Distinct, Changes, RowWindow, Changes]
    assert not plan.flows[Port("q/i")].relation
    assert plan.queries["q"].root == Port("q/c")  # it is a `changes` already, so none is appended


def rstream_of(plan: Plan) -> RStream:
    operator = plan.operators["q/r"]
    assert isinstance(operator, RStream)
    return operator


def test_rstream_is_triggered_by_its_streams() -> None:
    plan = plan_of(
        'id: hot, kind: select, input: sensors, where: "temperature > 3"',
        "id: j, kind: join, inputs: [hot, doors], window: RANGE 20 SECONDS",
        "id: r, kind: rstream, input: j",
    )
    assert rstream_of(plan).inputs == (Port("q/j"), Port("sensors"), Port("doors"))
    assert rstream_of(plan).slides == ()


def test_rstream_is_triggered_at_boundaries() -> None:
    plan = plan_of(
        "id: j, kind: join, inputs: [sensors, doors], windows: [RANGE 20 SECONDS SLIDE 5 SECONDS, ROWS 8 SLIDE 4]",
        "id: r, kind: rstream, input: j",
    )
    assert rstream_of(plan).slides == (Span(5.0, "seconds"),)
    assert rstream_of(plan).inputs == (Port("q/j"), Port("q/r-ticks1"))
    marks = plan.operators["q/r-ticks1"]
    assert isinstance(marks, RowWindow)
    assert (marks.boundaries, marks.inputs) == (True, (Port("doors"),))


def test_rstream_over_an_istream_is_triggered_by_its_rows() -> None:
    plan = plan_of(
        "id: i, kind: istream, input: clicks, window: ROWS 2",
        "id: r, kind: rstream, input: i, window: RANGE 2 SECONDS",
    )
    assert rstream_of(plan).inputs == (Port("q/i"), Port("q/i"))


def test_an_operator_named_changes_is_not_replaced() -> None:
    plan = plan_of('id: changes, kind: aggregate, input: clicks, values: {n: "count(*)"}')
    assert isinstance(plan.operators["q/changes"], Aggregate)
    assert plan.queries["q"].root == Port("q/changes-2")


JOIN = "id: j, kind: join, inputs: [sensors, doors], "
ERRORS = {
    "not a window": (["id: d, kind: distinct, input: clicks, window: LAST 3"], "d.window", WINDOW_REMEDY),
    "not a window of a join": ([JOIN + "windows: [NOW, LATER]"], "j.windows.1", "'LATER' is not a window"),
    "a window without a unit": (["id: d, kind: distinct, input: clicks, window: RANGE 3"], "d.window", "no unit"),
    "too many windows": ([JOIN + "windows: [NOW, NOW, NOW]"], "j.windows", "3 windows for 2 inputs"),
    "both kinds of windows": ([JOIN + "windows: [NOW, NOW], window: NOW"], "j.windows", "keep one"),
    "a missing window": (["id: w, kind: window, input: clicks"], "w", "'window' is missing"),
    "a window on a select": (['id: s, kind: select, input: clicks, where: "k > 1", window: NOW'], "s.window", "no key"),
    "a window on a relation": (
        ["id: w, kind: window, input: clicks, window: NOW", "id: d, kind: distinct, input: w, window: NOW"],
        "d.window",
        "a relation already",
    ),
    "a partition by an unknown column": (
        ["id: d, kind: distinct, input: clicks, window: PARTITION BY x ROWS 2"],
        "d.window",
        "no column 'x'",
    ),
    "an id that is taken": (
        [
            "id: d-window, kind: distinct, input: clicks",
            "id: d, kind: distinct, input: d-window, window: ROWS 2",
        ],
        "d",
        "'d-window'",
    ),
    "one input": (["id: e, kind: except, inputs: [clicks]"], "e.inputs", "an except has two inputs"),
    "three inputs": (["id: j, kind: join, inputs: [clicks, clicks, clicks]"], "j.inputs", "a join has two inputs"),
    "a join of one": (["id: j, kind: join, input: clicks"], "j", "'table' is missing"),
    "a table and two inputs": ([JOIN + "table: t, on: k"], "j.inputs", "has one input"),
    "a table and a window": (["id: j, kind: join, input: clicks, table: t, on: k, window: NOW"], "j.window", "no 'win"),
    "left": ([JOIN + "how: left"], "j.how", "always inner"),
    "an unknown column": ([JOIN + "on: location"], "j.on", "'doors' has no column 'location'"),
    "columns that do not compare": ([JOIN + "on: {temperature: place}"], "j.on", "is INT and 'place'"),
    "columns of the same name": (["id: j, kind: join, inputs: [clicks, clicks]"], "j", "both inputs have a column 'k'"),
    "two clocks": (["id: j, kind: join, inputs: [clicks, doors]"], "j", "arrival time and event time"),
    "a condition that is not BOOLEAN": ([JOIN + "where: people"], "j.where", "not a condition"),
    "too few costs": ([JOIN + "costs: [1us]"], "j.costs", "1 costs for 2 inputs"),
    "two kinds of costs": ([JOIN + "cost: 1us, costs: [1us, 2us]"], "j.costs", "keep one"),
    "match and selectivity": ([JOIN + "match: 0.1, selectivity: 2"], "j.match", "keep one"),
    "match above 1": ([JOIN + "match: 1.5"], "j.match", "at most 1"),
    "no output columns": (["id: a, kind: aggregate, input: clicks"], "a.values", "no output columns"),
    "no such column": (['id: a, kind: aggregate, input: clicks, values: {x: "sum(v)"}'], "a.values.x", "no column 'v'"),
    "a column twice": (['id: a, kind: aggregate, input: clicks, group: [k], values: {k: "max(k)"}'], "a", "twice"),
    "a stamp": (['id: a, kind: aggregate, input: clicks, values: {_time: "max(k)"}'], "a.values", "stamps"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    operators, place, words = ERRORS[name]
    with pytest.raises(ApplicationError) as caught:
        plan_of(*operators)
    assert f"operators.{place}: " in str(caught.value)
    assert words in str(caught.value)
