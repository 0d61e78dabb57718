"""Operators on Spark, in cases where a mistake is easily overlooked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import ApplicationError
from headgate.plan.model import Edge, Table
from headgate.plan.operators import Port, Project, Select, Split, TableJoin, Union
from headgate.runtime.spark.caller_setup import make_caller
from headgate.sql.schema import parse_schema
from tests.runtime.spark.helpers import NUMBERS, app_of, batch, plan_of, simple_plan, stream

pytestmark = pytest.mark.spark


def test_split_does_not_evaluate_later_conditions_on_rows_already_taken(session: Any) -> None:
    conditions = {"zero": "k = 0", "big": "100 / k > 20", "rest": "true"}
    split = Split(id="q/split", inputs=(Port("s"),), conditions=conditions)
    whole = Union(id="q/all", inputs=split.ports)
    plan = plan_of([split, whole], {"q": Port("q/all")})
    table = batch(NUMBERS, {"k": [0, 1, 50, None], "v": [0.0] * 4})
    result = make_caller(session, app_of(plan)).run(plan.operators, {Edge("q/split", 0): table})
    assert [result.rows_out[port] for port in split.ports] == [1, 1, 2]
    assert result.outputs[Port("q/all")].num_rows == 4


@pytest.mark.parametrize("present", [("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize("operators", [("q/union",), ("q/union", "q/select")])
def test_a_union_keeps_its_columns_whichever_inputs_have_tuples(session: Any, present: Any, operators: Any) -> None:
    """Inputs are matched by position; the second has other names and a wider type."""
    streams = [stream("a", "k INT, v INT"), stream("b", "x BIGINT, y INT")]
    union = Union(id="q/union", inputs=(Port("a"), Port("b")))
    select = Select(id="q/select", inputs=(Port("q/union"),), where="v > 1")
    plan = plan_of([union, select], {"q": Port("q/select")}, streams)
    rows = {"a": {"k": [1, 2], "v": [1, 2]}, "b": {"x": [3, 2**40], "y": [3, 1]}}
    inputs = {Edge("q/union", i): batch(s.schema, rows[s.name]) for i, s in enumerate(streams) if s.name in present}
    result = make_caller(session, app_of(plan)).run(operators, inputs)
    table = result.outputs[Port(operators[-1])]
    assert table.schema.field("k").type.bit_width == 64
    assert table.column_names[:2] == ["k", "v"]
    assert result.rows_in["q/union"] == 2 * len(present)


def test_one_plan_serves_a_union_whichever_inputs_have_tuples(session: Any) -> None:
    union = Union(id="q/union", inputs=(Port("a"), Port("b")))
    plan = plan_of([union], {"q": Port("q/union")}, [stream("a"), stream("b")])
    caller = make_caller(session, app_of(plan))
    for turn, index in enumerate((0, 1, 0, 1)):
        table = batch(NUMBERS, {"k": [turn], "v": [0.5]}, first=turn)
        caller.run(plan.operators, {Edge("q/union", index): table})
    assert caller.calls == {"partitioned": 2, "direct": 2}


@pytest.mark.parametrize(
    ("expression", "fragment"),
    [
        ("rand()", "not deterministic"),
        ("monotonically_increasing_id()", "not deterministic"),
        ("uuid()", "not deterministic"),
        ("explode(array(k, k))", "several tuples out of one"),
        ("sum(1) OVER (ORDER BY k)", "other tuples"),
    ],
)
def test_expressions_that_depend_on_batches_are_refused(session: Any, expression: str, fragment: str) -> None:
    with pytest.raises(ApplicationError, match=fragment):
        make_caller(session, app_of(simple_plan("v > 0", {"x": expression})))


def test_a_random_split_is_refused(session: Any) -> None:
    split = Split(id="q/split", inputs=(Port("s"),), conditions={"a": "rand() < 0.5", "b": "true"})
    plan = plan_of([split, Union(id="q/all", inputs=split.ports)], {"q": Port("q/all")})
    with pytest.raises(ApplicationError, match="not deterministic"):
        make_caller(session, app_of(plan))


def test_a_stream_may_have_any_column_name_beside_a_table(session: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("k,name\n1,one\n")
    table = Table("t", parse_schema("k INT, name STRING", "t"), {"kind": "csv", "path": "t.csv"})
    streams = [stream("s", "k INT, _t_name STRING, _t_k INT")]
    join = TableJoin(id="q/join", inputs=(Port("s"),), table="t", table_schema=table.schema, on={"k": "k"})
    keep = Project(id="q/keep", inputs=(Port("q/join"),), columns={"mine": "_t_name", "theirs": "name"})
    plan = plan_of([join, keep], {"q": Port("q/keep")}, streams, [table])
    caller = make_caller(session, replace(app_of(plan), folder=tmp_path))
    data = batch(streams[0].schema, {"k": [1], "_t_name": ["x"], "_t_k": [7]})
    row = caller.run(plan.operators, {Edge("q/join", 0): data}).outputs[Port("q/keep")].to_pylist()[0]
    assert (row["mine"], row["theirs"]) == ("x", "one")


def test_a_plan_stays_trusted_when_one_of_its_inputs_is_empty(session: Any) -> None:
    """A plan made for an empty input drops that branch, and the branch's row counts with it."""
    first = Select(id="q/a", inputs=(Port("a"),), where="v > 0.2")
    second = Select(id="q/b", inputs=(Port("b"),), where="v > 0.4")
    union = Union(id="q/union", inputs=(Port("q/a"), Port("q/b")))
    plan = plan_of([first, second, union], {"q": Port("q/union")}, [stream("a"), stream("b")])
    caller = make_caller(session, app_of(plan))
    for turn, name in enumerate(("q/a", "q/b", "q/a")):
        table = batch(NUMBERS, {"k": [turn, 1], "v": [0.5, 0.1]}, first=turn)
        result = caller.run(plan.operators, {Edge(name, 0): table})
        other = "q/b" if name == "q/a" else "q/a"
        assert (result.rows_out[Port(name)], result.rows_out[Port(other)], result.rows_out[Port("q/union")]) == (
            1,
            0,
            1,
        )
    assert caller.fallbacks == {}
    assert result.way == "direct"
