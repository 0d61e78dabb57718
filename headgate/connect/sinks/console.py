"""Results on the terminal."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Literal, TextIO

import pyarrow as pa
from pydantic import Field

from headgate.connect.sinks.base import Sink
from headgate.connect.sinks.kind import EachBatch, SinkContext, SinkKind
from headgate.connect.sinks.text import json_lines
from headgate.plan.arrow_values import python_values

_WIDE = 10_000  # characters; where there is no terminal, lines are not broken


class Console(SinkKind):
    """Results printed as they come, as tables or as JSON lines. Of a relation that can lose rows, its changes.

    With the option `--json` of a command, standard output holds its report alone, and results go to standard error.
    """

    kind = "console"
    style: Literal["table", "json"] = "table"
    to: Literal["stdout", "stderr"] = "stdout"
    limit: Annotated[int, Field(gt=0)] = 20  # rows of a table; the others are counted

    def open(self, context: SinkContext) -> Sink:
        """See `SinkKind`."""
        if context.shape.whole:
            query = context.query
            context = replace(context, query=replace(query, sink={**query.sink, "format": "changes"}))
        return EachBatch(context, lambda table: self._print(table, context.query.name))

    def _print(self, table: pa.Table, query: str) -> None:
        out = sys.stdout if self.to == "stdout" else sys.stderr  # looked up each time: commands may redirect it
        if self.style == "json":
            out.write(json_lines(table).decode())
        else:
            _print_table(table, query, self.limit, out)
        out.flush()


def _print_table(table: pa.Table, query: str, limit: int, out: TextIO) -> None:
    from rich import box, console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, title=f"{query}: {table.num_rows} rows", title_justify="left")
    for field in table.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        shown.add_column(Text(field.name), justify="right" if number else "left")
    columns = [python_values(column) for column in table.slice(0, limit).columns]
    for row in zip(*columns, strict=True):
        shown.add_row(*(Text("null" if value is None else str(value)) for value in row))
    if table.num_rows > limit:
        shown.caption = f"and {table.num_rows - limit} more"
    console.Console(file=out, width=None if out.isatty() else _WIDE).print(shown)
