"""`/v1/streams`, `/v1/tables`, `/v1/classes`: register, list, look, remove."""

from __future__ import annotations

from fastapi import APIRouter

from headgate.server.http.access import Reader, TheService, Writer
from headgate.server.http.bodies import ClassChange, Named, NewClass, NewStream, NewTable, Registered
from headgate.server.service import Service

streams = APIRouter(prefix="/streams", tags=["streams"])
tables = APIRouter(prefix="/tables", tags=["tables"])
classes = APIRouter(prefix="/classes", tags=["classes"])


def _add(service: Service, key: str, new: Named) -> Registered:
    section = new.section()
    service.add(key, new.name, section)
    return Registered(name=new.name, section=section)


@streams.post("", dependencies=[Writer], status_code=201)
def add_stream(new: NewStream, service: TheService) -> Registered:
    """Register a stream."""
    return _add(service, "streams", new)


@tables.post("", dependencies=[Writer], status_code=201)
def add_table(new: NewTable, service: TheService) -> Registered:
    """Register a stored table."""
    return _add(service, "tables", new)


@classes.post("", dependencies=[Writer], status_code=201)
def add_class(new: NewClass, service: TheService) -> Registered:
    """Register a class of queries."""
    return _add(service, "classes", new)


@classes.patch("/{name}", dependencies=[Writer])
def change_class(name: str, change: ClassChange, service: TheService) -> Registered:
    """Change a class's priority."""
    service.change_class(name, {"priority": change.priority})
    return Registered(name=name, section=service.section("classes", name))


def _add_shared(routes: APIRouter, key: str, one: str) -> None:
    """The routes that are the same for all three."""

    @routes.get("", dependencies=[Reader], summary=f"List the {key}", operation_id=f"list_{key}")
    def list_all(service: TheService) -> list[Registered]:
        return [Registered(name=name, section=section) for name, section in service.sections(key).items()]

    @routes.get("/{name}", dependencies=[Reader], summary=f"Look at a {one}", operation_id=f"get_{one}")
    def get(name: str, service: TheService) -> Registered:
        return Registered(name=name, section=service.section(key, name))

    @routes.delete(
        "/{name}", dependencies=[Writer], status_code=204, summary=f"Remove a {one}", operation_id=f"remove_{one}"
    )
    def remove(name: str, service: TheService) -> None:
        service.remove(key, name)


_add_shared(streams, "streams", "stream")
_add_shared(tables, "tables", "table")
_add_shared(classes, "classes", "class")
