"""project: compute the output columns, one output tuple for each input tuple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from headgate.plan.operators.base import Operator
from headgate.sql.checks import expand_stars, expression_type
from headgate.sql.schema import Column, Schema


@dataclass(frozen=True, kw_only=True)
class Project(Operator):
    """Computes each output column as an expression over the input columns."""

    kind: ClassVar[str] = "project"
    passes_all: ClassVar[bool] = True
    columns: Mapping[str, str]  # output name -> expression

    def bound(self, inputs: Sequence[Schema]) -> Project:
        columns = {name: expand_stars(text, inputs[0], f"{self.id}.{name}") for name, text in self.columns.items()}
        return replace(self, columns=columns)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return Schema(
            tuple(
                Column(name, expression_type(text, inputs[0], f"{place}.columns.{name}"))
                for name, text in self.columns.items()
            )
        )

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(self.columns.values())

    def describe(self) -> str:
        return ", ".join(n if n == e else f"{e} AS {n}" for n, e in self.columns.items())
