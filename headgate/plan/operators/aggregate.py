"""aggregate: values computed over each group of a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from headgate.errors import ApplicationError
from headgate.plan.flows import Flow, windowed_flow
from headgate.plan.operators.base import Operator
from headgate.plan.windows import RangeWindow
from headgate.sql.checks import aggregate_type, expand_stars, expression_type
from headgate.sql.schema import Column, Schema

Emits = Literal["relation", "changes", "istream", "dstream", "rstream", "final"]


@dataclass(frozen=True, kw_only=True)
class Aggregate(Operator):
    """One row for each group that has rows; without `group` exactly one row, from the first tuple on.

    Outputs the group's columns, then the values. `window` makes a relation of a stream; it is None on a relation.
    `emits` merges a following `changes` or `rstream` into the aggregate, which saves that operator's state; `final`
    outputs the groups of one of Spark's windows as a stream, each once, when time has passed the end of the window.
    """

    kind: ClassVar[str] = "aggregate"
    stateful: ClassVar[bool] = True
    group: Mapping[str, str]  # output name -> expression; may be window(..) or session_window(..)
    values: Mapping[str, str]  # output name -> aggregate expression
    window: RangeWindow | None = None
    emits: Emits = "relation"

    @property
    def sliding(self) -> bool:
        """Do the values change only at the boundaries of a window? Then `emits` need not be `relation`."""
        return self.window is not None and self.window.slide is not None

    @property
    def windows(self) -> tuple[RangeWindow | None]:
        return (self.window,)

    def bound(self, inputs: Sequence[Schema]) -> Aggregate:
        group = {name: expand_stars(text, inputs[0], f"{self.id}.{name}") for name, text in self.group.items()}
        values = {name: expand_stars(text, inputs[0], f"{self.id}.{name}") for name, text in self.values.items()}
        return replace(self, group=group, values=values)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        taken: set[str] = set()
        for name in (*self.group, *self.values):
            if name.lower() in taken:
                raise ApplicationError(place, f"column '{name}' appears twice", "give each column its own name")
            taken.add(name.lower())
        groups = [Column(n, expression_type(text, inputs[0], f"{place}.group.{n}")) for n, text in self.group.items()]
        values = [Column(n, aggregate_type(text, inputs[0], f"{place}.values.{n}")) for n, text in self.values.items()]
        return Schema((*groups, *values))

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        found = windowed_flow(inputs[0], self.window, f"{place}.window")
        if self.emits == "relation":
            return Flow(found.clock, relation=True, expires=True, retracts=True)
        return Flow(found.clock, relation=self.emits == "changes", retracts=self.emits == "changes")

    @property
    def expressions(self) -> tuple[str, ...]:
        return (*self.group.values(), *self.values.values())

    def describe(self) -> str:
        values = ", ".join(f"{e} AS {n}" for n, e in self.values.items()) or "no values"
        groups = ", ".join(n if n == e else f"{e} AS {n}" for n, e in self.group.items())
        window = f" over {self.window}" if self.window else ""
        given = "" if self.emits == "relation" else f", as {self.emits}"
        if self.emits == "final":
            given = ", each window once, when it closes"
        return f"{values}{window}" + (f" by {groups}" if groups else "") + given
