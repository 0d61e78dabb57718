"""What concerns the whole application or the server itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request

from headgate.server.audit import Audit
from headgate.server.http.access import Admin, Reader, TheService, Writer
from headgate.server.http.bodies import Health, NewToken, Policy
from headgate.server.tokens import Tokens

system = APIRouter(tags=["system"])
health = APIRouter(tags=["health"])


@health.get("/health")
def alive() -> Health:
    """Does the server answer? Needs no token."""
    return Health(status="alive")


@health.get("/ready")
def ready(service: TheService) -> Health:
    """Does the run go on? Needs no token."""
    if not service.running:
        raise HTTPException(503, "the run has ended; the server's log says why")
    return Health(status="ready")


@system.get("/overview", dependencies=[Reader])
def overview(service: TheService) -> dict[str, Any]:
    """Classes, queries, queues, load and active policy as of now."""
    return service.overview()


@system.get("/explain", dependencies=[Reader])
def explain(service: TheService) -> dict[str, Any]:
    """The whole application as operators and paths."""
    return service.explain()


@system.get("/report", dependencies=[Reader])
def report(service: TheService) -> dict[str, Any]:
    """The report of the run as of now."""
    return service.report()


@system.get("/decisions", dependencies=[Reader])
def decisions(service: TheService, last: Annotated[int, Query(ge=0, le=10_000)] = 100) -> list[dict[str, Any]]:
    """The newest decisions of the optimizer, oldest first, each with its reason."""
    return service.decisions(last)


@system.get("/policy", dependencies=[Reader])
def get_policy(service: TheService) -> Policy:
    """The policy of the application."""
    return Policy(**service.policy)


@system.put("/policy", dependencies=[Writer])
def set_policy(policy: Policy, service: TheService) -> Policy:
    """Continue with another policy."""
    service.set_policy(policy.name, policy.parameters)
    return Policy(**service.policy)


@system.get("/audit", dependencies=[Admin])
def audit(request: Request, last: Annotated[int, Query(ge=0, le=10_000)] = 100) -> list[dict[str, Any]]:
    """Who changed what, newest first."""
    trail: Audit = request.app.state.audit
    return [line._asdict() for line in trail.last(last)]


@system.get("/tokens", dependencies=[Admin])
def list_tokens(request: Request) -> list[dict[str, str]]:
    """Names and roles of all tokens."""
    return _tokens(request).all()


@system.post("/tokens", dependencies=[Admin], status_code=201)
def add_token(new: NewToken, request: Request) -> dict[str, str]:
    """Make a token. The answer holds it; it cannot be had again."""
    return {"name": new.name, "role": new.role, "token": _tokens(request).add(new.name, new.role)}


@system.delete("/tokens/{name}", dependencies=[Admin], status_code=204)
def remove_token(name: str, request: Request) -> None:
    """Let a token be worth nothing from now on."""
    _tokens(request).remove(name)


def _tokens(request: Request) -> Tokens:
    tokens: Tokens = request.app.state.tokens
    return tokens
