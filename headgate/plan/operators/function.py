"""function: a user's Python function over Arrow batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headgate.plan.operators.base import Operator
from headgate.sql.schema import Schema

TIME_LIMIT_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Function(Operator):
    """Calls a Python function; `target` names it as `module:name`, `schema` describes its output.

    The callable gets a `pyarrow.RecordBatch` with the input columns and returns one with the columns of `schema`,
    either row for row, or as `(batch, rows)` with the input row that each output row came from, so that the stamps can
    follow. It must treat each row alone: batch borders depend on the schedule, and answers must not.
    """

    kind: ClassVar[str] = "function"
    target: str
    schema: Schema
    time_limit_s: float = TIME_LIMIT_S  # for one batch

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return self.schema

    def describe(self) -> str:
        return self.target
