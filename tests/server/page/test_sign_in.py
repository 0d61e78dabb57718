"""Signing in with a token: who gets in, how long, and what the browser is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headgate.server.audit import Audit
from headgate.server.database import open_database
from headgate.server.http.access import Access
from headgate.server.limits import RequestRate
from headgate.server.page.sign_in import COOKIE, Sessions, add_sign_in
from headgate.server.tokens import Caller, Tokens


class Door(NamedTuple):
    """A server's sign-in form."""

    client: TestClient
    sessions: Sessions
    tokens: Tokens
    audit: Audit


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with open_database(tmp_path) as database:
        app, tokens, audit = FastAPI(), Tokens(database), Audit(database)
        app.state.access = access = Access(tokens, True, RequestRate(1000.0))
        app.state.audit = audit
        sessions = Sessions(access, tokens)
        add_sign_in(app, sessions)
        with TestClient(app, follow_redirects=False) as client:
            yield Door(client, sessions, tokens, audit)


def test_a_token_opens_the_page_and_is_kept_nowhere(door: Door) -> None:
    token = door.tokens.add("ann", "write")
    answer = door.client.post("/sign-in", data={"token": f" {token} ", "next": "/new"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/new")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert token not in cookie
    assert door.sessions.caller(answer.cookies[COOKIE]) == Caller("ann", "write")
    assert token not in str(door.audit.last(10))


def test_a_wrong_token_is_refused_and_written_down(door: Door) -> None:
    answer = door.client.post("/sign-in", data={"token": "hg_wrong"})
    assert answer.status_code == 401
    assert "This token is not known." in answer.text
    assert COOKIE not in answer.cookies
    assert [(line.what, line.outcome) for line in door.audit.last(1)] == [("page: sign in", "401")]


def test_signing_out_ends_the_session(door: Door) -> None:
    number = door.client.post("/sign-in", data={"token": door.tokens.add("ann", "read")}).cookies[COOKIE]
    door.client.cookies.set(COOKIE, number)
    door.client.post("/sign-out")
    assert door.sessions.caller(number) is None


def test_a_token_that_was_removed_ends_its_sessions(door: Door) -> None:
    number = door.client.post("/sign-in", data={"token": door.tokens.add("ann", "read")}).cookies[COOKIE]
    door.tokens.remove("ann")
    assert door.sessions.caller(number) is None


@pytest.mark.parametrize("number", [None, "", "x", "\x00"])
def test_made_up_cookies_are_nobodys(door: Door, number: str | None) -> None:
    assert door.sessions.caller(number) is None


@pytest.mark.parametrize(
    "where", ["https://example.org", "//example.org", "/\\example.org", "javascript:alert(1)", "/\n"]
)
def test_the_form_leads_nowhere_else(door: Door, where: str) -> None:
    token = door.tokens.add("ann", "read")
    answer = door.client.post("/sign-in", data={"token": token, "next": where})
    assert answer.headers["location"] == "/"


def test_the_form_shows_what_it_is_given_as_text(door: Door) -> None:
    answer = door.client.get("/sign-in", params={"next": '/"><script>alert(1)</script>'})
    assert "<script>alert" not in answer.text


def test_an_enormous_form_is_nobodys(door: Door) -> None:
    assert door.client.post("/sign-in", data={"token": "x" * 100_000}).status_code == 401


def test_without_required_tokens_everybody_is_let_in(tmp_path: Path) -> None:
    with open_database(tmp_path) as database:
        tokens = Tokens(database)
        sessions = Sessions(Access(tokens, False, RequestRate(1.0)), tokens)
        assert sessions.caller(None) == Caller("local", "admin")
