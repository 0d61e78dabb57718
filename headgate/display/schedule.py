"""Prints a policy for `headgate explain --policy`: its units and priorities, and what those follow from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headgate.display.tables import FittedTable, TableColumn, number, short, time
from headgate.errors import first_few

if TYPE_CHECKING:
    from rich.console import Console

# What a priority counts. Rate-based policies count results.
PRIORITIES = {
    "pcs": "capacity, tuples/s",
    "chain": "slope, bytes/s",
    "segment": "releases, bytes/s",
    "simplified-segment": "releases, bytes/s",
    "threshold": "capacity, tuples/s, or releases, bytes/s",
    "hnr": "results/s over ideal time, 1/s²",
    "wehr": "results/s times priority",
}
# What a cost covers.
COSTS = {"operator": "cost to the root", "path": "cost a tuple", "segment": "cost a tuple"}
NOTES = {
    "fifo": "no priorities: the unit with the oldest tuple goes first",
    "mtiq": "no priorities: the unit with the most waiting tuples goes first",
    "cqc": "classes take turns, for times by their priorities; the units of a class go in this order",
}
UNKNOWN = (
    "A cost is not declared, so there is no priority yet: {units}. On Spark these units go first until their costs are "
    "measured; `headgate simulate` assumes a default and names it."
)


def print_policy(schedule: Mapping[str, Any], out: Console) -> None:
    """Print what `explain_policy` found."""
    out.print()
    _print_units(schedule, out)
    if schedule["policy"] in NOTES:
        out.print(NOTES[schedule["policy"]])
    for key, show in SECTIONS.items():
        if key in schedule:
            show(schedule[key], out)


def _print_units(schedule: Mapping[str, Any], out: Console) -> None:
    columns = [TableColumn(f"unit ({schedule['unit']})"), TableColumn("operators")]
    units = schedule["units"]
    fixed = any(unit.get("fixed_cost") for unit in units)
    if "thresholds" in schedule:
        columns[0] = TableColumn("unit")
        columns.append(TableColumn("mode"))
    if schedule["ranked"]:
        cost = "cost of its piece" if "charts" in schedule else COSTS[schedule["unit"]]
        columns += [
            TableColumn(cost, number=True),
            TableColumn(PRIORITIES.get(schedule["policy"], "results/s"), number=True),
        ]
        columns += [TableColumn("the same, one tuple waiting", number=True)] if fixed else []
    if any("turn" in unit for unit in units):
        columns.append(TableColumn("turn"))
    if any("portion" in unit for unit in units):
        columns.append(TableColumn("part of what waits", number=True))
    shown = sorted(units, key=_rank) if schedule["ranked"] else units
    out.print(FittedTable(columns, [_cells(unit, fixed) for unit in shown], f"policy {schedule['policy']}"), "")
    unknown = [unit["id"] for unit in units if unit.get("known") is False]
    if unknown:
        out.print(UNKNOWN.format(units=first_few(unknown)), soft_wrap=True, highlight=False, markup=False)


def _rank(unit: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort key: by mode, then as units would run if all had input: unknown first, then by priority."""
    priority = unit["priority"]
    return unit.get("mode", ""), unit["known"], priority is not None, -(priority or 0.0)


def _cells(unit: Mapping[str, Any], fixed: bool) -> list[str]:
    whose = unit["queries"][0] if len(unit["queries"]) == 1 else ""
    cells = [unit["id"], " > ".join(short(unit["operators"], whose))]
    if "mode" in unit:
        cells.append(unit["mode"])
    if "known" in unit:
        cells += [time(unit["cost"], "not known"), _priority(unit, "priority")]
        cells += [_priority(unit, "alone")] if fixed else []
    if "turn" in unit:
        cells.append("all that waits" if unit["turn"] is None else time(unit["turn"]))
    if "portion" in unit:
        cells.append(number(unit["portion"]))
    return cells


def _priority(unit: Mapping[str, Any], key: str) -> str:
    return _capacity(unit[key], unit["known"])


def _capacity(value: float | None, known: bool = True) -> str:
    """Without a number, the value is not known, or unbounded because nothing costs time."""
    if value is not None:
        return number(value)
    return "costs nothing" if known else "not known"


def _print_charts(charts: list[dict[str, Any]], out: Console) -> None:
    columns = (
        TableColumn("path"),
        TableColumn("after"),
        TableColumn("time spent", number=True),
        TableColumn("tuples left", number=True),
        TableColumn("bytes left", number=True),
        TableColumn("piece of the lower envelope, bytes/s", number=True),
    )
    rows: list[list[str]] = []
    for chart in charts:
        if chart["points"] is None:
            rows.append([chart["path"], "", "not known", "", "", ""])
            continue
        slopes = {piece["points"][1]: piece["slope"] for piece in chart["pieces"]}
        for at, point in enumerate(chart["points"]):
            after = "arrival" if point["after"] is None else short([point["after"]], chart["query"])[0]
            slope = _capacity(slopes[at]) if at in slopes else ""
            name = chart["path"] if at == 0 else ""
            left = number(point["tuples"]), number(point["bytes"])
            rows.append([name, after, time(point["seconds"]), *left, slope])
    title = "progress charts: what is left of a tuple against the time spent on it"
    out.print(FittedTable(columns, rows, title), "")


def _print_cuts(cuts: list[dict[str, Any]], out: Console) -> None:
    rows = []
    for cut in cuts:
        names = short(cut["operators"], cut["query"])
        parts = [
            f"{name} {_capacity(release, known)}"
            for name, release, known in zip(names, cut["releases"], cut["known"], strict=True)
        ]
        rows.append((cut["path"], " > ".join(parts)))
    title = "operators and what they release, bytes/s; a path is cut where that falls"
    out.print(FittedTable((TableColumn("path"), TableColumn(title)), rows), "")


def _print_thresholds(limits: Mapping[str, float], out: Console) -> None:
    out.print(
        f"saving begins at {number(limits['saving_begins'])} bytes in queues and ends at "
        f"{number(limits['saving_ends'])}, of {number(limits['memory'])}; the mean, at first "
        f"{number(limits['mean'])}, moves both"
    )


SECTIONS: dict[str, Callable[[Any, Console], None]] = {
    "charts": _print_charts,
    "cuts": _print_cuts,
    "thresholds": _print_thresholds,
}
