"""What the optimizer decided, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import Response

from headgate.server.page import words
from headgate.server.page.charts import decision_words
from headgate.server.page.frame import card, enter, frame, heading
from headgate.server.page.live_table import Column, LiveTable
from headgate.server.page.sights import DecisionsSight, see_decisions

_EVERY_S = 3.0
DECISION_COLUMNS = (
    Column("at", "When"),
    Column("what", "Decision"),
    Column("reason", "Reason"),
    Column("query", "Query", link="/query/"),
)


def decisions_page(request: Request, client: Client) -> Response | None:
    """`/decisions`."""
    visit = enter(request, client)
    if isinstance(visit, Response):
        return visit
    with frame(visit, "Decisions", "/decisions"):
        heading("Decisions", 1)
        note = "The optimizer compares what queries get with what they are promised. The newest decisions come first."
        with card(""):
            ui.label(note).classes("note")
            table = LiveTable("Decisions", DECISION_COLUMNS, "The optimizer has decided nothing yet.")

    def tell(sight: DecisionsSight) -> None:
        table.show([decision_row(one, sight.at) for one in sight.decisions])

    visit.watch("decisions", lambda: see_decisions(visit.service), tell, every=_EVERY_S)
    return None


def decision_row(decision: Mapping[str, Any], now: float) -> list[str]:
    """A decision as texts, for `DECISION_COLUMNS`."""
    when = f"{words.since(decision['at'], now)}"
    return [when, decision_words(decision), decision["reason"], decision.get("query") or ""]
