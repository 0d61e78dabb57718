"""changes, rstream: turn a relation into what a sink writes, or into a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from headgate.plan.flows import Flow, common_clock, windowed_flow
from headgate.plan.operators.base import DeclaredSide, Operator
from headgate.plan.windows import RangeWindow, Span
from headgate.sql.schema import Schema

Mode = Literal["changes", "istream", "dstream"]


@dataclass(frozen=True, kw_only=True)
class Changes(Operator):
    """The multiset difference between each instant and the one before.

    `istream` outputs the rows that were added as a stream, `dstream` those that were removed; `changes` outputs both,
    each once, for a sink to write.
    """

    kind: ClassVar[str] = "changes"
    stateful: ClassVar[bool] = True
    mode: Mode = "changes"
    window: RangeWindow | None = None

    @property
    def windows(self) -> tuple[RangeWindow | None]:
        return (self.window,)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return inputs[0]

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        found = windowed_flow(inputs[0], self.window, f"{place}.window")
        if self.mode == "changes":
            return Flow(found.clock, relation=True, retracts=not found.monotone)
        return Flow(found.clock)

    def describe(self) -> str:
        return self.mode + (f" over {self.window}" if self.window else "")


@dataclass(frozen=True, kw_only=True)
class RStream(Operator):
    """The whole relation at every instant with input, and at every multiple of each of `slides`.

    The first input is the relation. The others are streams whose tuples, by their time alone, say when there is input.
    """

    kind: ClassVar[str] = "rstream"
    stateful: ClassVar[bool] = True
    window: RangeWindow | None = None
    slides: tuple[Span, ...] = ()

    @property
    def windows(self) -> tuple[RangeWindow | None, ...]:
        return (self.window, *[None for _ in self.inputs[1:]])

    def side(self, index: int) -> DeclaredSide:
        """The inputs that only trigger cost nothing and yield nothing by themselves."""
        return DeclaredSide(0.0, 0.0) if index else self.declared.side(0)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return inputs[0]

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        windowed_flow(inputs[0], self.window, f"{place}.window")
        return Flow(common_clock(inputs, place))

    def describe(self) -> str:
        return f"over {self.window}" if self.window else ""
