"""A row that makes an operator fail: where it came from, and its error message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headgate.connect.dead_letters import DeadLetters
from headgate.plan.arrow_values import python_rows
from headgate.plan.model import Plan
from headgate.plan.operators import Function
from headgate.runtime.spark.failures.error_messages import essence
from headgate.sql.schema import LATE, RELATION_STAMPS, SEQUENCE

_WORKER_ENDED = "Python worker exited unexpectedly"
KIND = "failed"  # the kind of its dead letters
_SHOWN = 200  # characters of a row in a message


class RowError(Exception):
    """An error caused by a row; the message shows the row."""


@dataclass(frozen=True)
class BadRow:
    """A row as it reached the operator that failed on it."""

    operator: str
    stream: str
    position: int  # in its stream
    row: Mapping[str, Any]
    reason: str

    @property
    def error(self) -> RowError:
        """The error of a query that stops at this row, for the report."""
        name = self.operator.partition("/")[2]
        row = str(dict(self.row))
        shown = row if len(row) <= _SHOWN else row[:_SHOWN] + "..."
        where = f"operator {name}, stream {self.stream}, position {self.position}, row {shown}"
        return RowError(f"{self.reason} ({' '.join(where.split())})")

    def put_aside(self, plan: Plan, letters: DeadLetters) -> None:
        """Write a dead letter for each query that goes on without this row."""
        for query in plan.owners.get(self.operator, ()):
            letters.put(KIND, self.stream, self.position, self.row, self.reason, query)


def bad_row(plan: Plan, operator: str, table: pa.Table, error: Exception) -> BadRow:
    """The bad row, from a table that holds only this row."""
    values = python_rows(table)[0]
    row = {name: value for name, value in values.items() if name not in RELATION_STAMPS}
    known = plan.operators[operator]
    reason = _function_error(known, error) if isinstance(known, Function) else essence(error)
    return BadRow(operator, ", ".join(_streams(plan, operator)), values[SEQUENCE] % LATE, row, reason)


def operator_error(operator: str, error: Exception) -> RowError:
    """The error of an operator that failed without a single row to blame, for the report."""
    return RowError(f"{essence(error)} (operator {operator.partition('/')[2]}, over several rows: none can be skipped)")


def _function_error(function: Function, error: Exception) -> str:
    """The message of a user function's error, beginning with the function's name."""
    name = f"function {function.target}"
    if _WORKER_ENDED in str(error):
        limit = f"it could not be interrupted at its time_limit of {function.time_limit_s:g} s"
        return f"{name} failed: it ended its Python process, or {limit}"
    message = essence(error)
    _, named, reason = message.partition(name)
    return named + reason if named else f"{name} failed: {message}"


def _streams(plan: Plan, operator: str) -> list[str]:
    """The streams that an operator's rows may come from."""
    nodes, todo = set[str](), [operator]
    while todo:
        name = todo.pop()
        if name not in nodes:
            nodes.add(name)
            todo += [port.node for port in plan.operators[name].inputs] if name in plan.operators else []
    return [name for name in plan.streams if name in nodes]
