"""The base class of kinds of sources: their settings, and how a stream is opened with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.connector import Connector
from headgate.connect.sources.base import Source, stored_columns
from headgate.connect.sources.files import FileSource
from headgate.connect.sources.limits import Limit, make_limits
from headgate.connect.sources.rejects import OnReject, Reject, Rejects
from headgate.connect.sources.rows import rows_to_table
from headgate.errors import ApplicationError
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream
from headgate.sql.schema import CHANGE


@dataclass(frozen=True)
class SourceContext:
    """What a source is opened with, at the start of a run."""

    stream: Stream
    folder: Path = Path()  # where relative file names start
    seed: int = 0  # the application's
    epoch_us: int = 0  # the date and time of the run's time 0, in microseconds since 1970
    sample: bool = False  # only the first rows will be read, of what another source reads in full: log nothing
    on_reject: OnReject | None = None  # is called with each row that is put aside
    resume: Any = None  # a position to go on from (see `base.position_of`); None: from the beginning

    @property
    def place(self) -> str:
        """For errors."""
        return f"streams.{self.stream.name}.source"

    @property
    def schema(self) -> pa.Schema:
        """What the source delivers: the stream's columns, then the stamps."""
        try:
            schema = arrow_schema(self.stream.schema)
        except ValueError as error:
            raise ApplicationError(f"streams.{self.stream.name}.schema", str(error)) from None
        return schema.append(pa.field(CHANGE, pa.int64(), nullable=False)) if self.stream.relation else schema

    @property
    def time_column(self) -> str | None:
        """The stream's time column, as its schema spells it."""
        column = self.stream.schema.find(self.stream.time) if self.stream.time else None
        return column.name if column else None


class SourceKind(Connector):
    """Where the rows of a stream come from. Derive from it, set `kind`, declare settings as fields, and define
    `batches`.

    For more control (arrival times, a source that pushes) define `open` instead. `headgate.register` makes the class
    known by its `kind`; `headgate.testing.check_source` checks that it does what the runtimes expect.
    """

    def batches(self, context: SourceContext) -> Iterator[Any]:
        """Yield batches of rows: lists of dicts or of tuples, Arrow tables, pandas data frames.

        Rows arrive as soon as they can be processed; reading waits while memory is short. A row that does not fit the
        stream's schema is put aside, as a malformed row of a file is.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither `batches` nor `open`")

    def open(self, context: SourceContext) -> Source:
        """The source itself; a runtime calls this once, at the start of a run, and polls what it gets."""
        schema = context.schema
        reader = _RowReader(self, context, stored_columns(schema), make_limits(context.stream))
        source = FileSource(reader, schema)
        source.report_rejects(context.sample, context.on_reject)
        return source

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """Raise ApplicationError when the settings do not suit the stream. Called before anything runs."""

    @property
    def files(self) -> list[str]:
        """Files it reads; no sink may replace them."""
        return []

    @property
    def endless(self) -> bool:
        """Does it never end by itself? Then a simulation needs a limit."""
        return False

    @property
    def in_time(self) -> bool:
        """Do its tuples arrive over time? False: all are there at once."""
        return False


class _RowReader:
    """A `Reader` over the batches of a source kind."""

    def __init__(self, kind: SourceKind, context: SourceContext, schema: pa.Schema, limits: tuple[Limit, ...]) -> None:
        self.rejects = Rejects(f"stream {context.stream.name}")
        self._kind = kind
        self._context = context
        self._schema = schema
        self._limits = limits

    def blocks(self) -> Iterator[pa.Table]:
        """Typed blocks, without the rows that do not fit."""
        first = 0
        for batch in self._kind.batches(self._context):
            found = rows_to_table(batch, self._schema)
            beyond = {at: Reject(column, value, problem) for at, (column, value, problem) in found.bad.items()}
            for limit in self._limits:
                beyond |= limit.beyond(found.table, beyond)
            for at, reject in sorted(beyond.items()):
                self.rejects.add(first + at, reject, str(reject.value))
            first += found.table.num_rows
            keep = [at not in beyond for at in range(found.table.num_rows)]
            yield found.table.filter(pa.array(keep, pa.bool_())) if beyond else found.table
        self.rejects.summarize()
