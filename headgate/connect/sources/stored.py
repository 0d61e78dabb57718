"""Sources and tables over files: `csv` and `json`, their settings, and what is checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import BeforeValidator, Field

from headgate.connect.connector import Connector
from headgate.connect.readable import check_readable
from headgate.connect.sources.base import Source, stored_columns
from headgate.connect.sources.csv import CsvReader
from headgate.connect.sources.files import FileSource, Reader, find_file, make_timing
from headgate.connect.sources.json import JsonReader
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.limits import Limit, make_limits
from headgate.connect.sources.rows import as_arrow, rows_to_table
from headgate.errors import ApplicationError
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream, Table
from headgate.settings.sections import Duration, Filled, refuse, shown


def _replay(value: Any) -> Any:
    if value in ("fast", "real") or (_is_number(value) and 0 < value < float("inf")):
        return value
    raise refuse(f"{shown(value)} is not a way to replay", "use fast, real, or a speed factor above 0 such as 10")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


Replay = Annotated[Any, BeforeValidator(_replay)]


class CsvFormat(Connector):
    """The format of a CSV file."""

    kind = "csv"
    path: Filled
    header: bool = True  # columns are found by name; False: by position
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null: str = ""  # the text that stands for null


class JsonFormat(Connector):
    """One JSON object per line."""

    kind = "json"
    path: Filled


class StoredSource(SourceKind):
    """A stream that is read from a file, all at once or by event time."""

    path: Filled
    replay: Replay = "fast"  # "fast", "real", or a speed factor

    def settings(self) -> dict[str, Any]:
        """See `Connector`; how it is replayed comes last."""
        found = super().settings()
        return {**{key: value for key, value in found.items() if key != "replay"}, "replay": found["replay"]}

    @property
    def files(self) -> list[str]:
        """See `SourceKind`."""
        return [self.path]

    @property
    def in_time(self) -> bool:
        """See `SourceKind`."""
        return bool(self.replay != "fast")

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`."""
        check_readable(self.path, folder, f"{place}.path")
        if self.replay != "fast" and stream.time is None:
            problem = f"replay '{self.replay}' goes by event time, which this stream does not have"
            raise ApplicationError(f"{place}.replay", problem, "add time: <column>, or use replay: fast")

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`."""
        place, schema, settings = context.place, context.schema, self.settings()
        path = find_file(settings, context.folder, place)
        times = context.times_seen()
        timing = make_timing(settings, context.time_column, schema, place, times)
        reader = self._reader(
            path, stored_columns(schema), context, make_limits(context.stream, times.latest if times else None)
        )
        source = FileSource(reader, schema, timing, times, context.resume)
        source.report_rejects(context.sample, context.on_reject)
        return source

    def _reader(self, path: Path, columns: pa.Schema, context: SourceContext, limits: Sequence[Limit]) -> Reader:
        raise NotImplementedError  # abstract


class Csv(StoredSource, CsvFormat):
    """The rows of a CSV file."""

    kind = "csv"

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`."""
        if stream.relation and self.null.strip() == "-":
            problem = "'-' cannot stand for null in a relation, where it removes a row"
            raise ApplicationError(f"{place}.null", problem, "write nulls in another way")
        super().check(stream, place, folder)

    def _reader(self, path: Path, columns: pa.Schema, context: SourceContext, limits: Sequence[Limit]) -> Reader:
        return CsvReader(path, columns, self.settings(), context.place, limits)


class Json(StoredSource, JsonFormat):
    """The rows of a file of JSON lines."""

    kind = "json"

    def _reader(self, path: Path, columns: pa.Schema, context: SourceContext, limits: Sequence[Limit]) -> Reader:
        return JsonReader(path, columns, context.place, limits)


# Tables ------------------------------------------------------------------------------------------------------------


class TableKind(Connector):
    """Where the rows of a stored table come from."""

    schema_: Filled = Field(alias="schema")

    def settings(self) -> dict[str, Any]:
        """See `Connector`; the schema is not among them."""
        return {key: value for key, value in super().settings().items() if key != "schema"}

    @property
    def files(self) -> list[str]:
        """Files it reads."""
        return []

    def check(self, table: Table, folder: Path) -> None:
        """Raise ApplicationError when it cannot be read. Called before anything runs."""

    def read(self, table: Table, folder: Path) -> pa.Table:
        """All rows, without stamps."""
        raise NotImplementedError  # abstract


class StoredTable(TableKind):
    """A table in a file, which is read when a run starts, and again every `reload` if the file has changed."""

    path: Filled
    reload: Annotated[Duration, Field(gt=0)] | None = None

    @property
    def files(self) -> list[str]:
        """See `TableKind`."""
        return [self.path]

    def check(self, table: Table, folder: Path) -> None:
        """See `TableKind`."""
        check_readable(self.path, folder, f"tables.{table.name}.path")

    def read(self, table: Table, folder: Path) -> pa.Table:
        """See `TableKind`; malformed rows are logged and left out, as in a stream."""
        schema = _columns(table)
        path = find_file({"path": self.path}, folder, f"tables.{table.name}")
        return pa.concat_tables(
            [schema.empty_table(), *(one.table for one in self._reader(path, schema, table).blocks())]
        )

    def _reader(self, path: Path, schema: pa.Schema, table: Table) -> Reader:
        raise NotImplementedError  # abstract


class CsvTable(StoredTable, CsvFormat):
    """A table in a CSV file."""

    kind = "csv"

    def _reader(self, path: Path, schema: pa.Schema, table: Table) -> Reader:
        return CsvReader(path, schema, self.settings(), f"tables.{table.name}", make_limits(table))


class JsonTable(StoredTable, JsonFormat):
    """A table in a file of JSON lines."""

    kind = "json"

    def _reader(self, path: Path, schema: pa.Schema, table: Table) -> Reader:
        return JsonReader(path, schema, f"tables.{table.name}", make_limits(table))


class RowsTable(TableKind):
    """A table whose rows are given: a list of mappings, or in Python also a data frame or an Arrow table."""

    kind = "rows"
    rows: Any

    def settings(self) -> dict[str, Any]:
        """See `Connector`; how many rows there are, in place of the rows."""
        table = as_arrow(self.rows)
        return {"kind": self.kind, "count": len(self.rows) if table is None else table.num_rows}

    def check(self, table: Table, folder: Path) -> None:
        """See `TableKind`."""
        self.read(table, folder)

    def read(self, table: Table, folder: Path) -> pa.Table:
        """See `TableKind`. ApplicationError: a row does not fit."""
        place = f"tables.{table.name}.rows"
        try:
            found = rows_to_table(self.rows, _columns(table))
        except ValueError as error:
            problem, _, remedy = str(error).partition("; ")
            raise ApplicationError(place, problem, remedy) from None
        bad = dict(found.bad)
        for limit in make_limits(table):
            bad |= {at: (one.column, one.value, one.problem) for at, one in limit.beyond(found.table, bad).items()}
        for at, (column, value, problem) in sorted(bad.items()):
            where = f"{place}[{at}]" + (f", column {column}" if column else "")
            raise ApplicationError(where, f"{value!r} {problem}", "change the row, or the schema")
        return found.table


def _columns(table: Table) -> pa.Schema:
    try:
        return arrow_schema(table.schema, stamps=False)
    except ValueError as error:
        raise ApplicationError(f"tables.{table.name}.schema", str(error)) from None
