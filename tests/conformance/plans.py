"""Short ways to write a plan in a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headgate.application.checked import CheckedApplication, SimulatorSettings
from headgate.plan.model import Plan, Stream, Table
from headgate.plan.operators import Declared, Operator, Port, Project, Select, Split, Union
from headgate.sql.schema import Schema, parse_schema
from tests.applications import app_of_plan, bare_plan

SCHEMA: Schema = parse_schema("k INT, v INT", "streams")


def port(text: str) -> Port:
    """`s` or `q/op` or `q/op.branch`."""
    node, _, branch = text.partition(".")
    return Port(node, branch)


def feeder(rate: float = 10.0, rows: int | None = 100, **more: Any) -> dict[str, Any]:
    return {"kind": "feeder", "arrivals": "constant", "rate": rate, "rows": rows, **more}


def recorded(folder: Path, name: str, *gaps: float) -> dict[str, Any]:
    """A source with exactly these gaps between arrivals; the first comes after the first gap."""
    (folder / f"{name}.gaps").write_text(" ".join(map(str, gaps)))
    return {"kind": "feeder", "arrivals": {"kind": "recorded", "repeat": False}, "path": f"{name}.gaps"}


def select(name: str, source: str, cost: float = 0.0, selectivity: float = 1.0, **more: Any) -> Operator:
    declared = Declared(fixed_s=0.0, cost_s=cost, selectivity=selectivity, **more)
    return Select(id=name, inputs=(port(source),), declared=declared, where="v >= 0")


def project(name: str, source: str, cost: float = 0.0, **more: Any) -> Operator:
    declared = Declared(fixed_s=0.0, cost_s=cost, selectivity=1.0, **more)
    return Project(id=name, inputs=(port(source),), declared=declared, columns={"k": "k", "v": "v"})


def union(name: str, *sources: str, cost: float = 0.0, selectivity: float = 1.0, **more: Any) -> Operator:
    declared = Declared(fixed_s=0.0, cost_s=cost, selectivity=selectivity, **more)
    return Union(id=name, inputs=tuple(map(port, sources)), declared=declared)


def split(name: str, source: str, shares: Mapping[str, float], match: str = "first", cost: float = 0.0) -> Operator:
    declared = Declared(fixed_s=0.0, cost_s=cost, branches=dict(shares))
    conditions = dict.fromkeys(shares, "v >= 0")
    return Split(
        id=name,
        inputs=(port(source),),
        declared=declared,
        conditions=conditions,
        match=match,  # type: ignore[arg-type]
    )


def make_plan(
    streams: Mapping[str, Mapping[str, Any]],
    operators: list[Operator],
    roots: Mapping[str, str],
    classes: Mapping[str, int] | None = None,
    members: Mapping[str, str] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> Plan:
    """`roots`: query -> the port whose tuples are its results; `members`: query -> class (default: the first)."""
    made = [Stream(name, SCHEMA, source) for name, source in streams.items()]
    ports = {name: port(root) for name, root in roots.items()}
    return bare_plan(made, operators, ports, classes, members, (tables or {}).values())


def make_app(
    plan: Plan, policy: str = "fifo", parameters: Mapping[str, Any] | None = None, **more: Any
) -> CheckedApplication:
    """`simulator` may be a mapping of simulator settings; other keywords are settings of the application."""
    settings = SimulatorSettings(**more.pop("simulator", {}))
    return app_of_plan(plan, policy, parameters, simulator=settings, **more)
