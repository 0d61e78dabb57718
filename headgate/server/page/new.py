"""Forms to register a stream, a class and a query, and to ask a query once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import Response

from headgate.errors import ApplicationError
from headgate.server.http.rows import as_json_rows
from headgate.server.page import words
from headgate.server.page.cql_editor import CqlEditor
from headgate.server.page.frame import action, card, enter, frame, heading
from headgate.server.page.live_table import Column, LiveTable
from headgate.server.page.new_query import NewQueryForm
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.visit import Visit

_MOST_ROWS = 100  # of a query that is asked once
_PUSHED, _FED = "rows are pushed over HTTP", "rows are made up (feeder)"


def new_page(request: Request, client: Client) -> Response | None:
    """`/new`."""
    visit = enter(request, client)
    if isinstance(visit, Response):
        return visit
    with frame(visit, "New", "/new"):
        heading("New", 1)
        if not visit.may_write:
            ui.label("Your token lets you look and ask, but not register anything.").classes("note")
        with ui.element("div").classes("two"):
            with card("Stream"):
                stream = _StreamForm(visit)
            with card("Class"):
                class_ = _ClassForm(visit)
        with card("Query"):
            query = NewQueryForm(visit)
        stream.registered = query.check_soon
        class_.registered = query.classes_changed
        with card("Ask once"):
            _AskForm(visit)
    return None


class _StreamForm:
    """Name, columns, and where the rows come from."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self.registered: Callable[[], None] = lambda: None
        self._name = ui.input("Name of the stream").props("outlined dense")
        self._schema = ui.input("Columns").props('outlined dense hint="symbol STRING, price DOUBLE"')
        self._source = ui.select([_PUSHED, _FED], value=_PUSHED, label="Where rows come from")
        self._source.props("outlined dense options-dense")
        with ui.element("div").classes("fields") as fed:
            self._rate = ui.number("Rows a second", value=100, min=0.001).props("outlined dense")
            self._rows = ui.number("Rows in all", min=1).props('outlined dense clearable hint="Empty: without end"')
            self._values = ui.textarea("Values, a line for each column").props("outlined dense rows=3")
            self._values.props('hint="price: uniform 0 100"')
        fed.bind_visibility_from(self._source, "value", value=_FED)
        self._problem = ProblemBox()
        with ui.element("div").classes("buttons"):
            action("Register stream", self._register, enabled=visit.may_write)

    async def _register(self) -> None:
        name = (self._name.value or "").strip()
        try:
            section = {"schema": self._schema.value or "", "source": self._source_section()}
        except ApplicationError as wrong:
            self._problem.show(wrong)
            return
        error = await self._visit.change(f"streams.{name}: register", self._visit.service.add, "streams", name, section)
        self._problem.show(error)
        if error is None:
            ui.notify(f"Stream {name} is registered.", type="positive")
            self.registered()

    def _source_section(self) -> dict[str, Any]:
        if self._source.value == _PUSHED:
            return {"kind": "push"}
        section: dict[str, Any] = {"kind": "feeder", "rate": self._rate.value}
        if self._rows.value:
            section["rows"] = int(self._rows.value)
        values = feeder_values(self._values.value or "")
        return section | ({"values": values} if values else {})


def feeder_values(text: str) -> dict[str, str]:
    """The values of a feeder, from lines such as `price: uniform 0 100`. ApplicationError: a line has no colon."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        column, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon:
            raise ApplicationError(f"values, line {number}", "there is no colon", "write it as: price: uniform 0 100")
        found[column.strip()] = value.strip()
    return found


class _ClassForm:
    """Name and priority."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self.registered: Callable[[], None] = lambda: None
        self._name = ui.input("Name of the class").props("outlined dense")
        self._priority = ui.number("Priority", value=1, min=1, precision=0).props("outlined dense")
        self._priority.props('hint="A larger one is more important."')
        self._problem = ProblemBox()
        with ui.element("div").classes("buttons"):
            action("Register class", self._register, enabled=visit.may_write)

    async def _register(self) -> None:
        name, priority = (self._name.value or "").strip(), int(self._priority.value or 0)
        section = {"priority": priority}
        what = f"classes.{name}: register, priority {priority}"
        error = await self._visit.change(what, self._visit.service.add, "classes", name, section)
        self._problem.show(error)
        if error is None:
            ui.notify(f"Class {name} is registered.", type="positive")
            self.registered()


class _AskForm:
    """A query that is asked once, over what running queries hold and stored tables."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        ui.label("One SELECT over the results that queries keep, and over stored tables.").classes("note")
        self._editor = CqlEditor(visit, "CQL to ask once")
        with ui.element("div").classes("buttons"):
            self._ask = action("Ask", self._asked)
        self._note = ui.label().classes("note").props("aria-live=polite")
        self._table = LiveTable("Answer", [], "No answer yet.")
        self._table.set_visibility(False)

    async def _asked(self) -> None:
        self._ask.set_enabled(False)
        try:
            table = await self._visit.ask(self._visit.service.snapshot, self._editor.text, _MOST_ROWS + 1)
        except ApplicationError as error:
            self._editor.show(error)
            self._table.set_visibility(False)
            self._note.set_text("")
            return
        finally:
            self._ask.set_enabled(True)
        self._editor.show(None)
        more = table.num_rows > _MOST_ROWS
        self._note.set_text(f"{'The first ' if more else ''}{words.count(min(table.num_rows, _MOST_ROWS))} rows.")
        self._table.show_columns([Column("", "", minor=True), *(Column(name, name) for name in table.column_names)])
        self._table.set_visibility(True)
        self._table.show(_texts(as_json_rows(table.slice(0, _MOST_ROWS))))


def _texts(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[str(at), *(words.plain(value) for value in row.values())] for at, row in enumerate(rows, 1)]
