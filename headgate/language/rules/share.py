"""Merges equal operators over equal inputs, since their results are equal.

Works on the operators of all queries together, if the application says `share: true`. The first of them stays, under
its own id; readers of the others read it instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from headgate.plan.operators.base import Operator, Port


def share(operators: Iterable[Operator]) -> tuple[list[Operator], Mapping[Port, Port]]:
    """The remaining operators, and for each port that is gone the one to read instead."""
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
    """In the given order, but inputs first; operators in a cycle come last, to be refused later."""
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
    described = [f"{f.name}={getattr(operator, f.name)!r}" for f in fields(operator) if f.name != "id"]
    return f"{type(operator).__name__}({', '.join(described)})"
