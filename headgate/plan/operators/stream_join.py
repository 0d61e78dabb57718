"""join: matching pairs of rows of two relations, or of two streams under windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from headgate.errors import ApplicationError, known_names
from headgate.plan.flows import Flow, common_clock, merged_flow, windowed_flow
from headgate.plan.operators.base import Operator
from headgate.plan.windows import RangeWindow
from headgate.sql.checks import check_condition, comparable
from headgate.sql.schema import Column, Schema


@dataclass(frozen=True, kw_only=True)
class StreamJoin(Operator):
    """A symmetric join: a row of either input meets the rows of the other that are in their window at the same instant.

    Outputs the columns in `left` and `right` (output name -> column of that input). A pair matches when the columns in
    `on` are equal (a null never is) and `condition`, over the output names, is true; without either, every pair does.
    Equalities are what Spark hashes by.
    """

    kind: ClassVar[str] = "join"
    stateful: ClassVar[bool] = True
    left: Mapping[str, str]
    right: Mapping[str, str]
    on: Mapping[str, str] = field(default_factory=dict)  # column of the left input -> column of the right one
    condition: str = ""
    left_window: RangeWindow | None = None
    right_window: RangeWindow | None = None
    all_columns: bool = False  # only until bound: output all columns, join columns once

    def bound(self, inputs: Sequence[Schema]) -> StreamJoin:
        if not self.all_columns:
            return self
        joined = {name.lower() for name in self.on.values()}
        left = {column.name: column.name for column in inputs[0]}
        right = {column.name: column.name for column in inputs[1] if column.name.lower() not in joined}
        return replace(self, left=left, right=right, all_columns=False)

    @property
    def windows(self) -> tuple[RangeWindow | None, RangeWindow | None]:
        return (self.left_window, self.right_window)

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        for mine, theirs in self.on.items():
            self._check_pair(inputs, mine, theirs, f"{place}.on")
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
                        place, f"both inputs have a column '{name}'", "rename one of them with a project, or join on it"
                    )
                columns.append(Column(name, found.type))
        joined = Schema(tuple(columns))
        if self.condition:
            check_condition(self.condition, joined, f"{place}.where")
        return joined

    def _check_pair(self, inputs: Sequence[Schema], mine: str, theirs: str, place: str) -> None:
        types = []
        for port, schema, name in zip(self.inputs, inputs, (mine, theirs), strict=True):
            found = schema.find(name)
            if found is None:
                known = known_names("columns", schema.names, name)
                raise ApplicationError(place, f"'{port}' has no column '{name}'", known)
            types.append(found.type)
        if not comparable(*types):
            problem = f"'{mine}' is {types[0]} and '{theirs}' of '{self.inputs[1]}' is {types[1]}"
            raise ApplicationError(place, problem, "join columns must have comparable types; cast one in a project")

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        flows = [windowed_flow(f, w, f"{place}.windows") for f, w in zip(inputs, self.windows, strict=True)]
        return merged_flow(flows, common_clock(flows, place), relation=True)

    @property
    def expressions(self) -> tuple[str, ...]:
        return (self.condition,) if self.condition else ()

    def describe(self) -> str:
        sides = [f"{port} [{w}]" if w else str(port) for port, w in zip(self.inputs, self.windows, strict=True)]
        on = " and ".join(m if m == t else f"{m} = {t}" for m, t in self.on.items())
        where = f" where {self.condition}" if self.condition else ""
        return " with ".join(sides) + (f" on {on}" if on else "") + where
