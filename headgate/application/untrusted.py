"""What a request from somebody else may add to an application: who sends it is not the operator of this process.

A server calls `refuse_untrusted` with a section before it adds it, and `refuse_untrusted_plan` with the checked plan.
The operator's own sections are not held to this. docs/cql.md says what is not covered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from headgate.application.file import ClassSection, QuerySection, StreamSection
from headgate.connect.sources import TABLES
from headgate.errors import ApplicationError, known_names
from headgate.language.compile import check_request_text
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Plan
from headgate.settings.errors import first_error
from headgate.settings.sections import Section, shown
from headgate.sql.errors import CqlError
from headgate.sql.request_checks import check_request_expression
from headgate.sql.schema import parse_schema

MOST_LEVELS = 20  # of nested values in a section
_NO_PATH = (OSError, ValueError, RuntimeError)  # what `Path.resolve` raises for an impossible file name


@dataclass(frozen=True)
class Allowed:
    """What requests may name. Files are refused unless the operator names a folder, whatever the kinds."""

    sources: frozenset[str] = frozenset({"push", "feeder"})
    sinks: frozenset[str] = frozenset({"memory", "none"})
    tables: frozenset[str] = frozenset({"rows"})
    folder: Path | None = None  # files must be inside
    characters: int = 20_000  # of one text
    constant: int = 10_000  # the largest size that a function such as `repeat` is given
    memory: int = 256_000_000  # bytes of one pushed stream that may wait
    kept: int = 1_000_000  # rows that the sink of one query keeps
    rate: float = 100_000.0  # tuples a second of one feeder
    reload: float = 1.0  # seconds, the shortest time after which a table is read again

    @classmethod
    def with_files(cls, folder: Path) -> Allowed:
        """Kinds with files, too, for files in this folder."""
        kinds = frozenset({"csv", "json"})
        read = kinds | {"parquet"}
        return cls(cls.sources | read, cls.sinks | kinds, cls.tables | read, folder.resolve())


def refuse_untrusted(
    section_key: str, name: str, section: Any, allowed: Allowed | None = None, base: Path = Path()
) -> None:
    """Refuse a section of a request: `refuse_untrusted("queries", "fire", {"cql": "SELECT .."}, allowed)`.

    `section` is what the application file would have under that key and name; `base` is where relative file names
    start. Raises ApplicationError that names the place. What the section means with others is checked when it is added.
    """
    limits = allowed or Allowed()
    if section_key not in _CHECKS:
        raise ApplicationError(section_key, "a request may not set this", known_names("keys", _CHECKS, section_key))
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise ApplicationError(section_key, f"{shown(name)} is not a name", "use up to 200 letters and digits")
    place = f"{section_key}.{name}"
    if not isinstance(section, dict):
        raise ApplicationError(place, f"{shown(section)} is not a mapping", "give it as {key: value}")
    _refuse_live_values(section, place, limits)
    _CHECKS[section_key](section, place, limits, base)


def refuse_untrusted_plan(plan: Plan, queries: Collection[str], allowed: Allowed | None = None) -> None:
    """Refuse operators of these queries that a request may not have. Raises ApplicationError.

    What `refuse_untrusted` saw as text is checked again as Spark will get it. Operators of other queries that these
    read are not looked at.
    """
    limits = allowed or Allowed()
    for operator in plan.operators.values():
        query = operator.id.partition("/")[0]
        if query not in queries:
            continue
        place = f"queries.{query}.cql" if plan.queries[query].cql else f"queries.{operator.id.replace('/', '.', 1)}"
        if operator.kind == "function":
            raise _no_function(place)
        for text in operator.expressions:
            try:
                check_request_expression(text, limits.constant)
            except CqlError as error:
                raise ApplicationError(place, f"'{text[:200]}': {error.problem}", error.remedy) from error


# One function per section -----------------------------------------------------------------------------------------


def _stream(section: dict[str, Any], place: str, allowed: Allowed, base: Path) -> None:
    given = {"source": {"kind": "push"}} | section
    _refuse_kind(given["source"], f"{place}.source", allowed.sources)
    stream: StreamSection = _read(StreamSection, given, place)
    _refuse_types(stream.schema_, f"{place}.schema")
    _refuse_files(stream.source.files, f"{place}.source", allowed, base)
    if getattr(stream.source, "memory", 0) > allowed.memory:
        remedy = f"ask for {allowed.memory:,} bytes at most"
        raise ApplicationError(f"{place}.source.memory", "this is more than a request may take", remedy)
    if (getattr(stream.source, "rate", None) or 0.0) > allowed.rate:
        remedy = f"ask for {allowed.rate:,.0f} tuples a second at most"
        raise ApplicationError(f"{place}.source.rate", "this is more than a request may ask for", remedy)


def _table(section: dict[str, Any], place: str, allowed: Allowed, base: Path) -> None:
    _refuse_kind(section, place, allowed.tables)
    table = _read(TABLES[section["kind"]], section, place)
    _refuse_types(table.schema_, f"{place}.schema")
    _refuse_files(table.files, place, allowed, base)
    if (getattr(table, "reload", None) or allowed.reload) < allowed.reload:
        remedy = f"ask for {allowed.reload:g} s or more"
        raise ApplicationError(f"{place}.reload", "this is more often than a request may ask for", remedy)


def _class(section: dict[str, Any], place: str, allowed: Allowed, base: Path) -> None:
    _read(ClassSection, section, place)


def _query(section: dict[str, Any], place: str, allowed: Allowed, base: Path) -> None:
    if section.get("sink") is not None:
        _refuse_kind(section["sink"], f"{place}.sink", allowed.sinks)
    for operator in _listed(section):
        if operator.get("kind") == "function":
            raise _no_function(f"{place}.operators.{shown(operator.get('id'))}")
    query: QuerySection = _read(QuerySection, section, place)
    _refuse_files(query.sink.files, f"{place}.sink", allowed, base)
    if getattr(query.sink, "limit", 0) > allowed.kept:
        raise ApplicationError(
            f"{place}.sink.limit", "this is more than a request may keep", f"keep {allowed.kept:,} rows at most"
        )
    if query.cql is not None:
        check_request_text(query.cql, f"{place}.cql", allowed.constant)


_CHECKS = {"streams": _stream, "tables": _table, "classes": _class, "queries": _query}


# What they share --------------------------------------------------------------------------------------------------


def _read(model: type[Section], section: dict[str, Any], place: str) -> Any:
    try:
        return model.model_validate(section)
    except ValidationError as error:
        raise first_error(error, section, lambda place: 0, place) from None


def _listed(section: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The operators that a query lists, as far as they are mappings."""
    listed = section.get("operators")
    for operator in listed if isinstance(listed, list) else ():
        if isinstance(operator, dict):
            yield operator


