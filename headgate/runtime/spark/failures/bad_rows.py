"""A row that makes an operator fail: where it came from, and what to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headgate.connect.dead_letters import DeadLetters
from headgate.plan.model import Plan
from headgate.plan.operators import Function
from headgate.runtime.spark.failures.error_messages import essence
from headgate.sql.schema import LATE, RELATION_STAMPS, SEQUENCE

_WORKER_ENDED = "Python worker exited unexpectedly"
KIND = "failed"  # what its dead letters are called
_SHOWN = 200  # characters of a row in a message


class RowError(Exception):
    """The error of a row, with the row in its message."""


@dataclass(frozen=True)
class BadRow:
    """A row as it reached the operator that fails on it."""

    operator: str
    stream: str
    position: int  # in its stream
    row: Mapping[str, Any]
    reason: str

    @property
    def error(self) -> RowError:
        """What the report says of a query that stops at it."""
        name = self.operator.partition("/")[2]
        row = str(dict(self.row))
        shown = row if len(row) <= _SHOWN else row[:_SHOWN] + "..."
        where = f"operator {name}, stream {self.stream}, position {self.position}, row {shown}"
        return RowError(f"{self.reason} ({' '.join(where.split())})")

    def put_aside(self, plan: Plan, letters: DeadLetters) -> None:
        """A dead letter for each query that goes on without it."""
        for query in plan.owners.get(self.operator, ()):
            letters.put(KIND, self.stream, self.position, self.row, self.reason, query)


def bad_row(plan: Plan, operator: str, table: pa.Table, error: Exception) -> BadRow:
    """The one row of a table on which an operator failed."""
    values = table.to_pylist(maps_as_pydicts="lossy")[0]
    row = {name: value for name, value in values.items() if name not in RELATION_STAMPS}
    known = plan.operators[operator]
    said = _in_its_name(known, error) if isinstance(known, Function) else essence(error)
    return BadRow(operator, ", ".join(_streams(plan, operator)), values[SEQUENCE] % LATE, row, said)


def whole_error(operator: str, error: Exception) -> RowError:
    """What the report says when an operator fails and no row of its input is to blame."""
    return RowError(f"{essence(error)} (operator {operator.partition('/')[2]}, over several rows: none can be skipped)")


def _in_its_name(function: Function, error: Exception) -> str:
    """What a function did wrong, beginning with its name."""
    name = f"function {function.target}"
    if _WORKER_ENDED in str(error):
        limit = f"it could not be interrupted at its time_limit of {function.time_limit_s:g} s"
        return f"{name} failed: it ended its Python process, or {limit}"
    said = essence(error)
    _, named, reason = said.partition(name)
    return named + reason if named else f"{name} failed: {said}"


def _streams(plan: Plan, operator: str) -> list[str]:
    """The streams that an operator's rows may come from."""
    nodes, todo = set[str](), [operator]
    while todo:
        name = todo.pop()
        if name not in nodes:
            nodes.add(name)
            todo += [port.node for port in plan.operators[name].inputs] if name in plan.operators else []
    return [name for name in plan.streams if name in nodes]
