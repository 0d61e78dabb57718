"""The base class of kinds of sources: their settings, and how a stream is opened with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.connector import Connector
from headgate.connect.sources.base import Source, stored_columns
from headgate.connect.sources.batches import BatchReader
from headgate.connect.sources.files import FileSource, TimesSeen
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.rejects import OnReject
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

    def times_seen(self) -> TimesSeen | None:
        """The times of the rows before the position of a stored source; None: the stream has no time of its own."""
        if self.time_column is None:
            return None
        return TimesSeen(self.time_column, self.resume["times"]) if self.resume else TimesSeen(self.time_column)


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

        After a restart they are asked for again, and those that were delivered before are left out: they must be the
        same ones in the same order.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither `batches` nor `open`")

    def open(self, context: SourceContext) -> Source:
        """The source itself; a runtime calls this once, at the start of a run, and polls what it gets."""
        schema, times = context.schema, context.times_seen()
        limits = make_limits(context.stream, times.latest if times else None)
        batches = BatchReader(
            lambda: self.batches(replace(context, resume=None)), stored_columns(schema), limits, context.stream.name
        )
        source = FileSource(batches, schema, times=times, resume=context.resume)
        source.report_rejects(context.sample, context.on_reject)
        return source

    def had_ended(self) -> None:
        """The stream had ended when the run was interrupted. Called instead of `open`."""

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
    def live(self) -> bool:
        """Do its rows come from outside, at times that nobody knows in advance? Then they cannot be simulated."""
        return False

    @property
    def in_time(self) -> bool:
        """Do its tuples arrive over time, as those of a live source do? False: all are there at once."""
        return self.live
