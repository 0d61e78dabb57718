"""Equal operators over equal inputs give equal results: one of them is enough.

Works on the operators of all queries together, when the application says `share: true`. The first one stays, under its
own id; whoever read the others reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from headgate.plan.operators.base import Operator, Port


def share(operators: Iterable[Operator]) -> tuple[list[Operator], Mapping[Port, Port]]:
    """The operators that are left, and for each port that went the one to read instead."""
    kept: dict[str, Operator] = {}
    instead: dict[Port, Port] = {}
    for operator in _inputs_first(list(operators)):
        inputs = tuple(instead.get(port, port) for port in operator.inputs)
        operator = replace(operator, inputs=inputs)
        first = kept.setdefault(_meaning(operator), operator)
        if first is not operator:
            instead.update(zip(operator.ports, first.ports, strict=True))
    return list(kept.values()), instead


def _inputs_first(operators: list[Operator]) -> list[Operator]:
    """In the order given, but never before what is read; those of a circle come last, for others to refuse."""
    ordered: list[Operator] = []
    ids = {operator.id for operator in operators}
    while operators:
        done = {operator.id for operator in ordered}
        ready = [o for o in operators if all(port.node in done or port.node not in ids for port in o.inputs)]
        ordered += ready or operators
        operators = [o for o in operators if not any(o is other for other in (ready or operators))]
    return ordered


def _meaning(operator: Operator) -> str:
    """Everything about an operator but its id."""
    told = [f"{f.name}={getattr(operator, f.name)!r}" for f in fields(operator) if f.name != "id"]
    return f"{type(operator).__name__}({', '.join(told)})"
