"""Sinks of queries: `make_sink` knows all kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headgate.connect.sinks.base import Shape, Sink
from headgate.connect.sinks.files import CsvSink, JsonSink
from headgate.connect.sinks.lock import OutputTaken
from headgate.connect.sinks.memory import MemorySink, NoneSink
from headgate.connect.sinks.relation import RelationFile, RelationInMemory
from headgate.connect.sinks.text import CSV, JSON
from headgate.errors import ApplicationError, known_names
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.sql.schema import Schema

__all__ = [
    "CsvSink",
    "JsonSink",
    "MemorySink",
    "NoneSink",
    "RelationFile",
    "RelationInMemory",
    "Shape",
    "Sink",
    "make_sink",
]


def make_sink(query: Query, schema: Schema, folder: Path, flow: Flow | None = None, application: str = "") -> Sink:
    """The sink of a query whose results have `schema`; the runtime calls it once a query, at the start of a run.

    `flow` is that of the results; None: a stream on arrival time. Relative paths start at `folder`. File sinks
    replace what an earlier run left at their path (see `FileSink`). A relation that can lose rows is shown as it
    stands, unless `format: changes` asks for its changes (see `RelationFile`).
    ApplicationError: the kind is unknown, the path cannot be written, or another run writes there. `application` is
    what that other run would be told of this one.
    """
    place = f"queries.{query.name}.sink"
    settings = query.sink
    shape = Shape(schema, settings, flow)
    makers: dict[str, Callable[[], Sink]] = {
        "memory": lambda: MemorySink(shape, settings.get("limit")),
        "none": NoneSink,
        "csv": lambda: CsvSink(_path(query, folder, place), shape, application=application),
        "json": lambda: JsonSink(_path(query, folder, place), shape, application=application),
    }
    if shape.whole:
        makers |= {
            "memory": lambda: RelationInMemory(shape),
            "csv": lambda: RelationFile(_path(query, folder, place), shape, CSV, application=application),
            "json": lambda: RelationFile(_path(query, folder, place), shape, JSON, application=application),
        }
    kind = settings.get("kind", "memory")
    if kind not in makers:
        raise ApplicationError(f"{place}.kind", f"{kind!r} is no kind of sink", known_names("kinds", makers, str(kind)))
    try:
        return makers[kind]()
    except OutputTaken as error:
        raise ApplicationError(f"{place}.path", str(error), "wait for it, stop it, or write elsewhere") from error
    except OSError as error:
        remedy = "name a folder, or a file that ends in .csv or .json, where Headgate may write"
        raise ApplicationError(f"{place}.path", f"cannot write there: {error}", remedy) from error


def _path(query: Query, folder: Path, place: str) -> Path:
    if not query.sink.get("path"):
        raise ApplicationError(place, "there is no path", "say where the results go, as in path: out/fire")
    return folder / str(query.sink["path"])
