"""A table of texts that change: only the cells that did are sent to the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nicegui import events
from nicegui.element import Element

_MOST_CELLS = 0.5  # of all cells; with more changes, sending all rows is shorter


class Column(NamedTuple):
    """A column: the key that it is sorted by, its heading, and how its cells are shown."""

    name: str
    label: str
    number: bool = False
    sort: bool = False
    link: str = ""  # what stands before a cell's text in the address that it leads to
    mark: bool = False  # style sheets see the text of the cell
    minor: bool = False  # left out on a narrow screen


class LiveTable(Element, component="live_table.js"):
    """Rows of texts. The first cell of a row is its key; browsers show all cells as text."""

    def __init__(self, label: str, columns: Sequence[Column], empty: str = "Nothing yet.") -> None:
        super().__init__()
        self._rows: list[list[str]] = []
        self.props["label"] = label
        self.props["columns"] = [column._asdict() for column in columns]
        self.props["rows"] = []
        self.props["sort"] = {"by": "", "down": False}
        self.props["empty"] = empty

    def on_sort(self, act: Callable[[str], None]) -> None:
        """Call this with the name of a column whose heading was pressed."""

        def pressed(event: events.GenericEventArguments) -> None:
            if isinstance(event.args, str):
                act(event.args)

        self.on("sort", pressed)

    def show_sort(self, by: str, down: bool) -> None:
        """Show by which column the rows are sorted."""
        self.props["sort"] = {"by": by, "down": down}

    def show_columns(self, columns: Sequence[Column]) -> None:
        """Take other columns, and no rows."""
        self._rows = []
        with self.props.suspend_updates():
            self.props["rows"] = []
        self.props["columns"] = [column._asdict() for column in columns]

    def show(self, rows: list[list[str]]) -> None:
        """Show these rows."""
        if rows == self._rows:
            return
        changes = changed_cells(self._rows, rows)
        self._rows = rows
        with self.props.suspend_updates():
            self.props["rows"] = [list(row) for row in rows]
        if changes is None:
            self.update()
        else:
            self.run_method("patch", changes)


def changed_cells(before: list[list[str]], after: list[list[str]]) -> list[tuple[int, int, str]] | None:
    """The cells that changed; None if there are other rows, or most of the cells changed."""
    if [row[0] for row in before] != [row[0] for row in after]:
        return None
    found = [
        (at, column, text)
        for at, (old, new) in enumerate(zip(before, after, strict=True))
        for column, text in enumerate(new)
        if text != old[column]
    ]
    return found if len(found) <= _MOST_CELLS * sum(map(len, after)) else None
