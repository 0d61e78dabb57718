"""Advice as text: a table of what each alternative would do, and the recommendation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.display.tables import FittedTable, TableColumn, size, time

if TYPE_CHECKING:
    from rich.console import Console


def print_advice(advice: Mapping[str, Any], out: Console) -> None:
    """Print what `Advice.to_dict` gives; the best alternatives come first."""
    title = f"the next {advice['seconds']:g} s under each policy: mean latency of each class, and what waits"
    out.print(advice_table(advice, title))
    for name, reason in advice["failed"].items():
        out.print(f"\n{name} could not be forecast: {reason}", markup=False)
    out.print(f"\n{advice['recommendation']}", markup=False)


def advice_table(advice: Mapping[str, Any], title: str = "") -> FittedTable:
    """One row for each alternative."""
    forecasts = sorted(advice["forecasts"], key=_order)
    classes = list(forecasts[0]["classes"])
    promised = any(one["score"] is not None for one in forecasts)
    columns = [TableColumn("policy"), *(TableColumn(name, number=True) for name in classes)]
    columns += [TableColumn("weighted", number=True)]
    columns += [TableColumn("promises", number=True)] if promised else []
    columns += [TableColumn("memory", number=True, spare=1), TableColumn("calls/s", number=True, spare=2)]
    rows = []
    for one in forecasts:
        row = [_name(one), *(time(one["classes"][name]["mean"], "") for name in classes)]
        row.append(time(one["weighted_mean_latency"], ""))
        if promised:
            row.append("" if one["score"] is None else f"{one['score']:.0%}")
        rows.append([*row, size(one["memory_mean"]), f"{one['calls_a_second']:.0f}"])
    return FittedTable(columns, rows, title)


def _order(one: Mapping[str, Any]) -> tuple[float, float]:
    latency = one["weighted_mean_latency"]
    return (-(one["score"] or 0.0), float("inf") if latency is None else latency)


def _name(one: Mapping[str, Any]) -> str:
    given = ",".join(f"{key}={value}" for key, value in one["parameters"].items())
    name = f"{one['policy']}:{given}" if given else str(one["policy"])
    return name if one["linger_s"] is None else f"{name}, linger {one['linger_s'] * 1e3:g} ms"
