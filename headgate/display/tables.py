"""Tables and their cells, as every command prints them.

A table fits the terminal: numbers keep their units and words stay whole. If it is too wide, texts wrap first; then the
least important columns are dropped; if that is not enough, each row is printed as a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headgate.durations import format_duration

_GAP = 2  # blanks between two columns
Cell = str | Text


@dataclass(frozen=True)
class TableColumn:
    """A column of a table. On a narrow terminal the column with the highest `spare` is dropped first."""

    title: str
    number: bool = False  # right-aligned; only the title may wrap
    spare: int = 0  # 0: never dropped


@dataclass(frozen=True)
class FittedTable:
    """A table that is laid out when it is printed, for the width available then. Cells are text, not markup."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    spaced: bool = False  # an empty line between rows, for cells of several lines
    _texts: list[list[Text]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_texts", [[_text(cell) for cell in row] for row in self.rows])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(self.title, style="bold")
        yield from self._fitted(options.max_width)

    def _fitted(self, width: int) -> Iterable[RenderableType]:
        kept = list(range(len(self.columns)))
        while True:
            widths = share_out([self._natural(at) for at in kept], [self._least(at) for at in kept], width)
            if widths is not None:
                return [self._grid(kept, widths)]
            spare = max(kept, key=lambda at: self.columns[at].spare)
            if not self.columns[spare].spare:
                return self._lists(kept)
            kept.remove(spare)

    def _cells(self, at: int) -> list[str]:
        return [row[at].plain for row in self._texts]

    def _natural(self, at: int) -> int:
        return _widest(line for cell in (self.columns[at].title, *self._cells(at)) for line in cell.split("\n"))

    def _least(self, at: int) -> int:
        cells = self._cells(at)
        whole = cells if self.columns[at].number else [word for cell in cells for word in cell.split()]
        return _widest([*whole, *self.columns[at].title.split()])

    def _grid(self, kept: Sequence[int], widths: Sequence[int]) -> Table:
        # Beside the padding there is one blank where other boxes have a line.
        table = Table(
            box=box.SIMPLE_HEAD,
            show_header=any(column.title for column in self.columns),
            show_edge=False,
            pad_edge=False,
            padding=(0, _GAP - 1, 0, 0),
            leading=int(self.spaced),
        )
        for at, width in zip(kept, widths, strict=True):
            column = self.columns[at]
            title = Text(column.title, style="bold")
            table.add_column(title, justify="right" if column.number else "left", width=width, overflow="fold")
        for row in self._texts:
            table.add_row(*(row[at] for at in kept))
        return table

    def _lists(self, kept: Sequence[int]) -> Iterable[RenderableType]:
        """For a terminal too narrow for a table: the cells of each row, one below the other."""
        for row in self._texts:
            first, *others = kept
            yield Text.assemble((row[first].plain, "bold"))
            for at in others:
                if row[at].plain:
                    yield Padding(Text.assemble((f"{self.columns[at].title} ", "dim"), row[at]), (0, 0, 0, 2))


def share_out(natural: Sequence[int], least: Sequence[int], width: int) -> list[int] | None:
    """Column widths that fit, the widest shrunk first; None when not even the least widths fit."""
    room = width - _GAP * (len(natural) - 1)
    if sum(least) > room:
        return None
    widths = list(natural)
    while sum(widths) > room:
        able = [at for at in range(len(widths)) if widths[at] > least[at]]
        widest = max(able, key=lambda at: widths[at])
        widths[widest] -= 1
    return widths


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def short(operators: list[str], query: str) -> list[str]:
    """Operator names without the name of the query that they are shown under."""
    return [name.removeprefix(f"{query}/") for name in operators]


def time(seconds: float | None, unknown: str = "not declared") -> str:
    """Seconds in a suitable unit."""
    return unknown if seconds is None else format_duration(seconds)


def number(value: float | None) -> str:
    """Four digits, or a whole number with thousands separated."""
    return "?" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def size(value: float | None) -> str:
    """Bytes in a suitable unit."""
    if value is None:
        return "-"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"
