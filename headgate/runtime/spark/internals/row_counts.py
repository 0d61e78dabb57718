"""Row counts of every operator inside one job, read from the plan's own metrics.

Each port of interest gets a filter that is always true: `_sequence >= 0 OR CAST(_sequence AS STRING) = '-17'`;
sequence numbers are never negative. The number names the port, the optimiser is told to leave filters where they are,
and Spark counts the rows that pass a filter anyway. So counts cost nothing in the job and a few look-ups after it.

Why so roundabout: in the code that Spark generates, numbers stand as they are but texts are parameters. Queries of one
shape thus have the same code, which is compiled once for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headgate.plan.model import Plan
from headgate.plan.operators.base import Port
from headgate.sql.schema import SEQUENCE

_MARK = re.compile(rf"cast\({SEQUENCE}#\d+L? as string\) = -(\d+)")


class Markers:
    """Numbers for ports; one object a plan."""

    def __init__(self, ports: Iterable[Port]) -> None:
        self._numbers = {port: number for number, port in enumerate(ports, start=1)}
        self._ports = {number: port for port, number in self._numbers.items()}

    @classmethod
    def of(cls, plan: Plan) -> Markers:
        """For every port of a plan's operators."""
        return cls(port for operator in plan.operators.values() for port in operator.ports)

    def mark(self, port: Port) -> Column:
        sequence = F.col(SEQUENCE)
        return (sequence >= F.lit(0).cast("bigint")) | (sequence.cast("string") == F.lit(f"-{self._numbers[port]}"))

    def counters(self, plan: Any) -> dict[Port, Any]:
        """The row-count metric of each marked port in an executed plan; a port that is not found is left out."""
        found: dict[Port, Any] = {}
        for node in nodes(plan):
            if node.getClass().getSimpleName() != "FilterExec":
                continue
            numbers = _MARK.findall(node.condition().toString())
            if len(numbers) == 1:  # two marks in one filter were merged: their counts are not known
                # An output computed twice (see calls/job.py) is counted at its first place.
                found.setdefault(self._ports[int(numbers[0])], node.metrics().apply("numOutputRows"))
        return found


def nodes(plan: Any) -> Iterator[Any]:
    """All nodes of an executed plan, parents first."""
    yield plan
    children = plan.children()
    for i in range(children.size()):
        yield from nodes(children.apply(i))
