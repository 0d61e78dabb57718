"""Sections of an application file from the arguments of a call: for applications in Python and for clients."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.connector import Connector
from headgate.connect.sources import Push, TableKind
from headgate.connect.sources.rows import as_arrow, schema_text
from headgate.errors import ApplicationError
from headgate.scheduling.policy import Policy

Section = dict[str, Any]
PolicyChoice = str | Mapping[str, Any] | type[Policy]


def stream_section(
    schema: str,
    *,
    source: Connector | Mapping[str, Any] | None = None,
    time: str | None = None,
    slack: float | str | None = None,
    max_jump: float | str | None = None,
    relation: bool = False,
) -> Section:
    """A stream. Without a source, rows are pushed into it."""
    given = {"schema": schema, "source": Push() if source is None else _plain(source), "time": time, "slack": slack}
    return _given(given | {"max_jump": max_jump, "relation": relation or None})


def table_section(name: str, rows: Any, schema: str | None = None) -> Section:
    """A stored table. ApplicationError: these are no rows, or their schema does not follow from them."""
    if isinstance(rows, (str, Path)):
        section: Section = {"kind": "csv" if Path(rows).suffix.lower() == ".csv" else "json", "path": str(rows)}
        if schema is None:
            remedy = 'add schema="name TYPE, name TYPE"'
            raise ApplicationError(f"tables.{name}", "the schema of a file is missing", remedy)
    elif isinstance(rows, (TableKind, Mapping)):
        section = dict(rows) if isinstance(rows, Mapping) else {**rows.settings(), "schema": rows.schema_}
    else:
        found = as_arrow(rows)
        if found is None and (isinstance(rows, (str, bytes)) or not isinstance(rows, Sequence)):
            remedy = "give a data frame, an Arrow table, a list of dicts, or the name of a file"
            raise ApplicationError(f"tables.{name}", f"{type(rows).__name__} has no rows", remedy)
        section = {"kind": "rows", "rows": list(rows) if found is None else found}
        schema = schema or _schema(name, section["rows"])
    return section if schema is None else {**section, "schema": schema}


def class_section(priority: int, linger: float | str | None = None) -> Section:
    """A class of queries."""
    return _given({"priority": priority, "linger": linger})


def query_section(
    cql: str | None = None,
    *,
    operators: Iterable[Mapping[str, Any]] | None = None,
    in_class: str | None = None,
    sink: Connector | Mapping[str, Any] | None = None,
    stats: Mapping[str, Any] | None = None,
    emit: str | None = None,
    on_error: str | None = None,
    qos: Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    shed: Any = None,
    error_bounds: bool | None = None,
    policy: PolicyChoice | None = None,
    goals: Sequence[Mapping[str, Any]] | None = None,
    linger: float | str | None = None,
) -> Section:
    """A query, as CQL or as operators."""
    given = {
        "cql": cql,
        "operators": None if operators is None else [dict(one) for one in operators],
        "class": in_class,
        "sink": None if sink is None else _plain(sink),
        "stats": stats,
        "emit": emit,
        "on_error": on_error,
        "qos": qos,
        "tolerance": tolerance,
        "shed": shed,
        "error_bounds": error_bounds,
        "policy": None if policy is None else policy_section(policy),
        "goals": None if goals is None else [dict(one) for one in goals],
        "linger": linger,
    }
    return _given(given)


def policy_section(choice: PolicyChoice) -> Section:
    """A policy; a class is registered on the way."""
    if isinstance(choice, str):
        return {"name": choice}
    if isinstance(choice, Mapping):
        return dict(choice)
    from headgate.api.register import register

    return {"name": register(choice).name}


def _given(section: Section) -> Section:
    return {key: value for key, value in section.items() if value is not None}


def _plain(connector: Connector | Mapping[str, Any]) -> Any:
    """A connector as it is; its class is registered on the way."""
    if isinstance(connector, Connector):
        from headgate.api.register import register

        register(type(connector))
        return connector
    return copy.deepcopy(dict(connector))


def _schema(name: str, rows: Any) -> str:
    try:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
        return schema_text(table.schema)
    except (ValueError, TypeError, AttributeError, pa.ArrowException) as error:
        remedy = 'say it, as in schema="name TYPE, name TYPE"'
        raise ApplicationError(f"tables.{name}", f"its schema does not follow from its rows: {error}", remedy) from None
