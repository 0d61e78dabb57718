"""Who may do what: a token's role, checked for every route, and how often a caller may ask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from headgate.server.limits import RequestRate
from headgate.server.service import Service
from headgate.server.tokens import Caller, Role, Tokens

LOCAL = Caller("local", "admin")  # whoever reaches a server that is bound to loopback and asks for no tokens

_bearer = HTTPBearer(auto_error=False, description="A token that `headgate token add` printed.")


class Access:
    """Finds out who sends a request. One for each server."""

    def __init__(self, tokens: Tokens, required: bool, rate: RequestRate) -> None:
        self._tokens = tokens
        self.required = required  # without: requests without a token may do everything
        self._rate = rate

    def caller(self, token: str | None) -> Caller | None:
        """Whose token this is, or who may come without one; None: nobody who may."""
        if token is None:
            return None if self.required else LOCAL
        return self._tokens.caller(token)

    def admit(self, request: Request, token: str | None, role: Role) -> Caller:
        """The caller, if they may. HTTPException: 401, 403, or 429 for one who asks too often."""
        caller = self.caller(token)
        address = request.client.host if request.client else ""
        request.state.caller = caller or Caller(f"unknown ({address})", "read")
        wait_s = self._rate.wait_s(request.state.caller.name)
        if wait_s:
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise HTTPException(429, "too many requests; wait a little", headers)
        if caller is None:
            remedy = "send a token: Authorization: Bearer TOKEN" if token is None else "ask the operator for another"
            problem = "this server asks for a token" if token is None else "this token is not known"
            raise HTTPException(401, f"{problem}; {remedy}", {"WWW-Authenticate": "Bearer"})
        if not caller.may(role):
            raise HTTPException(403, f"the token '{caller.name}' may {caller.role}; this needs '{role}'")
        return caller


def needs(role: Role) -> Callable[..., Caller]:
    """The dependency of a route that needs a role."""

    def admitted(
        request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Caller:
        access: Access = request.app.state.access
        return access.admit(request, credentials.credentials if credentials else None, role)

    return admitted


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Reader = Depends(needs("read"))
Writer = Depends(needs("write"))
Admin = Depends(needs("admin"))
TheService = Annotated[Service, Depends(_service)]
