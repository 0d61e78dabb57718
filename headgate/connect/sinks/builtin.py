"""Headgate's own kinds of sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import pyarrow as pa
from pydantic import Field, model_validator

from headgate.connect.sinks.base import Sink
from headgate.connect.sinks.files import CsvSink, JsonSink
from headgate.connect.sinks.kind import EachBatch, SinkContext, SinkKind
from headgate.connect.sinks.memory import MEMORY_ROWS, MemorySink, NoneSink
from headgate.connect.sinks.relation import RelationFile, RelationInMemory
from headgate.connect.sinks.text import CSV, JSON, TextFormat
from headgate.settings.sections import Filled, refuse


class _WithoutFile(SinkKind):
    @model_validator(mode="before")
    @classmethod
    def _no_path(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("path") is not None:
            raise refuse(f"a sink of kind {cls.kind} has no path", "take it out, or use csv or json", at="path")
        return data


class Memory(_WithoutFile):
    """Results kept in memory: the newest `limit` rows, for `run.results`.

    A relation that can lose rows is kept as it stands, in full.
    """

    kind = "memory"
    may_change = frozenset({"limit"})
    limit: Annotated[int, Field(gt=0, lt=2**63)] = MEMORY_ROWS

    def open(self, context: SinkContext) -> Sink:
        """See `SinkKind`."""
        if context.shape.whole:
            return RelationInMemory(context.shape, context.resume, context.content)
        return MemorySink(context.shape, self.limit, context.resume, context.content)


class Nothing(_WithoutFile):
    """Results are counted and forgotten."""

    kind = "none"

    def open(self, context: SinkContext) -> Sink:
        """See `SinkKind`."""
        return NoneSink(context.resume)


class Callback(SinkKind):
    """Each batch of results is given to a Python function, as an Arrow table."""

    kind = "callback"
    function: Callable[[pa.Table], object]

    def open(self, context: SinkContext) -> Sink:
        """See `SinkKind`."""
        return EachBatch(context, self.function)


class _File(SinkKind):
    text: ClassVar[TextFormat]
    rows: ClassVar[type[CsvSink | JsonSink]]
    path: Filled | None = None

    @model_validator(mode="after")
    def _needs_a_path(self) -> _File:
        if self.path is None:
            raise refuse(f"a sink of kind {self.kind} needs a 'path'", "say where the results go")
        return self

    @property
    def files(self) -> list[str]:
        """See `SinkKind`."""
        return [str(self.path)]

    def open(self, context: SinkContext) -> Sink:
        """See `SinkKind`."""
        path, said = context.folder / str(self.path), {"application": context.application, "resume": context.resume}
        if context.shape.whole:
            return RelationFile(path, context.shape, self.text, **said, content=context.content)
        return self.rows(path, context.shape, **said)


class Csv(_File):
    """Results as CSV, with a header in each file: one file, or a folder of parts."""

    kind = "csv"
    text = CSV
    rows = CsvSink


class Json(_File):
    """Results as JSON lines: one file, or a folder of parts."""

    kind = "json"
    text = JSON
    rows = JsonSink
