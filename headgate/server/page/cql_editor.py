"""An editor for CQL that marks the place of an error."""

from __future__ import annotations

import re
from collections.abc import Callable

from nicegui import ui

from headgate.errors import ApplicationError
from headgate.server.http.problems import position
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.visit import Visit

_WORD = re.compile(r"\w+|.", re.DOTALL)


class CqlEditor:
    """A text of CQL, and what is wrong with it, at its place."""

    def __init__(self, visit: Visit, label: str, text: str = "", changed: Callable[[], None] | None = None) -> None:
        self._visit = visit
        with ui.element("div").classes("cql").props('role="group"') as group:
            group.props["aria-label"] = label
            caption = ui.label(label).classes("caption")
            caption.tag = "span"
            self._editor = ui.codemirror(text, language="SQL", line_wrapping=True)
            self.client = self._editor.client
            self._caret = ui.label().classes("caret").props("aria-hidden=true")
            ui.label("To leave the editor with the keyboard, press Escape, then Tab.").classes("only-read")
        self._problem = ProblemBox()
        if changed is not None:
            self._editor.on_value_change(lambda _: changed())
        self._caret.set_visibility(False)
        self._paint()
        visit.on_theme(self._paint)

    @property
    def text(self) -> str:
        """What stands in the editor."""
        return self._editor.value or ""

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._editor.set_value(text)

    def show(self, error: ApplicationError | None) -> None:
        """Show an error, at its place if it has one; None: nothing is wrong."""
        found = position(error) if error is not None else {}
        self._mark(found)
        self._problem.show(error)

    def _mark(self, found: dict[str, int]) -> None:
        place = span(self.text, found["line"], found["character"]) if found else None
        wanted = [] if place is None else [{"kind": "mark", "from": place[0], "to": place[1], "class": "wrong"}]
        if list(self._editor.decorations) != wanted:
            self._editor.decorations = wanted
        self._caret.set_visibility(bool(found))
        if found:
            self._caret.set_text(caret(self.text, found["line"], found["character"]))

    def _paint(self) -> None:
        self._editor.theme = "githubDark" if self._visit.dark else "githubLight"


def span(text: str, line: int, character: int) -> tuple[int, int] | None:
    """From where to where a text has the word at a line and character, counted from 1; None: there is none to mark."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return None
    start = sum(len(one) + 1 for one in lines[: line - 1]) + min(character - 1, len(lines[line - 1]))
    if start >= len(text) or text[start] == "\n":  # at the end: mark what stands before it
        start = max(0, start - 1)
    found = _WORD.match(text, start)
    return None if found is None else (start, found.end())


def caret(text: str, line: int, character: int) -> str:
    """The line of the error, with a caret beneath."""
    lines = text.split("\n")
    shown = lines[line - 1] if line <= len(lines) else ""
    return f"{shown}\n{' ' * (character - 1)}^ line {line}, character {character}"
