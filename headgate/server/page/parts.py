"""What the pages of one server share."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.server.audit import Audit
from headgate.server.page.sign_in import Sessions
from headgate.server.page.ticker import Ticker
from headgate.server.service import Service

SCOPE_KEY = "headgate.page"  # where a page finds its parts, in the scope of its request


@dataclass(frozen=True)
class PageParts:
    """A server's service and audit trail, who has signed in, and the clock of all its open pages."""

    service: Service
    audit: Audit
    sessions: Sessions
    ticker: Ticker
