"""join: look each tuple up in a stored table (stream-table join)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from headgate.errors import ApplicationError, known_names
from headgate.plan.operators.base import Operator
from headgate.sql.checks import check_condition, comparable
from headgate.sql.schema import Column, Schema


@dataclass(frozen=True, kw_only=True)
class TableJoin(Operator):
    """Outputs the tuple's columns, then the table's: those in `keep`, by default all that are not join columns.

    `how: left` keeps tuples without a match, with nulls for the table's columns. A null never matches. `condition` is
    what a match must fulfill besides `on`, in terms of the output columns.
    """

    kind: ClassVar[str] = "join"
    table: str
    table_schema: Schema
    on: Mapping[str, str]  # column of the stream -> column of the table
    how: Literal["inner", "left"] = "inner"
    condition: str = ""
    keep: Mapping[str, str] | None = None  # output name -> column of the table

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        for mine, theirs in self.on.items():
            self._check_pair(inputs[0], mine, theirs, place)
        kept = self.table_columns
        taken = {column.name.lower() for column in inputs[0]}
        for column in kept:
            if column.name.lower() in taken:
                raise ApplicationError(
                    place,
                    f"both '{self.inputs[0]}' and table '{self.table}' have a column '{column.name}'",
                    "rename one of them with a project, or join on it",
                )
        joined = Schema(inputs[0].columns + kept)
        if self.condition:
            check_condition(self.condition, joined, f"{place}.where")
        return joined

    @property
    def expressions(self) -> tuple[str, ...]:
        return (self.condition,) if self.condition else ()

    @property
    def table_columns(self) -> tuple[Column, ...]:
        """The columns that the table adds, with their output names."""
        if self.keep is not None:
            return tuple(Column(name, self._type_of(source)) for name, source in self.keep.items())
        joined = {name.lower() for name in self.on.values()}
        return tuple(c for c in self.table_schema if c.name.lower() not in joined)

    def _type_of(self, name: str) -> str | None:
        found = self.table_schema.find(name)
        return None if found is None else found.type

    def _check_pair(self, schema: Schema, mine: str, theirs: str, place: str) -> None:
        left, right = schema.find(mine), self.table_schema.find(theirs)
        if left is None:
            raise ApplicationError(
                f"{place}.on",
                f"'{self.inputs[0]}' has no column '{mine}'",
                known_names("columns", schema.names, mine),
            )
        if right is None:
            raise ApplicationError(
                f"{place}.on",
                f"table '{self.table}' has no column '{theirs}'",
                known_names("columns", self.table_schema.names, theirs),
            )
        if not comparable(left.type, right.type):
            raise ApplicationError(
                f"{place}.on",
                f"'{mine}' is {left.type} and '{self.table}.{theirs}' is {right.type}",
                "join columns must have comparable types; cast one in a project",
            )

    def describe(self) -> str:
        pairs = [m if m == t else f"{m} = {t}" for m, t in self.on.items()]
        conditions = " and ".join([*pairs, *([self.condition] if self.condition else [])])
        return f"{self.how} with {self.table}" + (f" on {conditions}" if conditions else "")
