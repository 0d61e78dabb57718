"""The form for a query: checked while somebody types, with errors at their place."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import background_tasks, ui

from headgate.errors import ApplicationError
from headgate.server.page.cql_editor import CqlEditor
from headgate.server.page.frame import action
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.qos_editor import QosEditor
from headgate.server.page.visit import Visit

_PAUSE_S = 0.4  # in typing, before the text is checked
_UNNAMED = "unnamed"


class NewQueryForm:
    """Name, class, text, tolerance and quality of service."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._typed = 0
        with ui.element("div").classes("fields"):
            self._name = ui.input("Name of the query").props("outlined dense")
            self._class = ui.select([], label="Class").props("outlined dense options-dense")
            self._tolerance = ui.number("Tolerated error, percent", min=0, max=99).props("outlined dense clearable")
            self._tolerance.props('hint="Empty: nothing of it is ever dropped."')
        self._editor = CqlEditor(visit, "CQL", changed=self.check_soon)
        self._columns = ui.label().classes("columns").props("aria-live=polite")
        self._warnings = ui.label().classes("note")
        with ui.expansion("Quality of service").classes("expansion"):
            self._qos = QosEditor(visit, changed=self.check_soon)
        self._problem = ProblemBox()
        with ui.element("div").classes("buttons"):
            action("Register and start", self._register, enabled=visit.may_write)
        self._done = ui.element("div").classes("done")
        self.classes_changed()

    def classes_changed(self) -> None:
        """Offer the classes that there are now."""
        classes = self._visit.service.sections("classes")
        least = min(classes, key=lambda name: classes[name]["priority"], default=None)
        self._class.set_options(sorted(classes), value=self._class.value or least)
        self._class.set_visibility(bool(classes))

    def check_soon(self) -> None:
        """Check the query once nothing more is typed."""
        self._typed += 1
        background_tasks.create(self._check(self._typed), name="check a query")

    async def _check(self, typed: int) -> None:
        await asyncio.sleep(_PAUSE_S)
        if typed != self._typed:
            return
        if not self._editor.text.strip():
            self._show([], [], None)
            return
        try:
            name = (self._name.value or "").strip() or _UNNAMED
            columns, warnings = await self._visit.ask(self._visit.service.validate, name, self._section())
        except ApplicationError as error:
            if typed == self._typed:
                self._show([], [], error)
            return
        if typed == self._typed:
            self._show(columns, warnings, None)

    def _show(self, columns: list[dict[str, Any]], warnings: list[str], error: ApplicationError | None) -> None:
        with self._editor.client:
            self._editor.show(error)
            found = ", ".join(f"{one['name']} {one['type']}" for one in columns)
            self._columns.set_text(f"Its results have the columns {found}." if found else "")
            self._warnings.set_text(" ".join(warnings))
            self._problem.clear()

    def _section(self) -> dict[str, Any]:
        section: dict[str, Any] = {"cql": self._editor.text, "qos": self._qos.value, "class": self._class.value}
        if self._tolerance.value is not None:
            section["tolerance"] = self._tolerance.value / 100
        return {key: value for key, value in section.items() if value is not None}

    async def _register(self) -> None:
        name = (self._name.value or "").strip()
        what = f"queries.{name}: register"
        error = await self._visit.change(what, self._visit.service.add, "queries", name, self._section())
        in_text = error is not None and error.place.endswith(".cql")
        self._editor.show(error if in_text else None)
        self._problem.show(None if in_text else error)
        self._done.clear()
        if error is None:
            ui.notify(f"Query {name} runs.", type="positive")
            with self._done:
                ui.label("It runs:")
                ui.link(name, f"/query/{name}")
