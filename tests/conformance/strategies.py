"""Random plans, for tests that must hold for every plan."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headgate.plan.model import Plan, Table
from headgate.plan.operators import Declared, Function, Operator, Port, Project, Select, Split, TableJoin, Union
from headgate.sql.schema import parse_schema
from tests.conformance.plans import SCHEMA, make_plan

TABLE = Table("places", parse_schema("k INT", "tables"), {"kind": "csv", "path": "places.csv"})
CLASSES = {"high": 5, "middle": 3, "low": 1}
COSTS = st.sampled_from([0.0, 0.01, 0.02, 0.05, 0.1])
SELECTIVITIES = st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.0, 1.0, 1.5, 2.0])
SHARES = st.sampled_from([0.2, 0.4, 0.5])


@st.composite
def declared(draw: st.DrawFn, selectivity: st.SearchStrategy[float] = SELECTIVITIES) -> Declared:
    return Declared(
        fixed_s=draw(st.sampled_from([0.0, 0.0, 0.03])),
        cost_s=draw(COSTS),
        selectivity=draw(selectivity),
        tuple_bytes=draw(st.sampled_from([None, 4.0, 10.0])),
    )


@st.composite
def operators(draw: st.DrawFn, name: str, ports: list[Port]) -> Operator:
    """An operator of any kind that reads from one of `ports` (a union: from two or three). All keep columns k and v."""
    kind = draw(st.sampled_from(["select", "project", "split", "union", "function", "join"]))
    source = draw(st.sampled_from(ports))
    if kind == "union":
        sources = draw(st.lists(st.sampled_from(ports), min_size=2, max_size=3, unique=True)) if len(ports) > 1 else []
        return Union(id=name, inputs=tuple(sources or [source]), declared=draw(declared()))
    if kind == "split":
        match = draw(st.sampled_from(["first", "all"]))
        shares = {branch: draw(SHARES) for branch in ("a", "b")}
        stats = Declared(fixed_s=0.0, cost_s=draw(COSTS), branches=draw(st.sampled_from([shares, {}])))
        conditions = {"a": "v % 2 = 0", "b": "v % 3 = 0"}
        return Split(id=name, inputs=(source,), declared=stats, conditions=conditions, match=match)
    if kind == "project":
        return Project(
            id=name, inputs=(source,), declared=draw(declared(st.just(1.0))), columns={"k": "k", "v": "v + 1"}
        )
    if kind == "function":
        target = "tests.conformance.functions:same"
        return Function(id=name, inputs=(source,), declared=draw(declared()), target=target, schema=SCHEMA)
    if kind == "join":
        stats = draw(declared())
        return TableJoin(
            id=name, inputs=(source,), declared=stats, table="places", table_schema=TABLE.schema, on={"k": "k"}
        )
    return Select(id=name, inputs=(source,), declared=draw(declared()), where="v % 5 <> 0")


@st.composite
def plans(draw: st.DrawFn, max_operators: int = 8, rows: int = 12) -> Plan:
    """1-4 streams, 1-`max_operators` operators of all kinds, fan-out and shared operators; every end is a query."""
    streams: dict[str, dict[str, Any]] = {
        f"s{number}": {
            "kind": "feeder",
            "arrivals": draw(st.sampled_from(["constant", "poisson"])),
            "rate": draw(st.sampled_from([2.0, 10.0, 50.0])),
            "rows": draw(st.integers(0, rows)),
            "seed": number,
        }
        for number in range(draw(st.integers(1, 4)))
    }
    ports = [Port(name) for name in streams]
    made: list[Operator] = []
    for number in range(draw(st.integers(1, max_operators))):
        operator = draw(operators(f"plan/o{number}", ports))
        made.append(operator)
        ports += operator.ports
    read = {port for operator in made for port in operator.inputs}
    ends = [port for operator in made for port in operator.ports if port not in read]
    shared = [port for operator in made for port in operator.ports if port in read]
    roots = ends + (draw(st.lists(st.sampled_from(shared), max_size=2, unique=True)) if shared else [])
    names = {f"q{number}": str(port) for number, port in enumerate(roots)}
    members = {name: draw(st.sampled_from(list(CLASSES))) for name in names}
    return make_plan(streams, made, names, CLASSES, members, {"places": TABLE})
