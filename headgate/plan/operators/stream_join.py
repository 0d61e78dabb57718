"""join: pairs of rows of two relations, or of two streams under windows, that fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from headgate.plan.errors import ApplicationError, known_names
from headgate.plan.expressions import check_condition
from headgate.plan.flows import Flow, one_clock, windowed
from headgate.plan.operators.base import Operator
from headgate.plan.schema import Column, Schema
from headgate.plan.windows import RangeWindow


@dataclass(frozen=True, kw_only=True)
class StreamJoin(Operator):
    """Symmetric: a row of either input meets the rows of the other that are in their window at the same instant.

    Gives out the columns in `left` and `right` (output name -> column of that input). `condition` is over the output
    names; empty: every pair. Equalities in it are what Spark hashes by.
    """

    kind: ClassVar[str] = "join"
    stateful: ClassVar[bool] = True
    left: Mapping[str, str]
    right: Mapping[str, str]
    condition: str = ""
    left_window: RangeWindow | None = None
    right_window: RangeWindow | None = None

    @property
    def windows(self) -> tuple[RangeWindow | None, RangeWindow | None]:
        return (self.left_window, self.right_window)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        columns: list[Column] = []
        for schema, names in zip(inputs, (self.left, self.right), strict=True):
            for name, source in names.items():
                found = schema.find(source)
                if found is None:
                    raise ApplicationError(
                        place, f"there is no column '{source}'", known_names("columns", schema.names, source)
                    )
                if any(column.name.lower() == name.lower() for column in columns):
                    raise ApplicationError(
                        place, f"both inputs have a column '{name}'", "rename one of them with a project"
                    )
                columns.append(Column(name, found.type))
        joined = Schema(tuple(columns))
        if self.condition:
            check_condition(self.condition, joined, f"{place}.where")
        return joined

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        flows = [windowed(f, w, f"{place}.windows") for f, w in zip(inputs, self.windows, strict=True)]
        clock = one_clock(flows, place)
        return Flow(clock, True, any(f.departs for f in flows), any(f.retracts for f in flows))

    @property
    def expressions(self) -> tuple[str, ...]:
        return (self.condition,) if self.condition else ()

    def describe(self) -> str:
        sides = [f"{port} [{w}]" if w else str(port) for port, w in zip(self.inputs, self.windows, strict=True)]
        return " with ".join(sides) + (f" where {self.condition}" if self.condition else "")
