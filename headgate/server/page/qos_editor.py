"""An editor for quality of service: a table of points for each promise, and the graph that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from headgate.plan.quality import MEASURES, PRIORITIES
from headgate.server.page.charts import qos_chart
from headgate.server.page.frame import action
from headgate.server.page.visit import Visit

_UNITS = {"latency": "seconds", "memory": "bytes", "throughput": "results a second"}
_FIRST = {"latency": 1.0, "memory": 1e6, "throughput": 100.0}  # what a new promise expects
_LENGTH_S = 60.0  # of a new interval


@dataclass
class _Promise:
    measure: str
    priority: str
    points: list[list[float | None]]
    fields: ui.element | None = None
    chart: ui.echart | None = None
    numbers: list[tuple[ui.number, ui.number]] = field(default_factory=list)


class QosEditor:
    """What a query is promised. `value` is as in an application file."""

    def __init__(
        self, visit: Visit, value: Mapping[str, Any] | None = None, changed: Callable[[], None] | None = None
    ) -> None:
        """`changed` is called whenever somebody edits something."""
        self._visit = visit
        self._changed = changed or (lambda: None)
        self._promises: list[_Promise] = []
        self._parts = ui.element("div").classes("promises")
        with ui.element("div").classes("buttons"):
            self._adders = {
                measure: action(f"Promise a {measure}", lambda measure=measure: self._add(measure), quiet=True)
                for measure in MEASURES
            }
        self.set_value(value)
        visit.on_theme(self._paint_all)

    @property
    def value(self) -> dict[str, Any] | None:
        """The promises as they stand in the form; None: there are none."""
        found = {
            one.measure: {"priority": one.priority, "points": [list(point) for point in one.points]}
            for one in self._promises
        }
        return found or None

    def set_value(self, value: Mapping[str, Any] | None) -> None:
        """Show other promises."""
        self._promises = [
            _Promise(measure, one["priority"], [list(point) for point in one["points"]])
            for measure, one in (value or {}).items()
        ]
        self._build()

    def _add(self, measure: str) -> None:
        first = _FIRST[measure]
        self._promises.append(_Promise(measure, "must", [[0.0, first], [_LENGTH_S, first]]))
        self._edited()

    def _edited(self) -> None:
        self._build()
        self._changed()

    def _build(self) -> None:
        self._parts.clear()
        with self._parts:
            for promise in self._promises:
                self._build_promise(promise)
        promised = {one.measure for one in self._promises}
        for measure, adder in self._adders.items():
            adder.set_visibility(measure not in promised)

    def _build_promise(self, promise: _Promise) -> None:
        label = f"Promised {promise.measure}"
        with ui.element("fieldset").classes("promise"):
            legend = ui.label(f"{label}, {_UNITS[promise.measure]}")
            legend.tag = "legend"
            with ui.element("div").classes("promise-parts"):
                with ui.element("div").classes("points") as promise.fields:
                    self._build_points(promise)
                promise.chart = ui.echart({}).classes("chart small")
        self._paint(promise)

    def _build_points(self, promise: _Promise) -> None:
        priority = ui.select(list(PRIORITIES), value=promise.priority, label="Priority")
        priority.props("outlined dense options-dense")
        priority.on_value_change(lambda event: self._set_priority(promise, event.value))
        promise.numbers = []
        for at, (time, value) in enumerate(promise.points):
            with ui.element("div").classes("point"):
                end = "from" if at % 2 == 0 else "to"
                first = _number(f"{end} second", time)
                second = _number(f"expected {promise.measure}", value)
                promise.numbers.append((first, second))
                first.on_value_change(lambda _: self._read(promise))
                second.on_value_change(lambda _: self._read(promise))
        with ui.element("div").classes("buttons"):
            action("Add interval", lambda: self._add_interval(promise), quiet=True)
            last = len(promise.points) <= 2
            words = "Remove promise" if last else "Remove last interval"
            action(words, lambda: self._remove_interval(promise), quiet=True)

    def _set_priority(self, promise: _Promise, priority: str) -> None:
        promise.priority = priority
        self._changed()

    def _read(self, promise: _Promise) -> None:
        promise.points = [[first.value, second.value] for first, second in promise.numbers]
        self._paint(promise)
        self._changed()

    def _add_interval(self, promise: _Promise) -> None:
        time, value = promise.points[-1]
        start = time or 0.0
        promise.points += [[start, value], [start + _LENGTH_S, value]]
        self._edited()

    def _remove_interval(self, promise: _Promise) -> None:
        del promise.points[-2:]
        if not promise.points:
            self._promises.remove(promise)
        self._edited()

    def _paint(self, promise: _Promise) -> None:
        if promise.chart is None:
            return
        points = drawable(promise.points)
        promise.chart.options.clear()
        promise.chart.options.update(qos_chart(points, promise.measure, self._visit.colors))
        promise.chart.update()

    def _paint_all(self) -> None:
        for promise in self._promises:
            self._paint(promise)


def drawable(points: list[list[float | None]]) -> list[list[float]]:
    """The points that are whole, in order of time; while somebody types, others may be missing."""
    whole = [[time, value] for time, value in points if time is not None and value is not None]
    return sorted((point for point in whole if all(map(math.isfinite, point))), key=lambda point: point[0])


def _number(label: str, value: float | None) -> ui.number:
    number = ui.number(label.capitalize(), value=value, min=0).props("outlined dense debounce=300")
    return number