def _no_function(place: str) -> ApplicationError:
    problem = "a request may not bring code, so it has no operators of kind function"
    return ApplicationError(place, problem, "read a query in the operator's file that has one")


def _refuse_kind(settings: Any, place: str, allowed: Collection[str]) -> None:
    kind = settings.get("kind") if isinstance(settings, dict) else None
    if not isinstance(kind, str):
        raise ApplicationError(place, "the key 'kind' is missing", f"add it, {known_names('kinds', allowed)}")
    if kind not in allowed:
        problem = f"a request may not use the kind {shown(kind)}"
        raise ApplicationError(f"{place}.kind", problem, known_names("kinds", allowed, kind))


def _refuse_types(schema: str, place: str) -> None:
    """Refuse types that no run can take: otherwise only the start of a run would find them."""
    try:
        arrow_schema(parse_schema(schema, place))
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        raise ApplicationError(place, problem, remedy) from error


def _refuse_files(files: Collection[str], place: str, allowed: Allowed, base: Path) -> None:
    for file in files:
        if allowed.folder is None:
            raise ApplicationError(f"{place}.path", "a request may not name files", "leave the path out")
        try:
            full, folder = (base / file).resolve(), allowed.folder.resolve()
        except _NO_PATH as error:
            raise ApplicationError(f"{place}.path", f"{shown(file)} is not a file name", "check the name") from error
        if folder not in full.parents:
            problem = f"{shown(file)} is outside the folder that requests may use"
            raise ApplicationError(f"{place}.path", problem, "name a file inside it")


def _refuse_live_values(value: Any, place: str, allowed: Allowed, level: int = 0) -> None:
    """Refuse what cannot come from JSON, texts that are too long, and nesting that is too deep."""
    if level > MOST_LEVELS:
        raise ApplicationError(place, f"this has more than {MOST_LEVELS} levels", "take some levels out")
    if isinstance(value, str):
        if len(value) > allowed.characters:
            problem = f"this text has {len(value):,} characters"
            raise ApplicationError(place, problem, f"keep it to {allowed.characters:,}")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ApplicationError(place, f"the key {shown(key)} is not text", "put it in quotes")
            _refuse_live_values(key, place, allowed, level + 1)
            _refuse_live_values(inner, f"{place}.{key[:60]}", allowed, level + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _refuse_live_values(inner, f"{place}.{number}", allowed, level + 1)
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise ApplicationError(place, f"a request may not hold a {type(value).__name__}", "give plain values")
