"""The classes on the first page: latencies beside what is promised, and a slider for each priority."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from headgate.metrics.class_measures import by_priority
from headgate.server.page import words
from headgate.server.page.priority_slider import PrioritySlider
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.sights import Promise
from headgate.server.page.visit import Visit

_HEADINGS = ("Class", "Priority", "p50", "p95", "p99", "Promise", "Queries", "Results")
_SETTLED_S = 3.0  # after a choice; what is told until then may be older than it


@dataclass
class _Row:
    priority: int  # that the class has, as far as is known
    slider: PrioritySlider
    cells: dict[str, ui.label]
    wanted: int | None = None  # chosen, and not carried out yet
    changing: bool = False
    touched: float = float("-inf")


class ClassRows:
    """A table of classes, in the order of their priorities when it was made."""

    def __init__(self, visit: Visit, problem: ProblemBox) -> None:
        self._visit = visit
        self._problem = problem
        self._rows: dict[str, _Row] = {}
        with ui.element("div").classes("table-wrap"), ui.element("table").classes("classes"):
            with ui.element("thead"), ui.element("tr"):
                for title in _HEADINGS:
                    cell = ui.label(title).props("scope=col")
                    cell.tag = "th"
            self._body = ui.element("tbody")
        self._none = ui.label("There are no classes yet.").classes("note")

    def tell(self, classes: Mapping[str, Mapping[str, Any]], promises: Mapping[str, Promise]) -> None:
        """Show the classes as they are now."""
        if classes.keys() != self._rows.keys():
            self._make_rows(classes)
        for name, one in classes.items():
            self._show(name, one, promises.get(name))

    def _make_rows(self, classes: Mapping[str, Mapping[str, Any]]) -> None:
        priorities = {name: int(one["priority"]) for name, one in classes.items()}
        self._body.clear()
        self._none.set_visibility(not classes)
        with self._body:
            self._rows = {name: self._make_row(name, priorities) for name in by_priority(priorities)}

    def _make_row(self, name: str, priorities: Mapping[str, int]) -> _Row:
        priority = priorities[name]
        with ui.element("tr"):
            head = ui.label(name).props("scope=row").classes("name")
            head.tag = "th"
            with ui.element("td").classes("priority") as cell:
                cell.props["data-label"] = "Priority"
                slider = PrioritySlider(name, priority, self._visit.may_write)
            cells = {key: _cell(key) for key in _HEADINGS[2:]}
        slider.on_chosen(lambda chosen: self._chosen(name, chosen))
        return _Row(priority, slider, cells)

    async def _chosen(self, name: str, priority: int) -> None:
        """Carry out what was chosen last: whoever holds an arrow key chooses faster than a class changes."""
        row = self._rows[name]
        row.wanted, row.touched = priority, time.monotonic()
        if row.changing:
            return
        row.changing = True
        try:
            while row.wanted is not None:
                wanted, row.wanted = row.wanted, None
                await self._change(name, row, wanted)
        finally:
            row.changing = False

    async def _change(self, name: str, row: _Row, priority: int) -> None:
        what = f"classes.{name}: priority {priority}"
        error = await self._visit.change(what, self._visit.service.change_class, name, {"priority": priority})
        self._problem.show(error)
        row.touched = time.monotonic()
        if error is None:
            row.priority = priority
        else:
            row.slider.show(row.priority)

    def _show(self, name: str, one: Mapping[str, Any], promise: Promise | None) -> None:
        row, latency = self._rows[name], one["latency"]
        untouched = time.monotonic() - row.touched > _SETTLED_S
        if untouched and one["priority"] != row.priority:  # somebody else changed it
            row.priority = one["priority"]
            row.slider.show(row.priority)
        for key in ("p50", "p95", "p99"):
            row.cells[key].set_text(words.duration(latency[key]))
        p95 = latency["p95"]
        broken = promise is not None and p95 is not None and p95 > promise.seconds
        row.cells["Promise"].set_text(promise_words(promise, p95))
        row.cells["p95"].classes(add="late" if broken else "", remove="" if broken else "late")
        row.cells["Queries"].set_text(words.count(one["queries"]))
        row.cells["Results"].set_text(words.rate(one["outputs_per_second"]))


def promise_words(promise: Promise | None, p95: float | None) -> str:
    """What is promised, and whether it is kept; of that, nothing is known without results."""
    if promise is None:
        return words.NOTHING
    expected = words.duration(promise.seconds)
    return expected if p95 is None else f"{expected} {'late' if p95 > promise.seconds else 'kept'}"


def _cell(title: str) -> ui.label:
    cell = ui.label().classes("number")
    cell.tag = "td"
    cell.props["data-label"] = title
    return cell
