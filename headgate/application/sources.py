"""Streams and tables of an application file: schemas, files and feeders checked before anything runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from headgate.application.file import CsvSource, CsvTable, FeederSource, JsonTable, StreamSection
from headgate.errors import ApplicationError, known_names
from headgate.feeder.arrivals import make_arrivals
from headgate.feeder.values import ValueGenerator
from headgate.plan.model import Stream, Table
from headgate.plan.windows import Clock
from headgate.sql.schema import Schema, parse_schema

MAX_JUMP_S = 86_400.0  # the default where time is a TIMESTAMP
_TIME_TYPES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "BIGINT", "INT", "SMALLINT", "TINYINT")
# What numpy and Decimal raise for numbers that are absurd rather than wrong, beside ValueError.
_ABSURD = (ValueError, ArithmeticError, MemoryError)


def read_stream(name: str, section: StreamSection, folder: Path) -> Stream:
    """A checked stream. Called by the loader for each stream; raises ApplicationError for the first problem."""
    place = f"streams.{name}"
    schema = parse_schema(section.schema_, f"{place}.schema")
    if section.relation:
        schema = _without_change(section, schema, place)
    time = _time_column(section.time, schema, place)
    source = section.source
    if isinstance(source, FeederSource):
        _check_feeder(source, schema, time, place, folder)
    else:
        check_readable(source.path, folder, f"{place}.source.path")
        if source.replay != "fast" and time is None:
            raise ApplicationError(
                f"{place}.source.replay",
                f"replay '{source.replay}' goes by event time, which this stream does not have",
                "add time: <column>, or use replay: fast",
            )
    settings = source.model_dump(by_alias=True, exclude_none=True)
    plain = Stream(name, schema, settings, time, section.slack, section.relation)
    return replace(plain, max_jump_s=_max_jump(section, plain, f"{place}.max_jump"))


def _max_jump(section: StreamSection, stream: Stream, place: str) -> float | None:
    """What the section says, else a day where the clock tells what time it should be about."""
    if "max_jump" not in section.model_fields_set:
        return MAX_JUMP_S if stream.clock is Clock.EVENT else None
    if section.max_jump is not None and stream.time is None:
        problem = "a stream on arrival time cannot jump"
        raise ApplicationError(place, problem, "take it out, or name the stream's `time` column")
    return section.max_jump


def read_table(name: str, section: CsvTable | JsonTable, folder: Path) -> Table:
    """A checked table; its rows are read when a run starts."""
    schema = parse_schema(section.schema_, f"tables.{name}.schema")
    check_readable(section.path, folder, f"tables.{name}.path")
    settings = section.model_dump(by_alias=True, exclude_none=True, exclude={"schema_"})
    return Table(name, schema, settings)


def check_readable(path: str, folder: Path, place: str) -> None:
    """Refuse a file that is not there or may not be read."""
    full = folder / path
    try:
        if full.is_dir():
            raise ApplicationError(place, f"'{path}' is a folder", "name a file in it")
        if not full.is_file():
            raise ApplicationError(place, f"there is no file '{path}' in {_shown(folder)}", _similar(full))
        readable = os.access(full, os.R_OK)
    except (OSError, ValueError) as error:
        raise ApplicationError(place, f"'{path}' is no file name: {error}", "check the name") from error
    if not readable:
        raise ApplicationError(place, f"the file '{path}' cannot be read", "check its permissions")


def _shown(folder: Path) -> str:
    return "the current folder" if folder == Path() else f"'{folder}'"


def _similar(missing: Path) -> str:
    try:
        there = [entry.name for entry in missing.parent.iterdir() if entry.suffix == missing.suffix]
    except OSError:
        return "relative names start at the application file's folder"
    hint = known_names("files", there, missing.name)
    return hint.split("?")[0] + "?" if "?" in hint else "relative names start at the application file's folder"


def _without_change(section: StreamSection, schema: Schema, place: str) -> Schema:
    """The columns of a relation's rows; its data have `change` in front, whether the schema names it or not."""
    source = section.source
    if isinstance(source, FeederSource):
        problem = "a feeder cannot make the changes of a relation up"
        raise ApplicationError(f"{place}.relation", problem, "read them from a csv or json source, or take it out")
    if isinstance(source, CsvSource) and source.null.strip() == "-":
        problem = "'-' cannot stand for null where it says that a row goes"
        raise ApplicationError(f"{place}.source.null", problem, "write nulls in another way")
    named = schema.find("change")
    if named is None:
        return schema
    if named != schema.columns[0] or named.type != "STRING":
        problem = "the column 'change' of a relation is the first one, a STRING"
        raise ApplicationError(f"{place}.schema", problem, 'begin with "change STRING, ", or leave it out')
    if len(schema) == 1:
        raise ApplicationError(f"{place}.schema", "there is no column besides 'change'", "add those of the rows")
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


def _check_feeder(source: FeederSource, schema: Schema, time: str | None, place: str, folder: Path) -> None:
    at = f"{place}.source"
    kind = source.arrivals.get("kind") if isinstance(source.arrivals, dict) else source.arrivals
    gaps = None
    if kind == "recorded":
        if source.path is None:
            raise ApplicationError(at, "the key 'path' is missing", "recorded arrivals need a file of gaps in seconds")
        check_readable(source.path, folder, f"{at}.path")
        gaps = _text_of(folder / source.path, f"{at}.path")
    elif source.path is not None:
        raise ApplicationError(f"{at}.path", "only recorded arrivals have a file", "take it out")
    elif source.rate is None:
        raise ApplicationError(at, "the key 'rate' is missing", "add it, in tuples a second")
    common: dict[str, Any] = {"rate": source.rate, "rows": source.rows, "seed": source.seed or 0, "gaps": gaps}
    # Bit by bit, so that an error is put where its cause stands.
    _wrap(f"{at}.arrivals", lambda: make_arrivals(source.arrivals, **common))
    _wrap(f"{at}.changes", lambda: make_arrivals(source.arrivals, changes=source.changes, **common))
    _wrap(f"{at}.pauses", lambda: make_arrivals(source.arrivals, pauses=source.pauses, **common))
    _check_values(source, schema, time, place)


def _check_values(source: FeederSource, schema: Schema, time: str | None, place: str) -> None:
    columns = [(column.name, column.type or "") for column in schema]
    seed = source.seed or 0
    for name, form in source.values.items():
        at = f"{place}.source.values.{name}"
        if name not in schema.names:
            raise ApplicationError(at, f"there is no column '{name}'", known_names("columns", schema.names, name))
        own = [column for column in columns if column[0] == name]
        _wrap(at, lambda own=own, name=name, form=form: ValueGenerator(own, {name: form}, seed))  # type: ignore[misc]
    _wrap(f"{place}.schema", lambda: ValueGenerator(columns, source.values, seed, time))


def _text_of(path: Path, place: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ApplicationError(place, f"cannot read '{path}'", "it should be a text file of gaps") from error


def _wrap(place: str, make: Callable[[], object]) -> None:
    try:
        make()
    except _ABSURD as error:
        problem = str(error) or "this asks for too much memory"
        raise ApplicationError(place, problem) from error
