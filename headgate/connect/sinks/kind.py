"""The base class of kinds of sinks: their settings, and how they are opened for the results of a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from headgate.connect.connector import Connector
from headgate.connect.sinks.base import EpochSink, Shape, Sink
from headgate.connect.sinks.staged import StagedSink
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.settings.sections import Duration
from headgate.sql.schema import Schema


@dataclass(frozen=True)
class SinkContext:
    """What a sink is opened with, at the start of a run."""

    query: Query
    schema: Schema  # of the results
    flow: Flow | None = None  # None: a stream on arrival time
    folder: Path = Path()  # where relative file names start
    application: str = ""  # identifies this run to others that want to write there
    resume: Any = None  # a position to go on from (see `base.position_of`); None: from the beginning
    content: Any = None  # what belongs to that position (see `base.content_of`)
    checkpointed: bool = False  # does the runtime take checkpoints?

    @property
    def place(self) -> str:
        """For errors."""
        return f"queries.{self.query.name}.sink"

    @cached_property
    def shape(self) -> Shape:
        """Reduces results to the columns that the user asked for."""
        return Shape(self.schema, self.query.sink, self.flow)


class SinkKind(Connector):
    """Where the results of a query go. Derive from it, set `kind`, declare settings as fields, and define `open`.

    For most purposes `open` returns `EachBatch(context, write)`, with a function that takes each batch as an Arrow
    table. `headgate.register` makes the class known by its `kind`; `headgate.testing.check_sink` checks that it does
    what the runtimes expect.
    """

    format: Literal["rows", "changes"] = "rows"  # changes: columns `time` and `change` come first

    def open(self, context: SinkContext) -> Sink:
        """The sink itself; a runtime calls this once, at the start of a run. An OSError is reported as the user's."""
        raise NotImplementedError(f"{type(self).__name__} does not define `open`")

    def settings(self) -> dict[str, Any]:
        """See `Connector`; the format comes last."""
        found = super().settings()
        return {**{key: value for key, value in found.items() if key != "format"}, "format": found["format"]}

    @property
    def files(self) -> list[str]:
        """Files or folders that it replaces; nothing else may read or write them."""
        return []


class EpochSinkKind(SinkKind):
    """A sink whose target takes results in epochs. Define `connect` instead of `open`.

    With checkpoints each result becomes visible exactly once, after the checkpoint that holds it. With
    `delivery: at_least_once`, or without checkpoints, results are committed by themselves, `every` so often.
    """

    delivery: Literal["exactly_once", "at_least_once"] = "exactly_once"
    every: Duration = 1.0  # seconds

    def connect(self, context: SinkContext) -> EpochSink:
        """Where the epochs go; called once, at the start of a run. An OSError is reported as the user's."""
        raise NotImplementedError(f"{type(self).__name__} does not define `connect`")

    def waits(self, context: SinkContext) -> bool:
        """Do results wait for a checkpoint, so that each becomes visible exactly once?"""
        return context.checkpointed and self.delivery == "exactly_once"

    def shape(self, context: SinkContext) -> Shape:
        """What `connect`'s target gets; unless redefined, the results as the user asked for them."""
        return context.shape

    def open(self, context: SinkContext) -> StagedSink:
        """See `SinkKind`."""
        target = self.connect(context)
        try:
            shape, held, query = self.shape(context), self.waits(context), context.query.name
            return StagedSink(target, shape, held, self.every, context.resume, context.content, query)
        except BaseException:
            target.close()
            raise


class EachBatch:
    """A `Sink` that calls a function with each batch of results, in the columns that the user asked for.

    `close` is called once, when the run ends. What either raises stops the query.
    """

    def __init__(
        self, context: SinkContext, write: Callable[[pa.Table], object], close: Callable[[], object] | None = None
    ) -> None:
        self.rows = 0
        self._shape = context.shape
        self._write = write
        self._close = close

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        if table.num_rows:
            self._write(self._shape(table))
        self.rows += table.num_rows

    def refresh(self) -> None:
        """See `Sink`."""

    def flush(self) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
        close, self._close = self._close, None
        if close is not None:
            close()
