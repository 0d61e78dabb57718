"""Counts the rows of every operator inside one job, from the plan's own metrics.

Each port to be counted gets a filter that is always true: `_sequence >= 0 OR CAST(_sequence AS STRING) = '-17'`;
sequence numbers are never negative. The number identifies the port, the optimizer is told to leave filters where they
are, and Spark counts the rows that pass a filter anyway. So counting costs nothing in the job, and a few lookups
after it.

The cast is there because Spark writes numbers into the code that it generates but passes texts as parameters. So
queries of the same shape share one piece of code, which is compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headgate.plan.model import Plan
from headgate.plan.operators.base import Port
from headgate.sql.schema import SEQUENCE

_MARK = re.compile(rf"cast\({SEQUENCE}#\d+L? as string\) = -(\d+)")


class Markers:
    """Numbers the ports of a plan and marks them in queries; one object per plan."""

    def __init__(self, plan: Plan) -> None:
        self._numbers: dict[Port, int] = {}
        self._ports: dict[int, Port] = {}
        self.add(plan)

    def add(self, plan: Plan) -> None:
        """Number the ports of operators that have none yet; the others keep theirs, for prepared plans hold them."""
        for operator in plan.operators.values():
            for port in operator.ports:
                number = self._numbers.setdefault(port, len(self._numbers) + 1)
                self._ports[number] = port

    def mark(self, port: Port) -> Column:
        """The condition, always true, that identifies a port in a plan."""
        sequence = F.col(SEQUENCE)
        return (sequence >= F.lit(0).cast("bigint")) | (sequence.cast("string") == F.lit(f"-{self._numbers[port]}"))

    def counters(self, plan: Any) -> dict[Port, Any]:
        """The row-count metric of each marked port in an executed plan; ports that are not found are left out."""
        found: dict[Port, Any] = {}
        for node in nodes(plan):
            if node.getClass().getSimpleName() != "FilterExec":
                continue
            numbers = _MARK.findall(node.condition().toString())
            if len(numbers) == 1:  # filters that were merged count neither port
                # An output that is computed twice (see calls/job.py) is counted where it appears first.
                found.setdefault(self._ports[int(numbers[0])], node.metrics().apply("numOutputRows"))
        return found


def nodes(plan: Any) -> Iterator[Any]:
    """All nodes of an executed plan, parents first."""
    yield plan
    children = plan.children()
    for i in range(children.size()):
        yield from nodes(children.apply(i))
