"""union: all tuples of all inputs, including duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headgate.errors import ApplicationError
from headgate.plan.operators.base import Operator, Port
from headgate.sql.checks import comparable
from headgate.sql.schema import Column, Schema


@dataclass(frozen=True, kw_only=True)
class Union(Operator):
    """Passes on every tuple of every input."""

    kind: ClassVar[str] = "union"
    passes_all: ClassVar[bool] = True

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return merged_schema(self.inputs, inputs, self.kind, place)

    def describe(self) -> str:
        return " + ".join(str(port) for port in self.inputs)


def merged_schema(ports: Sequence[Port], inputs: Sequence[Schema], kind: str, place: str) -> Schema:
    """The columns of several inputs, which must match one by one; the first input names them."""
    first = inputs[0]
    article = "an" if kind[0] in "aeiou" and kind != "union" else "a"
    for port, schema in zip(ports[1:], inputs[1:], strict=True):
        if len(schema) != len(first):
            raise ApplicationError(
                f"{place}.inputs",
                f"'{ports[0]}' has {len(first)} columns and '{port}' has {len(schema)}",
                f"{article} {kind} needs the same columns on every input; add a project",
            )
        for a, b in zip(first, schema, strict=True):
            if not comparable(a.type, b.type):
                raise ApplicationError(
                    f"{place}.inputs",
                    f"column '{a.name}' is {a.type} in '{ports[0]}' and '{b.name}' is {b.type} in '{port}'",
                    f"{article} {kind} needs types that fit together on every input; cast one of them in a project",
                )
    return Schema(tuple(map(_merged, zip(first, *inputs[1:], strict=True))))


def _merged(columns: tuple[Column, ...]) -> Column:
    """One column of a union. Spark widens numeric types, in ways only it knows, so differing types give None."""
    types = {column.type for column in columns}
    return Column(columns[0].name, types.pop() if len(types) == 1 else None)
