"""Python data sources of PySpark as streams: any class with a stream reader. Its reader runs in the driver."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pydantic import Field

from headgate.connect.imports import load_named
from headgate.connect.sources.base import Source, stored_columns
from headgate.connect.sources.good_rows import good_rows
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.live import LiveSource
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.connect.sources.rows import rows_to_table
from headgate.errors import ApplicationError
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream
from headgate.settings.sections import Duration, shown

_ROWS = 8192  # taken from a reader at a time
Offset = dict[str, Any]


class PythonDataSource(SourceKind):
    """What a `pyspark.sql.datasource.DataSource` reads as a stream.

    `implementation` is the class, or names it as `module:Name`. `options` are passed to it as text, as
    `spark.readStream.option` does. Every `interval` it is asked for new rows.
    """

    kind = "data_source"
    implementation: Any
    options: dict[str, Any] = Field(default_factory=dict)
    interval: Duration = 0.1

    @property
    def live(self) -> bool:
        """See `SourceKind`."""
        return True

    def settings(self) -> dict[str, Any]:
        """See `Connector`; a class is named, and options are texts."""
        given = self.implementation
        name = f"{given.__module__}:{given.__qualname__}" if isinstance(given, type) else given
        return super().settings() | {"implementation": name, "options": self._texts()}

    def _texts(self) -> dict[str, str]:
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.options.items()
        }

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`."""
        self._make_reader(stream, place, folder)

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`. A sample has no rows: reading may change what the run would read."""
        reader = self._make_reader(context.stream, context.place, context.folder)
        return LiveSource(_BatchReader(reader, context, self.interval), context)

    def _make_reader(self, stream: Stream, place: str, folder: Path) -> _StreamReader:
        from pyspark.sql.datasource import CaseInsensitiveDict, DataSource
        from pyspark.sql.pandas.types import from_arrow_schema

        found, place = self.implementation, f"{place}.implementation"
        if isinstance(found, str):
            found = load_named(found, folder, place)
        if not (isinstance(found, type) and issubclass(found, DataSource)):
            remedy = "name a class that is derived from pyspark.sql.datasource.DataSource"
            raise ApplicationError(place, f"{shown(found)} is not a data source", remedy)
        options = CaseInsensitiveDict(self._texts())
        try:
            schema = from_arrow_schema(_columns(stream))
            return _stream_reader(found(options), schema)
        except NotImplementedError as error:  # PySpark's own is derived from it
            problem = f"{found.__name__} cannot be read as a stream"
            raise ApplicationError(place, problem, "define streamReader or simpleStreamReader") from error
        except Exception as error:
            said = " ".join(str(error).split())
            problem = f"{found.__name__} cannot be opened: {type(error).__name__}: {said}"
            raise ApplicationError(place, problem, "check its options and the stream's schema") from error


def _columns(stream: Stream) -> pa.Schema:
    """The columns that a reader gives: in a relation, the changes come first."""
    own = list(arrow_schema(stream.schema, stamps=False))
    return pa.schema([pa.field("change", pa.string()), *own] if stream.relation else own)


# The two kinds of readers that PySpark has, as one ---------------------------------------------------------------


class _StreamReader(Protocol):
    def initial(self) -> Offset: ...
    def batch(self, start: Offset) -> tuple[Offset, Iterator[Any]]: ...  # up to its end; no rows if it is the start
    def again(self, start: Offset, end: Offset) -> Iterator[Any]: ...
    def stop(self) -> None: ...


def _stream_reader(source: Any, schema: Any) -> _StreamReader:
    """NotImplementedError: the data source has neither."""
    try:
        return _Partitioned(source.streamReader(schema=schema))
    except NotImplementedError:
        return _Simple(source.simpleStreamReader(schema=schema))


class _Partitioned:
    """A `DataSourceStreamReader`. Its partitions are read one after another."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.initial = reader.initialOffset
        self.stop = reader.stop
        self._limited = bool(inspect.signature(reader.latestOffset).parameters)  # older readers take no arguments

    def batch(self, start: Offset) -> tuple[Offset, Iterator[Any]]:
        latest = self._reader.latestOffset
        end = latest(start, self._reader.getDefaultReadLimit()) if self._limited else latest()
        return end, self.again(start, end)

    def again(self, start: Offset, end: Offset) -> Iterator[Any]:
        for partition in self._reader.partitions(start, end) if start != end else ():
            yield from self._reader.read(partition)


class _Simple:
    """A `SimpleDataSourceStreamReader`."""

    def __init__(self, reader: Any) -> None:
        self.initial = reader.initialOffset
        self.again = reader.readBetweenOffsets
        self._read = reader.read

    def batch(self, start: Offset) -> tuple[Offset, Iterator[Any]]:
        rows, end = self._read(start)
        return end, iter(rows)

    def stop(self) -> None:
        """PySpark's simple readers have nothing to stop."""


# Batches as blocks -------------------------------------------------------------------------------------------------


class _BatchReader:
    """A `LiveReader` over a stream reader. A place is the offset where a batch starts; within a batch also its end, and
    the number of a row in it: a batch that has begun is asked for again in the same bounds.
    """

    def __init__(self, reader: _StreamReader, context: SourceContext, interval_s: float) -> None:
        self.ended = context.sample
        self._reader = reader
        self._stream = context.stream.name
        self._columns = stored_columns(context.schema)
        self._rejects = Rejects(f"stream {self._stream}")
        self._rejects.quiet, self._rejects.on_reject = context.sample, context.on_reject
        times = context.times_seen()
        self._limits = make_limits(context.stream, times.latest if times else None)
        self._interval_s = interval_s
        self._closed = False
        self._next_look = 0.0
        self._batch: Iterator[Any] | None = None
        self._row = 0  # of the batch: the next one
        self._skip = 0  # rows of the batch that were given before a restart
        place: Mapping[str, Any] = (context.resume["at"] if context.resume else None) or {}
        self._start: Offset | None = place.get("start")  # None: the reader has not been asked yet
        self._end: Offset | None = place.get("end")
        if self._start is not None and self._end is not None:
            self._batch, self._skip = iter(reader.again(self._start, self._end)), place["row"]

    @property
    def place(self) -> Any:
        """See `LiveReader`."""
        if self._batch is None:
            return {"start": self._start}
        return {"start": self._start, "end": self._end, "row": max(self._row, self._skip)}

    @property
    def rejected(self) -> int:
        return self._rejects.count

    def read(self, now: float) -> PlacedRows | None:
        """See `LiveReader`."""
        if self.ended or (self._batch is None and not self._begin(now)):
            return None
        assert self._batch is not None
        start, end = self._start, self._end
        piece, more = _take(self._batch)
        found = rows_to_table(piece, self._columns)
        skip = min(found.table.num_rows, max(0, self._skip - self._row))
        table, numbers = good_rows(found, self._limits, self._rejects, self._row, skip)
        self._row += found.table.num_rows
        if not more:
            self._end_batch()
        return PlacedRows(table, lambda at: {"start": start, "end": end, "row": numbers[at]})

    def _end_batch(self) -> None:
        if missing := max(0, self._skip - self._row):
            problem = f"{missing} rows of a batch that were read before the restart are not in it any more"
            self._rejects.add(self._row, Reject(None, self._stream, problem, "lost"), "")
        self._start, self._end, self._batch, self._row, self._skip = self._end, None, None, 0, 0

    def _begin(self, now: float) -> bool:
        """Ask for the next batch; is there one?"""
        if now < self._next_look:
            return False
        self._next_look = now + self._interval_s
        if self._start is None:
            self._start = self._reader.initial()
        end, batch = self._reader.batch(self._start)
        if end == self._start:
            return False
        self._end, self._batch = end, batch
        return True

    def close(self) -> None:
        """See `LiveReader`."""
        if not self._closed:
            self._closed = True
            self._reader.stop()
        self._batch, self.ended = None, True
        self._rejects.summarize()


def _take(batch: Iterator[Any]) -> tuple[Any, bool]:
    """The next rows of a batch, a list of rows or an Arrow batch; may there be more?"""
    rows: list[Any] = []
    for item in batch:
        if isinstance(item, pa.RecordBatch):
            if rows:
                raise TypeError("a data source must not mix rows and Arrow batches in one partition")
            return item, True
        rows.append(item.asDict() if hasattr(item, "__fields__") else item)  # PySpark's named rows go by name
        if len(rows) == _ROWS:
            return rows, True
    return rows, False
