"""The audit trail: one line for every change that somebody asked for, and for every attempt that was refused."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import NamedTuple

from headgate.server.database import Database

log = logging.getLogger("headgate.audit")

KEPT = 100_000  # lines; older ones are in the logs alone
_TRIM_EVERY = 1_000


class AuditLine(NamedTuple):
    """Who asked for what, when, and what came of it."""

    number: int
    at: str
    who: str
    what: str
    outcome: str


class Audit:
    """Written before the answer is sent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, who: str, what: str, outcome: str) -> None:
        """Add a line. It holds names, never the rows or the tokens of a request."""
        log.info("%s: %s: %s", who, what, outcome, extra={"who": who, "what": what, "outcome": outcome})
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._database.write(
            "INSERT INTO audit (at, who, what, outcome) VALUES (?, ?, ?, ?)", [now, who, what, outcome]
        )
        (newest,) = self._database.read("SELECT max(number) FROM audit")[0]
        if newest % _TRIM_EVERY == 0:
            self._database.write("DELETE FROM audit WHERE number <= ?", [newest - KEPT])

    def last(self, n: int) -> list[AuditLine]:
        """The newest lines, newest first."""
        found = self._database.read(
            "SELECT number, at, who, what, outcome FROM audit ORDER BY number DESC LIMIT ?", [n]
        )
        return [AuditLine(*line) for line in found]
