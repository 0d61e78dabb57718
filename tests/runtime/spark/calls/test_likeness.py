"""Likeness: the same text for queries that differ in nothing but names, and for no others."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Port, Project, Select
from headgate.plan.operators.base import Declared
from headgate.runtime.spark.calls.job import JobShape, shape_of
from headgate.runtime.spark.calls.likeness import likeness
from tests.runtime.spark.helpers import plan_of, stream

NUMBERS = pa.schema([("k", pa.int32()), ("v", pa.float64())])


def two_steps(query: str, source: str = "s", where: str = "v > 0.5", **declared: Any) -> list[Any]:
    return [
        Select(id=f"{query}/1", inputs=(Port(source),), where=where, declared=Declared(**declared)),
        Project(id=f"{query}/2", inputs=(Port(f"{query}/1"),), columns={"v": "v"}),
    ]


PLAN = plan_of(
    [*two_steps("a"), *two_steps("b", "t", cost_s=1e-3), *two_steps("c", where="v > 0.6"), *two_steps("d")],
    {"a": Port("a/2"), "b": Port("b/2"), "c": Port("c/2"), "d": Port("d/2"), "inner": Port("d/1")},
    [stream("s"), stream("t")],
)


def text(query: str, plan: Plan = PLAN, schema: pa.Schema = NUMBERS, waiting: Any = ()) -> str:
    shape = shape_of(plan, [f"{query}/1", f"{query}/2"], waiting)
    return likeness(shape, plan, dict.fromkeys(shape.edges, schema))


def test_names_and_declared_costs_do_not_matter() -> None:
    assert text("a") == text("b")


@pytest.mark.parametrize(
    "other",
    [
        text("c"),
        text("d"),  # a second output leaves it
        text("a", waiting=[Edge("a/2", 0)]),  # it also reads what waits inside
        text("a", schema=NUMBERS.set(0, pa.field("k", pa.int64()))),
    ],
    ids=["condition", "outputs", "inputs", "schema"],
)
def test_anything_else_does(other: str) -> None:
    assert other != text("a")


def test_which_operators_feed_each_other_matters() -> None:
    fed = [Select(id="x", inputs=(Port("s"),), where="v > 0"), Select(id="y", inputs=(Port("x"),), where="v > 0")]
    apart = [fed[0], replace(fed[1], inputs=(Port("s"),))]
    texts = set()
    for operators in (fed, apart):
        plan = plan_of(operators, {"q": Port("y"), "p": Port("x")})
        shape = JobShape(("x", "y"), (Edge("x", 0),), (Port("x"), Port("y")))
        texts.add(likeness(shape, plan, {Edge("x", 0): NUMBERS}))
    assert len(texts) == 2
