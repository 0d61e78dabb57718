"""The queries on the first page: found by name, class and state, a screen at a time, however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from headgate.server.page import words
from headgate.server.page.frame import action
from headgate.server.page.live_table import Column, LiveTable
from headgate.server.page.visit import Visit

SCREEN = 20  # queries
ALL_CLASSES, ALL_STATES = "all classes", "all states"
_STATES = ("running", "failed", "stopped", "ended")
_COLUMNS = (
    Column("name", "Query", sort=True, link="/query/"),
    Column("class", "Class", sort=True),
    Column("state", "State", sort=True, mark=True),
    Column("mean", "Mean latency", number=True, sort=True),
    Column("max", "Largest", number=True, sort=True, minor=True),
    Column("waiting", "Waiting", number=True, sort=True, minor=True),
    Column("results", "Results a minute", number=True, sort=True, minor=True),
    Column("shedding", "Dropped", number=True, sort=True, minor=True),
)
_DOWN_FIRST = ("mean", "max", "waiting", "results", "shedding")
Queries = Mapping[str, Mapping[str, Any]]


class QueryList:
    """Search, filters, the table, and the way to the next screen."""

    def __init__(self, visit: Visit) -> None:
        self._queries: Queries = {}
        self._by, self._down = "name", False
        self._first = 0
        with ui.element("div").classes("filters"):
            self._search = ui.input("Search", on_change=self._again).props('outlined dense clearable type="search"')
            self._class = ui.select([ALL_CLASSES], value=ALL_CLASSES, label="Class", on_change=self._again)
            self._state = ui.select([ALL_STATES, *_STATES], value=ALL_STATES, label="State", on_change=self._again)
            for choice in (self._class, self._state):
                choice.props("outlined dense options-dense")
            columns = {column.name: column.label for column in _COLUMNS}
            order = ui.select(columns, value=self._by, label="Sort by", on_change=lambda event: self._sort(event.value))
            order.props("outlined dense options-dense").classes("narrow")  # there the headings are hidden
        self._table = LiveTable("Queries", _COLUMNS, "No query is like this.")
        self._table.show_sort(self._by, self._down)
        self._table.on_sort(self._sort)
        with ui.element("div").classes("pager"):
            self._range = ui.label().props("aria-live=polite").classes("note")
            self._back = action("Previous", lambda: self._go(-SCREEN), quiet=True)
            self._next = action("Next", lambda: self._go(SCREEN), quiet=True)

    def tell(self, queries: Queries, classes: Mapping[str, Any]) -> None:
        """Show the queries as they are now."""
        self._queries = queries
        options = [ALL_CLASSES, *sorted(classes)]
        if options != self._class.options:
            self._class.set_options(options)
        self._show()

    def _again(self) -> None:
        self._first = 0
        self._show()

    def _sort(self, by: str) -> None:
        self._down = not self._down if by == self._by else by in _DOWN_FIRST
        self._by = by
        self._table.show_sort(self._by, self._down)
        self._again()

    def _go(self, by: int) -> None:
        self._first += by
        self._show()

    def _show(self) -> None:
        names = found(self._queries, str(self._search.value or ""), str(self._class.value), str(self._state.value))
        self._first = max(0, min(self._first, (len(names) - 1) // SCREEN * SCREEN))
        shown = in_order(self._queries, names, self._by, self._down)[self._first : self._first + SCREEN]
        self._table.show([row(name, self._queries[name]) for name in shown])
        last = self._first + len(shown)
        self._range.set_text(f"{self._first + 1}–{last} of {words.count(len(names))}" if shown else "")
        self._back.set_enabled(self._first > 0)
        self._next.set_enabled(last < len(names))


def found(queries: Queries, text: str, class_name: str, state: str) -> list[str]:
    """The queries whose name has the text, of a class, in a state."""
    wanted = text.strip().lower()
    return [
        name
        for name, one in queries.items()
        if wanted in name.lower() and class_name in (ALL_CLASSES, one["class"]) and state in (ALL_STATES, one["state"])
    ]


def in_order(queries: Queries, names: Sequence[str], by: str, down: bool) -> list[str]:
    """The names sorted by a column. What is not known comes last, whatever the direction."""

    def value(name: str) -> Any:
        one = queries[name]
        if by == "name":
            return name.lower()
        return one["latency"][by] if by in ("mean", "max") else one[by]

    values = {name: value(name) for name in names}
    known = sorted(
        (name for name in sorted(names) if values[name] is not None), key=lambda name: values[name], reverse=down
    )
    return known + sorted(name for name in names if values[name] is None)


def row(name: str, one: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    latency = one["latency"]
    return [
        name,
        one["class"] or words.NOTHING,
        one["state"],
        words.duration(latency["mean"]),
        words.duration(latency["max"]),
        words.count(one["waiting"]),
        words.count(one["results"]),
        words.share(one["shedding"]) if one["shedding"] else words.NOTHING,
    ]
