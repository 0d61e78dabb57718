"""The first page: how the classes and the queries do, and what decides about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import Response

from headgate.display.overview import stream_state
from headgate.errors import ApplicationError
from headgate.policies.registry import POLICIES
from headgate.server.page import words
from headgate.server.page.charts import latency_chart, promised_between
from headgate.server.page.class_rows import ClassRows
from headgate.server.page.frame import Figures, card, enter, frame, heading
from headgate.server.page.live_table import Column, LiveTable
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.query_list import QueryList
from headgate.server.page.sights import ClassesSight, OverviewSight, see_classes, see_overview
from headgate.server.page.visit import Visit

_CHART_EVERY_S = 2.0


def overview_page(request: Request, client: Client) -> Response | None:
    """`/`."""
    visit = enter(request, client)
    if isinstance(visit, Response):
        return visit
    with frame(visit, "Overview", "/"):
        heading("Overview", 1)
        _Overview(visit)
    return None


class _Overview:
    def __init__(self, visit: Visit) -> None:
        problem = ProblemBox()
        self._problem = problem
        self._summary = _Summary(visit, problem)
        with card("Classes"):
            ui.label("Latency of the last minute. Drag a priority, or use the arrow keys.").classes("note")
            self._classes = ClassRows(visit, problem)
            heading("Mean latency, last minutes", 3)
            self._chart = _ClassChart(visit)
        with card("Load shedding") as self._shedding:
            columns = [
                Column("query", "Query", link="/query/"),
                Column("at", "Queue"),
                Column("share", "Dropped", True),
            ]
            self._shedders = LiveTable("Load shedding", columns)
        with card("Queries", "queries"):
            self._queries = QueryList(visit)
        with card("Streams"):
            numbers = [Column(key, key.capitalize(), True) for key in ("tuples", "queries", "late")]
            columns = [Column("name", "Stream"), *numbers, Column("state", "State")]
            self._streams = LiveTable("Streams", columns, "There are no streams yet.")
        visit.watch("overview", lambda: see_overview(visit.service), self._tell)

    def _tell(self, sight: OverviewSight) -> None:
        found = sight.found
        if not found["running"]:
            self._problem.show(ApplicationError("run", "the run has ended", "the server's log says why"))
        self._summary.tell(found)
        self._classes.tell(found["classes"], sight.promises)
        self._queries.tell(found["queries"], found["classes"])
        self._shedding.set_visibility(bool(found["shedders"]))
        self._shedders.show([_shedder(one) for one in found["shedders"]])
        unread = [[name, words.NOTHING, "0", "0", "not read yet"] for name in sight.unread]
        self._streams.show([_stream(name, one) for name, one in found["streams"].items()] + unread)


def _shedder(one: Mapping[str, Any]) -> list[str]:
    return [one["query"], f"{one['operator']}, input {one['input'] + 1}", words.share(one["share"])]


def _stream(name: str, one: Mapping[str, Any]) -> list[str]:
    counts = [words.rate(one["tuples_per_second"]), words.count(one["queries"]), words.count(one["late"])]
    return [name, *counts, stream_state(one)]


class _Summary:
    """The numbers at the top, and the policy."""

    def __init__(self, visit: Visit, problem: ProblemBox) -> None:
        self._visit = visit
        self._problem = problem
        self._policy = ""
        names = {"load": "Load", "waiting": "Waiting", "in": "Tuples in", "out": "Results out", "queries": "Running"}
        with card("", "summary"):
            self._figures = Figures(names)
            with ui.element("div").classes("policy"):
                self._choice = ui.select(sorted(POLICIES), label="Policy").props("outlined dense options-dense")
                self._choice.on("update:model-value", self._chosen)
                self._choice.set_enabled(visit.may_write)
                self._parameters = ui.label().classes("note")

    def tell(self, found: Mapping[str, Any]) -> None:
        """Show the run as it is now."""
        queues, states = found["queues"], [one["state"] for one in found["queries"].values()]
        show = self._figures.show
        show("load", words.share(found["load"]), f"of {found['slots']} slot{'' if found['slots'] == 1 else 's'}")
        spilled = f", {words.size(queues['spilled_bytes'])} on disk" if queues["spilled_bytes"] else ""
        show("waiting", words.count(queues["tuples"]), words.size(queues["bytes"]) + spilled)
        show("in", words.rate(found["inputs_per_second"]))
        show("out", words.rate(found["outputs_per_second"]))
        failed = states.count("failed")
        note = f"of {words.count(len(states))} queries" + (f", {failed} failed" if failed else "")
        show("queries", words.count(states.count("running")), note)
        self._tell_policy(found["policy"])

    def _tell_policy(self, policy: Mapping[str, Any]) -> None:
        if policy["name"] != self._policy:
            self._policy = policy["name"]
            self._choice.set_options(sorted({*POLICIES, self._policy}), value=self._policy)
        self._parameters.set_text(", ".join(f"{key}: {value}" for key, value in policy["parameters"].items()))

    async def _chosen(self) -> None:
        name = str(self._choice.value)
        error = await self._visit.change(f"policy: {name}", self._visit.service.set_policy, name, {})
        self._problem.show(error)
        if error is not None:
            self._choice.set_value(self._policy)


class _ClassChart:
    """Latency over time, a line for each class, with the tightest promises."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._sight: ClassesSight | None = None
        self._chart = ui.echart({}).classes("chart")
        visit.on_theme(self._paint)
        visit.watch("classes", lambda: see_classes(visit.service), self._tell, every=_CHART_EVERY_S)

    def _tell(self, sight: ClassesSight) -> None:
        self._sight = sight
        self._paint()

    def _paint(self) -> None:
        sight = self._sight
        if sight is None:
            return
        promises = {
            name: promised_between(points, sight.courses[name], sight.at) for name, points in sight.points.items()
        }
        self._chart.options.clear()
        self._chart.options.update(latency_chart(sight.began, sight.courses, self._visit.colors, promises))
        self._chart.update()
