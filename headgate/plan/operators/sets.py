"""distinct, except, intersect: relations as sets (or, with `all`, as multisets) of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headgate.plan.flows import Flow, common_clock, windowed_flow
from headgate.plan.operators.base import Operator
from headgate.plan.operators.union import merged_schema
from headgate.plan.windows import RangeWindow
from headgate.sql.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Distinct(Operator):
    """Each distinct row of the relation once."""

    kind: ClassVar[str] = "distinct"
    stateful: ClassVar[bool] = True
    window: RangeWindow | None = None

    @property
    def windows(self) -> tuple[RangeWindow | None]:
        return (self.window,)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return inputs[0]

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        found = windowed_flow(inputs[0], self.window, f"{place}.window")
        return Flow(found.clock, relation=True, retracts=not found.monotone)

    def describe(self) -> str:
        return f"over {self.window}" if self.window else ""


@dataclass(frozen=True, kw_only=True)
class _TwoSided(Operator):
    stateful: ClassVar[bool] = True
    all: bool = False  # keep duplicates apart, instead of having each row once
    left_window: RangeWindow | None = None
    right_window: RangeWindow | None = None

    @property
    def windows(self) -> tuple[RangeWindow | None, RangeWindow | None]:
        return (self.left_window, self.right_window)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return merged_schema(self.inputs, inputs, self.kind, place)

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        flows = [windowed_flow(f, w, f"{place}.windows") for f, w in zip(inputs, self.windows, strict=True)]
        return Flow(common_clock(flows, place), relation=True, retracts=True)

    def describe(self) -> str:
        sides = [f"{port} [{w}]" if w else str(port) for port, w in zip(self.inputs, self.windows, strict=True)]
        return (" all: " if self.all else "") + f" {self.kind} ".join(sides)


@dataclass(frozen=True, kw_only=True)
class Except(_TwoSided):
    """The rows of the first input that are not in the second."""

    kind: ClassVar[str] = "except"


@dataclass(frozen=True, kw_only=True)
class Intersect(_TwoSided):
    """The rows that are in both inputs."""

    kind: ClassVar[str] = "intersect"
