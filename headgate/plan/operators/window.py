"""window, rows: turn a stream into a relation, by time or by counting tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headgate.errors import ApplicationError, known_names
from headgate.plan.flows import Flow, windowed_flow
from headgate.plan.operators.base import Operator
from headgate.plan.windows import RangeWindow, RowsWindow
from headgate.sql.schema import Schema


@dataclass(frozen=True, kw_only=True)
class TimeWindow(Operator):
    """Stamps each tuple with the time at which it leaves. Stateless: the operators behind it remember the rows."""

    kind: ClassVar[str] = "window"
    window: RangeWindow

    @property
    def windows(self) -> tuple[RangeWindow]:
        return (self.window,)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return inputs[0]

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        return windowed_flow(inputs[0], self.window, f"{place}.window")

    def describe(self) -> str:
        return str(self.window)


@dataclass(frozen=True, kw_only=True)
class RowWindow(Operator):
    """Keeps the last tuples, and removes each one again when enough others have arrived.

    With `boundaries` it outputs, as a stream, the tuples at which the window is evaluated (see RStream).
    """

    kind: ClassVar[str] = "rows"
    stateful: ClassVar[bool] = True
    window: RowsWindow
    boundaries: bool = False

    @property
    def windows(self) -> tuple[RowsWindow]:
        return (self.window,)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        for name in self.window.partition:
            if inputs[0].find(name) is None:
                raise ApplicationError(
                    f"{place}.window", f"there is no column '{name}'", known_names("columns", inputs[0].names, name)
                )
        return inputs[0]

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        found = windowed_flow(inputs[0], self.window, f"{place}.window")
        return inputs[0] if self.boundaries else found

    def describe(self) -> str:
        return str(self.window)
