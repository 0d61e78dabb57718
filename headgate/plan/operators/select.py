"""select: keep the tuples for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from headgate.plan.operators.base import Operator
from headgate.sql.checks import check_condition, expand_stars
from headgate.sql.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Select(Operator):
    """Keeps the tuples for which `where` is true."""

    kind: ClassVar[str] = "select"
    where: str

    def bound(self, inputs: Sequence[Schema]) -> Select:
        return replace(self, where=expand_stars(self.where, inputs[0], self.id))

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        check_condition(self.where, inputs[0], f"{place}.where")
        return inputs[0]

    @property
    def expressions(self) -> tuple[str, ...]:
        return (self.where,)

    def describe(self) -> str:
        return self.where
