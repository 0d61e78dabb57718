"""Sinks of queries: `make_sink` opens them, `SINKS` has all kinds by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headgate.connect.connector import connector_of
from headgate.connect.sinks.base import CannotResume, Shape, Sink
from headgate.connect.sinks.builtin import Callback, Csv, Json, Memory, Nothing
from headgate.connect.sinks.console import Console
from headgate.connect.sinks.files import CsvSink, JsonSink
from headgate.connect.sinks.kafka import Kafka
from headgate.connect.sinks.kind import EachBatch, EpochSinkKind, SinkContext, SinkKind
from headgate.connect.sinks.lock import OutputInUse
from headgate.connect.sinks.memory import MemorySink, NoneSink
from headgate.connect.sinks.parquet import Parquet
from headgate.connect.sinks.postgresql import Postgresql
from headgate.connect.sinks.relation import RelationFile, RelationInMemory
from headgate.connect.sinks.staged import StagedSink
from headgate.errors import ApplicationError, known_names
from headgate.extensions import Registry
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.sql.schema import Schema

__all__ = [
    "SINKS",
    "Callback",
    "CannotResume",
    "Console",
    "Csv",
    "CsvSink",
    "EachBatch",
    "EpochSinkKind",
    "Json",
    "JsonSink",
    "Kafka",
    "Memory",
    "MemorySink",
    "NoneSink",
    "Nothing",
    "Parquet",
    "Postgresql",
    "RelationFile",
    "RelationInMemory",
    "Shape",
    "Sink",
    "SinkContext",
    "SinkKind",
    "StagedSink",
    "make_sink",
]

_OWN = (Memory, Csv, Json, Parquet, Postgresql, Kafka, Console, Nothing, Callback)
SINKS: Registry[SinkKind] = Registry("sink", SinkKind, "kind", "headgate.sinks", _OWN)


def make_sink(
    query: Query,
    schema: Schema,
    folder: Path,
    flow: Flow | None = None,
    application: str = "",
    resume: Any = None,
    content: Any = None,
    checkpointed: bool = False,
) -> Sink:
    """The sink of a query whose results have `schema`; the runtime calls it once per query, at the start of a run.

    `flow` is that of the results; None: a stream on arrival time. Relative paths start at `folder`. File sinks
    replace what an earlier run left at their path (see `FileSink`). A relation that can lose rows is shown as it
    stands, unless `format: changes` asks for its changes (see `RelationFile`).
    ApplicationError: the kind is unknown, the path cannot be written, or another run writes there. `application`
    identifies this run to others that want to write there. `resume`, `content`, `checkpointed`: see `SinkContext`.
    """
    context = SinkContext(query, schema, flow, folder, application, resume, content, checkpointed)
    kind = _kind_of(query, context.place)
    try:
        return kind.open(context)
    except OutputInUse as error:
        remedy = "wait for it, stop it, or write elsewhere"
        raise ApplicationError(f"{context.place}.path", str(error), remedy) from error
    except CannotResume as error:
        remedy = "put back what the checkpoint counts on, or remove the checkpoint to begin anew"
        raise ApplicationError(context.place, f"cannot go on from the checkpoint: {error}", remedy) from error
    except OSError as error:
        if not kind.files:
            raise ApplicationError(context.place, f"cannot be opened: {error}") from error
        remedy = "name a folder, or a file that ends in .csv or .json, where Headgate may write"
        raise ApplicationError(f"{context.place}.path", f"cannot write there: {error}", remedy) from error


def _kind_of(query: Query, place: str) -> SinkKind:
    """The kind that the application was checked with, unless its settings were replaced since."""
    if isinstance(query.connector, SinkKind) and query.connector.settings() == query.sink:
        return query.connector
    kind = query.sink.get("kind", "memory")
    if kind not in SINKS:
        known = known_names("kinds", SINKS, str(kind))
        raise ApplicationError(f"{place}.kind", f"{kind!r} is not a kind of sink", known)
    return connector_of(SINKS[kind], query.sink, place)
