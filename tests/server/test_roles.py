"""Who may do what: every route with every role, and without one. A route that is not listed here fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from headgate.server.audit import Audit
from headgate.server.database import open_database
from headgate.server.http.app import make_app
from headgate.server.limits import Limits
from headgate.server.tokens import ROLES, Tokens

pytestmark = pytest.mark.spark

OPEN = None  # needs no token
NEEDS = {
    "GET /v1/health": OPEN,
    "GET /v1/ready": OPEN,
    "GET /v1/overview": "read",
    "GET /v1/explain": "read",
    "GET /v1/report": "read",
    "GET /v1/decisions": "read",
    "GET /v1/policy": "read",
    "PUT /v1/policy": "write",
    "GET /v1/audit": "admin",
    "GET /v1/tokens": "admin",
    "POST /v1/tokens": "admin",
    "DELETE /v1/tokens/{name}": "admin",
    "GET /v1/streams": "read",
    "POST /v1/streams": "write",
    "GET /v1/streams/{name}": "read",
    "DELETE /v1/streams/{name}": "write",
    "POST /v1/streams/{name}/rows": "write",
    "POST /v1/streams/{name}/end": "write",
    "GET /v1/tables": "read",
    "POST /v1/tables": "write",
    "GET /v1/tables/{name}": "read",
    "DELETE /v1/tables/{name}": "write",
    "GET /v1/classes": "read",
    "POST /v1/classes": "write",
    "GET /v1/classes/{name}": "read",
    "PATCH /v1/classes/{name}": "write",
    "DELETE /v1/classes/{name}": "write",
    "GET /v1/queries": "read",
    "POST /v1/queries": "write",
    "POST /v1/queries/validate": "read",
    "GET /v1/queries/{name}": "read",
    "PATCH /v1/queries/{name}": "write",
    "DELETE /v1/queries/{name}": "write",
    "POST /v1/queries/{name}/start": "write",
    "POST /v1/queries/{name}/stop": "write",
    "GET /v1/queries/{name}/overview": "read",
    "GET /v1/queries/{name}/explain": "read",
    "GET /v1/queries/{name}/results": "read",
    "GET /v1/queries/{name}/results/events": "read",
    "POST /v1/snapshot": "read",
    "GET /metrics": "read",
}


class Guarded:
    """A server that asks for tokens, with one token for each role."""

    def __init__(self, client: TestClient, tokens: dict[str, str], audit: Audit) -> None:
        self.client = client
        self.tokens = tokens
        self.audit = audit

    def ask(self, method: str, path: str, token: str | None, **more: object) -> int:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.client.request(method, path, headers=headers, **more).status_code  # type: ignore[arg-type]


@pytest.fixture
def guarded(server, tmp_path: Path) -> Iterator[Guarded]:
    with open_database(tmp_path) as database:
        tokens, audit = Tokens(database), Audit(database)
        made = {role: tokens.add(f"{role}er", role) for role in ROLES}
        app = make_app(server.service, tokens, audit, Limits(), tokens_required=True, hosts=None)
        with TestClient(app) as client:
            yield Guarded(client, made, audit)


def test_every_route_is_listed(guarded: Guarded) -> None:
    described = guarded.client.app.openapi()["paths"]  # type: ignore[attr-defined]
    found = {f"{method.upper()} {path}" for path, operations in described.items() for method in operations}
    assert found | {"GET /metrics"} == NEEDS.keys()


@pytest.mark.parametrize("route", NEEDS)
def test_a_route_needs_its_role(guarded: Guarded, route: str) -> None:
    method, path = route.split(" ")
    path, needed = path.replace("{name}", "nobody-has-this-name"), NEEDS[route]
    if needed is OPEN:
        assert guarded.ask(method, path, None) == 200
        return
    assert guarded.ask(method, path, None) == 401
    assert guarded.ask(method, path, "hg_wrong") == 401
    for role in ROLES:
        status = guarded.ask(method, path, guarded.tokens[role])
        if ROLES.index(role) < ROLES.index(needed):
            assert status == 403
        else:  # let through: what it then says of a name that nobody has, or of a missing body, is another matter
            assert status not in (401, 403)
            assert status < 500


def test_a_refusal_and_a_change_are_in_the_audit_trail_and_a_read_is_not(guarded: Guarded) -> None:
    guarded.ask("GET", "/v1/queries", guarded.tokens["read"])
    guarded.ask("POST", "/v1/streams", guarded.tokens["read"], json={"name": "s", "schema": "k INT"})
    guarded.ask("DELETE", "/v1/streams/nothing", guarded.tokens["write"])
    guarded.ask("GET", "/v1/queries", "hg_wrong")
    lines = [(line.who, line.what, line.outcome) for line in guarded.audit.last(10)]
    assert lines[1:] == [
        ("writeer", "DELETE /v1/streams/nothing", "404"),
        ("reader", "POST /v1/streams", "403"),
    ]
    assert lines[0][0].startswith("unknown")
    assert lines[0][2] == "401"


def test_a_removed_token_is_worth_nothing(guarded: Guarded) -> None:
    assert guarded.ask("GET", "/v1/queries", guarded.tokens["read"]) == 200
    assert guarded.ask("DELETE", "/v1/tokens/reader", guarded.tokens["admin"]) == 204
    assert guarded.ask("GET", "/v1/queries", guarded.tokens["read"]) == 401


def test_tokens_are_stored_as_hashes_and_readable_by_their_owner_alone(guarded: Guarded, tmp_path: Path) -> None:
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert not any(token.encode() in content for token in guarded.tokens.values())
    assert (tmp_path / "headgate.db").stat().st_mode & 0o077 == 0
