"""`/v1/queries`: register, validate, start, stop, change, look, remove."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from headgate.server.http.access import Reader, TheService, Writer
from headgate.server.http.bodies import NewQuery, QueryChange, RegisteredQuery, Valid
from headgate.server.service import Service

queries = APIRouter(prefix="/queries", tags=["queries"])


def _registered(service: Service, name: str) -> RegisteredQuery:
    section = service.section("queries", name)
    state, error = service.state(name)
    return RegisteredQuery(name=name, section=section, state=state, error=error)  # type: ignore[arg-type]


@queries.get("", dependencies=[Reader])
def list_queries(service: TheService) -> list[RegisteredQuery]:
    """List the queries."""
    states = service.overview()["queries"]
    return [
        RegisteredQuery(name=name, section=section, state=states[name]["state"], error=states[name]["error"])
        for name, section in service.sections("queries").items()
    ]


@queries.post("", dependencies=[Writer], status_code=201)
def add_query(new: NewQuery, service: TheService, start: bool = True, force: bool = False) -> RegisteredQuery:
    """Register a query and start it; with `start=false` it is only registered.

    One that would leave too little room for queries with a must-promise is refused, unless it joins by `force`.
    """
    service.add("queries", new.name, new.section(), start=start, force=force)
    return _registered(service, new.name)


@queries.post("/validate", dependencies=[Reader])
def validate_query(new: NewQuery, service: TheService) -> Valid:
    """Check a query without registering or starting it."""
    columns, warnings = service.validate(new.name, new.section())
    return Valid(columns=columns, warnings=warnings)


@queries.get("/{name}", dependencies=[Reader])
def get_query(name: str, service: TheService) -> RegisteredQuery:
    """Look at a query."""
    return _registered(service, name)


@queries.patch("/{name}", dependencies=[Writer])
def change_query(name: str, change: QueryChange, service: TheService) -> RegisteredQuery:
    """Change a query's class, QoS, tolerance or policy; while it runs, if it does."""
    service.change_query(name, change.changes())
    return _registered(service, name)


@queries.post("/{name}/start", dependencies=[Writer])
def start_query(name: str, service: TheService, force: bool = False) -> RegisteredQuery:
    """Start a query that does not run. It reads what arrives from now on."""
    service.start_query(name, force)
    return _registered(service, name)


@queries.post("/{name}/stop", dependencies=[Writer])
def stop_query(name: str, service: TheService) -> RegisteredQuery:
    """Stop a query. It stays registered."""
    service.stop_query(name)
    return _registered(service, name)


@queries.delete("/{name}", dependencies=[Writer], status_code=204)
def remove_query(name: str, service: TheService) -> None:
    """Remove a query; it is stopped, if it runs."""
    service.remove("queries", name)


@queries.get("/{name}/overview", dependencies=[Reader])
def query_overview(name: str, service: TheService) -> dict[str, Any]:
    """How a query does: its operators, queues, latencies over time, decisions about it."""
    return service.query_overview(name)


@queries.get("/{name}/explain", dependencies=[Reader])
def explain_query(name: str, service: TheService) -> dict[str, Any]:
    """A query as operators, with what it reads."""
    return service.explain_query(name)
