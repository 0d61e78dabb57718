"""Sinks of queries: `make_sink` knows all kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headgate.connect.sinks.base import Shape, Sink
from headgate.connect.sinks.files import CsvSink, JsonSink
from headgate.connect.sinks.memory import MemorySink, NoneSink
from headgate.plan.errors import ApplicationError, known_names
from headgate.plan.model import Query
from headgate.plan.schema import Schema

__all__ = ["CsvSink", "JsonSink", "MemorySink", "NoneSink", "Shape", "Sink", "make_sink"]


def make_sink(query: Query, schema: Schema, folder: Path) -> Sink:
    """The sink of a query whose results have `schema`; the runtime calls it once a query, at the start of a run.

    Relative paths start at `folder`. File sinks replace what an earlier run left at their path (see `FileSink`).
    ApplicationError: the kind is unknown, or the path cannot be written.
    """
    place = f"queries.{query.name}.sink"
    settings = query.sink
    shape = Shape(schema, settings)
    makers: dict[str, Callable[[], Sink]] = {
        "memory": lambda: MemorySink(shape, settings.get("limit")),
        "none": NoneSink,
        "csv": lambda: CsvSink(_path(query, folder, place), shape),
        "json": lambda: JsonSink(_path(query, folder, place), shape),
    }
    kind = settings.get("kind", "memory")
    if kind not in makers:
        raise ApplicationError(f"{place}.kind", f"{kind!r} is no kind of sink", known_names("kinds", makers, str(kind)))
    try:
        return makers[kind]()
    except OSError as error:
        remedy = "name a folder, or a file that ends in .csv or .json, where Headgate may write"
        raise ApplicationError(f"{place}.path", f"cannot write there: {error}", remedy) from error


def _path(query: Query, folder: Path, place: str) -> Path:
    if not query.sink.get("path"):
        raise ApplicationError(place, "there is no path", "say where the results go, as in path: out/fire")
    return folder / str(query.sink["path"])
