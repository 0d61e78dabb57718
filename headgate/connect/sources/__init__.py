"""Sources of streams and readers of tables: `make_source` and `read_table` know all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sources.base import Source
from headgate.connect.sources.csv import CsvReader, CsvSource
from headgate.connect.sources.feeder import FeederSource
from headgate.connect.sources.files import FileSource, Reader, find_file, make_timing
from headgate.connect.sources.json import JsonReader, JsonSource
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.rejects import Tell
from headgate.errors import ApplicationError, known_names
from headgate.feeder.arrivals import make_arrivals
from headgate.feeder.values import ValueGenerator
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream, Table
from headgate.seeds import stream_seed
from headgate.sql.schema import CHANGE

__all__ = ["CsvSource", "FeederSource", "JsonSource", "Source", "make_source", "read_table"]


def make_source(
    stream: Stream, folder: Path, seed: int, epoch_us: int, quiet: bool = False, tell: Tell | None = None
) -> Source:
    """The source of a stream; the runtime calls it once a stream, at the start of a run.

    `folder` is where relative file names start, `seed` the application's seed, `epoch_us` what time 0 of the run is
    called, in microseconds since 1970. A `quiet` source logs nothing of malformed rows: for who reads only a sample
    of what another source will read. `tell` is called with each row that is put aside. ApplicationError: the settings
    or the file are wrong.
    """
    place = f"streams.{stream.name}.source"
    makers: dict[str, Callable[[], Source]] = {
        "feeder": lambda: _feeder(stream, folder, seed, epoch_us, place),
        "csv": lambda: _file(CsvSource, stream, folder, place),
        "json": lambda: _file(JsonSource, stream, folder, place),
    }
    kind = stream.source.get("kind")
    if kind not in makers:
        raise ApplicationError(
            f"{place}.kind", f"{kind!r} is no kind of source", known_names("kinds", makers, str(kind))
        )
    source = makers[kind]()
    if isinstance(source, FileSource):
        source.report_rejects(quiet, tell)
    return source


def read_table(table: Table, folder: Path) -> pa.Table:
    """All rows of a stored table, without stamps; malformed rows are logged and left out, as in a stream."""
    place = f"tables.{table.name}"
    schema = _schema(table, place, stamps=False)
    path = find_file(table.source, folder, place)
    kind = table.source.get("kind", "csv")
    if kind not in ("csv", "json"):
        remedy = known_names("kinds", ("csv", "json"), str(kind))
        raise ApplicationError(f"{place}.kind", f"{kind!r} is no kind of table", remedy)
    reader: Reader
    if kind == "csv":
        reader = CsvReader(path, schema, table.source, place, make_limits(table))
    else:
        reader = JsonReader(path, schema, place, make_limits(table))
    return pa.concat_tables([schema.empty_table(), *reader.blocks()])


def _schema(of: Stream | Table, place: str, stamps: bool) -> pa.Schema:
    try:
        schema = arrow_schema(of.schema, stamps)
        relation = isinstance(of, Stream) and of.relation
        return schema.append(pa.field(CHANGE, pa.int64(), nullable=False)) if relation else schema
    except ValueError as error:
        raise ApplicationError(place.removesuffix(".source") + ".schema", str(error)) from None


def _file(kind: type[CsvSource] | type[JsonSource], stream: Stream, folder: Path, place: str) -> Source:
    schema = _schema(stream, place, stamps=True)
    path = find_file(stream.source, folder, place)
    timing = make_timing(stream.source, _time_column(stream), schema, place)
    return kind(path, schema, stream.source, timing, place, make_limits(stream))


def _feeder(stream: Stream, folder: Path, seed: int, epoch_us: int, place: str) -> Source:
    said: Mapping[str, Any] = stream.source
    own = said.get("seed")
    seed = stream_seed(seed, stream.name) if own is None else own
    schema = _schema(stream, place, stamps=True)
    try:
        arrivals = make_arrivals(
            said.get("arrivals", "poisson"),
            rate=said.get("rate"),
            rows=said.get("rows"),
            seed=seed,
            changes=said.get("changes") or (),
            pauses=said.get("pauses") or (),
            gaps=_gaps(said, folder, place),
        )
        columns = [(column.name, column.type or "") for column in stream.schema]
        values = ValueGenerator(columns, said.get("values") or {}, seed, _time_column(stream), epoch_us)
    except ValueError as error:
        raise ApplicationError(place, str(error)) from None
    return FeederSource(arrivals, values, schema)


def _gaps(said: Mapping[str, Any], folder: Path, place: str) -> Any:
    """The content of the file of recorded gaps that `path` names; None when there is none."""
    return find_file(said, folder, place).read_text(encoding="utf-8") if said.get("path") else None


def _time_column(stream: Stream) -> str | None:
    """The time column as the schema spells it."""
    column = stream.schema.find(stream.time) if stream.time else None
    return column.name if column else None
