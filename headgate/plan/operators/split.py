"""split: route each tuple to the branch whose condition is true: the first such branch, or all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from headgate.plan.operators.base import Operator
from headgate.sql.checks import check_condition, expand_stars
from headgate.sql.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Split(Operator):
    """Routes each tuple by the conditions of the branches; a tuple that fulfills none is dropped."""

    kind: ClassVar[str] = "split"
    conditions: Mapping[str, str]  # branch -> condition, tried in this order
    match: Literal["first", "all"] = "first"

    @property
    def branches(self) -> tuple[str, ...]:
        return tuple(self.conditions)

    def bound(self, inputs: Sequence[Schema]) -> Split:
        schema = inputs[0]
        conditions = {name: expand_stars(text, schema, f"{self.id}.{name}") for name, text in self.conditions.items()}
        return replace(self, conditions=conditions)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        for branch, condition in self.conditions.items():
            check_condition(condition, inputs[0], f"{place}.branches.{branch}")
        return inputs[0]

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(self.conditions.values())

    def describe(self) -> str:
        return f"{self.match} of " + ", ".join(f"{b}: {c}" for b, c in self.conditions.items())
