"""Advice as text: a table of what each alternative would do, and the recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.display.tables import Cell, FittedTable, TableColumn, size, time

if TYPE_CHECKING:
    from rich.console import Console

    from headgate.twin.advice import Advice
    from headgate.twin.prediction import Forecast


def print_advice(advice: Advice, out: Console) -> None:
    """Print the alternatives, best first, and what to do."""
    title = f"the next {advice.seconds:g} s under each policy: mean latency of each class, and what waits"
    out.print(advice_table(advice, title))
    for one in advice.failed:
        out.print(f"\n{one.alternative} could not be forecast: {one.reason}", markup=False)
    out.print(f"\n{advice.recommendation}", markup=False)


def advice_table(advice: Advice, title: str = "") -> FittedTable:
    """One row for each alternative."""
    classes = list(advice.best.classes)
    promised = advice.best.score is not None
    columns = [TableColumn("policy"), *(TableColumn(name, number=True) for name in classes)]
    columns += [TableColumn("weighted", number=True)]
    columns += [TableColumn("promises", number=True)] if promised else []
    columns += [TableColumn("memory", number=True, spare=1), TableColumn("calls/s", number=True, spare=2)]
    return FittedTable(columns, [_row(one, classes, promised) for one in advice.ranked], title)


def _row(one: Forecast, classes: list[str], promised: bool) -> list[Cell]:
    row: list[Cell] = [str(one.alternative), *(time(one.classes[name].mean, "") for name in classes)]
    row.append(time(one.weighted_mean_latency, ""))
    if promised:
        row.append("" if one.score is None else f"{one.score:.0%}")
    return [*row, size(one.memory_mean), f"{one.calls_a_second:.0f}"]
