"""Which units have the same query but for names: what was found out about the plan of one then holds for all of them.

An application may have hundreds of queries of a few shapes, and finding out whether a plan may be prepared, and that
its answers are right, takes longer than planning it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Declared, Port
from headgate.runtime.spark.calls.job import JobShape


def likeness(shape: JobShape, plan: Plan, schemas: Mapping[Edge, pa.Schema]) -> str:
    """A text that is the same for two calls if their queries differ in nothing but names.

    Operators are data, so their texts tell them apart; names become the order in which they first appear.
    """
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        return numbers.setdefault(name, f"#{len(numbers)}")

    parts: list[object] = []
    for name in shape.operators:
        operator = plan.operators[name]
        inputs = tuple(Port(number(port.node), port.branch) for port in operator.inputs)
        nameless = replace(operator, id=number(name), inputs=inputs, declared=Declared())
        flows = [plan.flows[port] for port in (*operator.inputs, *operator.ports)]
        parts.append((type(operator).__name__, nameless, flows))
    parts.append([(number(edge.operator), edge.input, schemas[edge].to_string()) for edge in shape.edges])
    parts.append([(number(port.node), port.branch) for port in shape.outputs])
    parts.append([(number(log.operator), log.log) for log in shape.logs])
    parts.append([(number(log.operator), log.log, number(edge.operator), edge.input) for log, edge in shape.copies])
    parts.append([number(name) for name in shape.joint])
    return repr(parts)
