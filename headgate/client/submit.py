"""Brings an application to a server: registers what is not there yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from headgate.api.application import Application
from headgate.application.file import ClassSection, QuerySection, StreamSection, TableSection
from headgate.client.client import Client, Key, plain_section
from headgate.errors import ApplicationError

Outcome = Literal["added", "unchanged", "replaced"]
KEYS: tuple[Key, ...] = ("streams", "tables", "classes", "queries")  # in the order in which they are registered
_MODELS: Mapping[Key, TypeAdapter[Any]] = {
    "streams": TypeAdapter(StreamSection),
    "tables": TypeAdapter(TableSection),
    "classes": TypeAdapter(ClassSection),
    "queries": TypeAdapter(QuerySection),
}


class Submitted(NamedTuple):
    """What came of one section."""

    key: Key
    name: str
    outcome: Outcome


def submit(
    client: Client, app: Application, *, replace: bool = False, start: bool = True, force: bool = False
) -> Iterator[Submitted]:
    """Register the streams, tables, classes and queries of an application, one after another.

    What is there already and says the same is left alone. What differs is an ApplicationError, unless `replace`: then
    it takes the other's place. What came before an error stays registered.
    """
    there = {key: client.sections(key) for key in KEYS}
    for key in KEYS:
        sections = app.sections(key)
        for name in _in_order(app) if key == "queries" else list(sections):
            section = sections[name]
            if name not in there[key]:
                client.add(key, name, section, start=start, force=force)
                yield Submitted(key, name, "added")
            elif same_section(key, section, there[key][name]):
                yield Submitted(key, name, "unchanged")
            elif replace:
                _replace(client, key, name, section, there[key][name], force)
                yield Submitted(key, name, "replaced")
            else:
                remedy = "replace it with --replace, or choose another name"
                raise ApplicationError(f"{key}.{name}", "the server has another one of this name", remedy)


def _in_order(app: Application) -> list[str]:
    """The queries, each after those that it reads."""
    names = list(app.sections("queries"))
    readers = {name: app.users("queries", name) for name in names}
    order = TopologicalSorter({name: [other for other in names if name in readers[other]] for name in names})
    try:
        return list(order.static_order())
    except CycleError:  # a column is called as a query is: the words of their texts tell too little
        return names


def _replace(
    client: Client, key: Key, name: str, section: Mapping[str, Any], before: Mapping[str, Any], force: bool
) -> None:
    """Put a section in the place of another; the other one comes back if the server refuses it."""
    if key == "classes" and same_section(key, {**before, "priority": section["priority"]}, section):
        client.set_priority(name, section["priority"])
        return
    state = client.queries()[name].state if key == "queries" else ""
    client.remove(key, name)
    try:
        client.add(key, name, section, force=force)
    except ApplicationError:
        client.add(key, name, before, start=state == "running", force=True)
        raise


def same_section(key: Key, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Do two sections say the same? What one leaves out has its default."""
    return bool(_meaning(key, one) == _meaning(key, other))


def _meaning(key: Key, section: Mapping[str, Any]) -> Any:
    plain = plain_section(key, "", section)
    try:
        return _dumped(_MODELS[key].validate_python(plain))
    except (ValidationError, ApplicationError):  # of a kind that only the server knows
        return plain


def _dumped(value: Any) -> Any:
    """Models within values, too: fields of any type hold connectors."""
    if isinstance(value, BaseModel):
        return type(value).__name__, {name: _dumped(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {key: _dumped(item) for key, item in value.items()}
    return [_dumped(item) for item in value] if isinstance(value, (list, tuple)) else value
