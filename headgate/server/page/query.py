"""A query's page: its operators, its latency over time, its results, and what can be changed of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import Response

from headgate.errors import ApplicationError
from headgate.server.page import words
from headgate.server.page.charts import latency_chart, promised_between
from headgate.server.page.dag import drawn
from headgate.server.page.decisions import DECISION_COLUMNS, decision_row
from headgate.server.page.frame import Figures, action, card, enter, frame, heading
from headgate.server.page.live_table import Column, LiveTable
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.query_changes import QueryChanges
from headgate.server.page.sights import ResultsSight, see_results
from headgate.server.page.visit import Visit
from headgate.server.service import NotThere

_RESULTS_EVERY_S = 2.0


def query_page(request: Request, client: Client, name: str) -> Response | None:
    """`/query/NAME`."""
    visit = enter(request, client)
    if isinstance(visit, Response):
        return visit
    with frame(visit, name, ""):
        try:
            section = visit.service.section("queries", name)
        except NotThere as error:
            ProblemBox().show(error)
            client.status_code = 404
            return None
        _QueryPage(visit, name, section)
    return None


class _QueryPage:
    def __init__(self, visit: Visit, name: str, section: Mapping[str, Any]) -> None:
        self._visit = visit
        self._name = name
        self._head()
        self._problem, self._failure = ProblemBox(), ProblemBox()
        with card("", "summary"):
            names = {"latency": "Mean latency", "max": "Largest", "waiting": "Waiting", "outputs": "Results"}
            self._figures = Figures(names | {"dropped": "Dropped", "score": "Promises kept"})
        with card("Operators"):
            ui.label("Numbers on the lines are tuples that wait.").classes("note")
            with ui.element("div").classes("scroll").props('tabindex=0 role="region" aria-label="Operators"'):
                self._drawing = ui.html("", sanitize=True)
        with card("Latency, last minutes"):
            self._chart = ui.echart({}).classes("chart")
        _Results(visit, name)
        with card("Decisions about it"):
            self._decisions = LiveTable("Decisions", DECISION_COLUMNS[:-1], "The optimizer has decided nothing yet.")
        with card("CQL"):
            text = ui.label(section.get("cql") or "It lists its operators.").classes("code")
            text.tag = "pre"
        QueryChanges(visit, name, section)
        self._found: Mapping[str, Any] = {}
        visit.on_theme(self._paint)
        visit.watch(("query", name), lambda: visit.service.query_overview(name), self._tell)

    def _head(self) -> None:
        with ui.element("div").classes("query-head"):
            heading(self._name, 1)
            self._state = ui.label().classes("state")
            self._class = ui.label().classes("note")
            with ui.element("div").classes("buttons"):
                may = self._visit.may_write
                self._start = action("Start", lambda: self._do("start"), quiet=True, enabled=may)
                self._stop = action("Stop", lambda: self._do("stop"), quiet=True, enabled=may)
                self._remove = action("Remove", self._ask_to_remove, danger=True, enabled=may)

    async def _do(self, what: str) -> None:
        service = self._visit.service
        verb = service.start_query if what == "start" else service.stop_query
        self._problem.show(await self._visit.change(f"queries.{self._name}: {what}", verb, self._name))

    async def _ask_to_remove(self) -> None:
        with ui.dialog() as dialog, ui.element("div").classes("card dialog"):
            heading(f"Remove {self._name}?", 2)
            ui.label("Its results are forgotten with it.")
            with ui.element("div").classes("buttons"):
                action("Keep it", lambda: dialog.submit(False), quiet=True)
                action("Remove", lambda: dialog.submit(True), danger=True)
        if not await dialog:
            return
        what = f"queries.{self._name}: remove"
        error = await self._visit.change(what, self._visit.service.remove, "queries", self._name)
        self._problem.show(error)
        if error is None:
            ui.navigate.to("/")

    def _tell(self, found: Mapping[str, Any]) -> None:
        self._found = found
        state, show = found["state"], self._figures.show
        self._state.set_text(state)
        self._state.props["data-value"] = state
        self._class.set_text(f"class {found['class']}" if found["class"] else "")
        self._start.set_visibility(state != "running")
        self._stop.set_visibility(state == "running")
        self._failure.show(ApplicationError(f"queries.{self._name}", found["error"]) if found["error"] else None)
        show("latency", words.duration(found["latency"]["mean"]), "in the last minute")
        show("max", words.duration(found["latency"]["max"]), "in the last minute")
        show("waiting", words.count(found["waiting"]), "tuples")
        show("outputs", words.count(found["outputs"]), f"{words.count(found['results'])} in the last minute")
        tolerance = found.get("tolerance")
        show("dropped", words.count(found.get("dropped")), f"tolerates {words.share(tolerance)}" if tolerance else "")
        score = found.get("score") or {}
        show("score", words.share(score.get("must_kept")), "of what must be kept" if score else "")
        self._drawing.set_content(drawn(found) if found["operators"] else "<p>It does not run.</p>")
        self._decisions.show([decision_row(one, found["at"])[:-1] for one in found.get("decisions", [])[::-1]])
        self._paint()

    def _paint(self) -> None:
        found = self._found
        if not found.get("latencies"):
            self._chart.set_visibility(False)
            return
        course, promises = found["latencies"], {}
        promised = found["qos"].get("latency")
        if promised:
            promises["mean"] = promised_between(promised["points"], course, found["at"])
        begin = course["times"][0] if course["times"] else 0.0
        decisions = [one for one in found["decisions"] if one["at"] >= begin]
        options = latency_chart(found["began"], {"mean": course}, self._visit.colors, promises, decisions, maxima=True)
        if options == self._chart.options:
            return
        self._chart.set_visibility(True)
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()


class _Results:
    """The newest results."""

    def __init__(self, visit: Visit, name: str) -> None:
        self._columns: list[str] = []
        with card("Latest results"):
            self._note = ui.label().classes("note")
            self._table = LiveTable("Latest results", [], "No results yet.")
        key, every = ("results", name), _RESULTS_EVERY_S
        visit.watch(key, lambda: see_results(visit.service, name), self._tell, self._fail, every)

    def _tell(self, sight: ResultsSight) -> None:
        if sight.columns != self._columns:
            self._columns = sight.columns
            self._table.show_columns([Column("", "", minor=True)] + [Column(name, name) for name in sight.columns])
        shown = len(sight.rows)
        self._note.set_text(f"The newest {shown} of {words.count(sight.total)}, the newest first." if shown else "")
        self._table.show([[str(at), *row] for at, row in enumerate(sight.rows, 1)])

    def _fail(self, error: ApplicationError) -> None:
        self._note.set_text(error.problem)
