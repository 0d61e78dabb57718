"""Sources of streams, and tables: `make_source` and `read_table` open them, `SOURCES` has all kinds by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.connector import connector_of
from headgate.connect.sources.base import ENDED, Source
from headgate.connect.sources.data_source import PythonDataSource
from headgate.connect.sources.feeder import Feeder
from headgate.connect.sources.folder import Folder
from headgate.connect.sources.kafka import Kafka
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.parquet import Parquet, ParquetTable
from headgate.connect.sources.push import Push, PushedSource
from headgate.connect.sources.rejects import OnReject
from headgate.connect.sources.run_source import EndedSource, RunSource, goes_on_from
from headgate.connect.sources.stdin import Stdin
from headgate.connect.sources.stored import Csv, CsvTable, Json, JsonTable, RowsTable, TableKind
from headgate.connect.sources.tcp import Tcp
from headgate.errors import ApplicationError, known_names
from headgate.extensions import Registry
from headgate.plan.model import Stream, Table

__all__ = [
    "SOURCES",
    "TABLES",
    "Csv",
    "Feeder",
    "Folder",
    "Json",
    "Kafka",
    "Parquet",
    "Push",
    "PythonDataSource",
    "Source",
    "SourceContext",
    "SourceKind",
    "Stdin",
    "TableKind",
    "Tcp",
    "make_source",
    "read_table",
    "source_for_run",
]

_OWN = (Csv, Json, Parquet, Folder, Feeder, Push, Tcp, Stdin, Kafka, PythonDataSource)
SOURCES: Registry[SourceKind] = Registry("source", SourceKind, "kind", "headgate.sources", _OWN)
TABLES: dict[str, type[TableKind]] = {kind.kind: kind for kind in (CsvTable, JsonTable, ParquetTable, RowsTable)}


def make_source(
    stream: Stream,
    folder: Path,
    seed: int,
    epoch_us: int,
    quiet: bool = False,
    on_reject: OnReject | None = None,
    resume: Any = None,
) -> Source:
    """The source of a stream; the runtime calls it once per stream, at the start of a run.

    `folder` is where relative file names start, `seed` the application's seed, `epoch_us` the date and time of the
    run's time 0, in microseconds since 1970. A `quiet` source only samples what another source will read: it logs
    nothing. `on_reject` is called with each row that is put aside. `resume` is a position to go on from.
    ApplicationError: the settings or the file is wrong.
    """
    return source_of(stream).open(SourceContext(stream, folder, seed, epoch_us, quiet, on_reject, resume))


def source_for_run(context: SourceContext, since: float = 0.0) -> RunSource | EndedSource:
    """The source of a stream as a run reads it from the time `since` on, or from `context.resume` on.

    That is a position which such a source had in an earlier run. A source that cannot go on from it begins anew, with
    the sequence numbers after those that it gave before. ApplicationError: the settings or the file is wrong.
    """
    kind, position = source_of(context.stream), context.resume
    if position == ENDED:
        kind.had_ended()
        return EndedSource(context.schema)
    if position is not None and goes_on_from(position):
        source = kind.open(replace(context, resume=position["at"]))
        return RunSource(source, position["since"], position["first"], position["given"])
    given = 0 if position is None else position["given"]
    source = kind.open(replace(context, resume=None))
    if isinstance(source, PushedSource):
        since = 0.0  # what is pushed arrives when it is pushed
    return RunSource(source, since, given, given)


def source_of(stream: Stream) -> SourceKind:
    """The kind that the stream's application was checked with, unless its settings were replaced since."""
    if isinstance(stream.connector, SourceKind) and stream.connector.settings() == stream.source:
        return stream.connector
    place, kind = f"streams.{stream.name}.source", stream.source.get("kind")
    if kind not in SOURCES:
        raise ApplicationError(
            f"{place}.kind", f"{kind!r} is not a kind of source", known_names("kinds", SOURCES, str(kind))
        )
    return connector_of(SOURCES[str(kind)], stream.source, place)


def read_table(table: Table, folder: Path) -> pa.Table:
    """All rows of a stored table, without stamps; malformed rows of a file are logged and left out, as in a stream."""
    if isinstance(table.connector, TableKind) and table.connector.settings() == table.source:
        return table.connector.read(table, folder)
    place, kind = f"tables.{table.name}", table.source.get("kind", "csv")
    if kind not in TABLES:
        remedy = known_names("kinds", TABLES, str(kind))
        raise ApplicationError(f"{place}.kind", f"{kind!r} is not a kind of table", remedy)
    return connector_of(TABLES[kind], {**table.source, "schema": str(table.schema)}, place).read(table, folder)
