"""What requests registered or changed, kept so that it survives a restart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from headgate.server.database import Database

KEYS = ("streams", "tables", "classes", "queries")  # in the order in which they are registered


class SavedSection(NamedTuple):
    """A section as an application file has it; the rest is about queries.

    `started`: are they meant to run? `since`: when they were last started, by the clock of the run, as a Unix time.
    """

    section: dict[str, Any]
    started: bool
    since: float


class SavedSections:
    """Sections by key and name, in the order in which they were registered."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, key: str) -> dict[str, SavedSection]:
        """All sections under a key."""
        found = self._database.read(
            "SELECT name, section, started, since FROM sections WHERE key = ? ORDER BY rowid", [key]
        )
        return {
            name: SavedSection(json.loads(section), bool(started), since) for name, section, started, since in found
        }

    def save(
        self, key: str, name: str, section: Mapping[str, Any], started: bool = True, since: float | None = None
    ) -> None:
        """Keep a section, in place of one of the same name. Without `since`, that of the other one stays."""
        self._database.write(
            "INSERT INTO sections (key, name, section, started, since) VALUES (?, ?, ?, ?, coalesce(?, 0))"
            " ON CONFLICT (key, name) DO UPDATE SET section = excluded.section, started = excluded.started,"
            " since = coalesce(?, since)",
            [key, name, json.dumps(section), int(started), since, since],
        )

    def forget(self, key: str, name: str) -> None:
        """Keep it no longer."""
        self._database.write("DELETE FROM sections WHERE key = ? AND name = ?", [key, name])

    @property
    def policy(self) -> dict[str, Any] | None:
        """The policy that a request has set; None: none has."""
        found = self._database.read("SELECT value FROM settings WHERE name = 'policy'")
        return json.loads(found[0][0]) if found else None

    def save_policy(self, policy: Mapping[str, Any]) -> None:
        """Keep the policy that a request has set."""
        self._database.write("INSERT OR REPLACE INTO settings VALUES ('policy', ?)", [json.dumps(policy)])
