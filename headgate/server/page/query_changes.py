"""What can be changed of a query while it runs: class, tolerance, policy, and what it is promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from headgate.policies.registry import POLICIES
from headgate.server.page.frame import action, card
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.qos_editor import QosEditor
from headgate.server.page.visit import Visit

SHARED = "that of the application"


class QueryChanges:
    """Two forms: settings, and quality of service."""

    def __init__(self, visit: Visit, name: str, section: Mapping[str, Any]) -> None:
        self._visit = visit
        self._name = name
        with card("Settings"):
            self._settings_form(section)
        with card("Quality of service"):
            ui.label("Times are seconds since the run began; between points the graph is linear.").classes("note")
            self._qos = QosEditor(visit, section.get("qos"))
            self._qos_problem = ProblemBox()
            with ui.element("div").classes("buttons"):
                action("Save quality of service", self._save_qos, enabled=visit.may_write)

    def _settings_form(self, section: Mapping[str, Any]) -> None:
        self._before = shown(section)
        classes = sorted(self._visit.service.sections("classes"))
        with ui.element("div").classes("fields"):
            known = self._before["class"]
            self._class = ui.select(sorted({*classes, *([known] if known else [])}), value=known, label="Class")
            self._tolerance = ui.number("Tolerated error, percent", value=self._before["tolerance"], min=0, max=99)
            policies = [SHARED, *sorted(POLICIES)]
            self._policy = ui.select(policies, value=self._before["policy"], label="Policy")
        for field in (self._class, self._tolerance, self._policy):
            field.props("outlined dense")
        self._tolerance.props('clearable hint="Empty: nothing of it is ever dropped."')
        self._problem = ProblemBox()
        with ui.element("div").classes("buttons"):
            action("Save settings", self._save, enabled=self._visit.may_write)

    async def _save(self) -> None:
        wanted = {"class": self._class.value, "tolerance": self._tolerance.value, "policy": self._policy.value}
        changes = changed(self._before, wanted)
        if not changes:
            ui.notify("Nothing has changed.")
            return
        await self._change(changes, self._problem)
        self._before = shown(self._visit.service.section("queries", self._name))

    async def _save_qos(self) -> None:
        await self._change({"qos": self._qos.value}, self._qos_problem)

    async def _change(self, changes: Mapping[str, Any], problem: ProblemBox) -> None:
        what = f"queries.{self._name}: {', '.join(changes)}"
        error = await self._visit.change(what, self._visit.service.change_query, self._name, changes)
        problem.show(error)
        if error is None:
            ui.notify("Saved.", type="positive")


def shown(section: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a query as its form has them."""
    policy, tolerance = section.get("policy"), section.get("tolerance")
    return {
        "class": section.get("class"),
        "tolerance": None if tolerance is None else round(tolerance * 100, 6),
        "policy": SHARED if policy is None else policy if isinstance(policy, str) else policy["name"],
    }


def changed(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What a form has changed, as `Service.change_query` takes it."""
    changes: dict[str, Any] = {key: value for key, value in wanted.items() if value != before[key]}
    if changes.get("tolerance") is not None:
        changes["tolerance"] = changes["tolerance"] / 100
    if "policy" in changes:
        changes["policy"] = None if changes["policy"] == SHARED else {"name": changes["policy"]}
    return changes
