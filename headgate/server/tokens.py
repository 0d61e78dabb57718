"""Tokens that say who may do what. Only their hashes are stored."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from headgate.errors import ApplicationError, known_names
from headgate.server.database import Database

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = ("read", "write", "admin")  # each may do what those before it may
_PREFIX = "hg_"  # lets scanners find tokens that were left in files


class Caller(NamedTuple):
    """Who sent a request, and what they may do."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Is this role enough for what needs `role`?"""
        return ROLES.index(self.role) >= ROLES.index(role)


class Tokens:
    """Who may do what. A token is 256 random bits, so that one round of SHA-256 is enough to store it by."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, role: str) -> str:
        """Make a token. It is returned this once. ApplicationError: the name is taken, or there is no such role."""
        if role not in ROLES:
            raise ApplicationError("role", f"there is no role '{role}'", known_names("roles", ROLES, role))
        if not name.strip() or len(name) > 100:
            raise ApplicationError("name", "a token needs a name of 1 to 100 characters", "say who will use it")
        token = _PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            self._database.write("INSERT INTO tokens VALUES (?, ?, ?, ?)", [name, role, _hash(token), now])
        except sqlite3.IntegrityError:
            raise ApplicationError("name", f"there is already a token named '{name}'", "remove it first") from None
        return token

    def remove(self, name: str) -> None:
        """Let a token be worth nothing from now on. ApplicationError: there is none of this name."""
        if not self._database.write("DELETE FROM tokens WHERE name = ?", [name]):
            names = [one["name"] for one in self.all()]
            raise ApplicationError("name", f"there is no token '{name}'", known_names("tokens", names, name))

    def all(self) -> list[dict[str, str]]:
        """Name, role and day of every token; the tokens themselves are not known."""
        found = self._database.read("SELECT name, role, created FROM tokens ORDER BY name")
        return [{"name": name, "role": role, "created": created} for name, role, created in found]

    def caller(self, token: str) -> Caller | None:
        """Whose token it is; None if nobody's. The look-up is by hash, so its time tells nothing of the token."""
        found = self._database.read("SELECT name, role FROM tokens WHERE hash = ?", [_hash(token)])
        return Caller(*found[0]) if found else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
