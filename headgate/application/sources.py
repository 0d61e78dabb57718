"""Streams and tables of an application: schemas and sources checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from headgate.application.file import StreamSection
from headgate.connect.sources import SourceKind, Stdin, TableKind
from headgate.errors import ApplicationError, known_names
from headgate.plan.model import Stream, Table
from headgate.plan.windows import Clock
from headgate.sql.schema import Schema, parse_schema

MAX_JUMP_S = 86_400.0  # the default where time is a TIMESTAMP
_TIME_TYPES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "BIGINT", "INT", "SMALLINT", "TINYINT")


def read_stream(name: str, section: StreamSection, folder: Path) -> Stream:
    """A checked stream; raises ApplicationError for the first problem."""
    place = f"streams.{name}"
    schema = parse_schema(section.schema_, f"{place}.schema")
    if section.relation:
        schema = _without_change(schema, place)
    time = _time_column(section.time, schema, place)
    source: SourceKind = section.source
    plain = Stream(name, schema, source.settings(), time, section.slack, section.relation, connector=source)
    source.check(plain, f"{place}.source", folder)
    return replace(plain, max_jump_s=_max_jump(section, plain, f"{place}.max_jump"))


def refuse_shared_input(streams: Iterable[Stream]) -> None:
    """Refuse a second stream that reads the standard input: each line is there once."""
    first, *others = [stream.name for stream in streams if isinstance(stream.connector, Stdin)] or [""]
    if others:
        problem = f"the standard input is read by stream '{first}' already"
        raise ApplicationError(f"streams.{others[0]}.source", problem, "let the queries of both read one stream")


def _max_jump(section: StreamSection, stream: Stream, place: str) -> float | None:
    """The section's value; by default a day if `time` is a TIMESTAMP, else no limit."""
    if "max_jump" not in section.model_fields_set:
        return MAX_JUMP_S if stream.clock is Clock.EVENT else None
    if section.max_jump is not None and stream.time is None:
        problem = "a stream on arrival time cannot jump"
        raise ApplicationError(place, problem, "take it out, or name the stream's `time` column")
    return section.max_jump


def read_table(name: str, section: TableKind, folder: Path) -> Table:
    """A checked table; its rows are read when a run starts."""
    schema = parse_schema(section.schema_, f"tables.{name}.schema")
    table = Table(name, schema, section.settings(), section)
    section.check(table, folder)
    return table


def _without_change(schema: Schema, place: str) -> Schema:
    """The columns of a relation's rows; its data have `change` in front, whether the schema names it or not."""
    named = schema.find("change")
    if named is None:
        return schema
    if named != schema.columns[0] or named.type != "STRING":
        problem = "the column 'change' of a relation must be the first one, a STRING"
        raise ApplicationError(f"{place}.schema", problem, 'begin with "change STRING, ", or leave it out')
    if len(schema) == 1:
        raise ApplicationError(f"{place}.schema", "there is no column besides 'change'", "add the columns of its rows")
    return Schema(schema.columns[1:])


def _time_column(name: str | None, schema: Schema, place: str) -> str | None:
    if name is None:
        return None
    column = schema.find(name)
    if column is None:
        raise ApplicationError(
            f"{place}.time", f"there is no column '{name}'", known_names("columns", schema.names, name)
        )
    if column.type not in _TIME_TYPES:
        raise ApplicationError(
            f"{place}.time",
            f"column '{name}' is {column.type}",
            "event time is a TIMESTAMP, or a BIGINT or another whole number",
        )
    return column.name
