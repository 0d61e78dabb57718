"""Cells of tables: numbers, times and names as every command writes them."""

from __future__ import annotations

from typing import Any


def add_row(table: Any, *cells: str) -> None:
    """A row of plain text: brackets in names and expressions are no markup."""
    from rich.markup import escape

    table.add_row(*(escape(cell) for cell in cells))


def short(operators: list[str], query: str) -> list[str]:
    """Operator names without the name of the query that they stand under."""
    return [name.removeprefix(f"{query}/") for name in operators]


def time(seconds: float | None, unknown: str = "not declared") -> str:
    """Seconds in a unit that suits them."""
    from headgate.plan.durations import format_duration

    return unknown if seconds is None else format_duration(seconds)


def number(value: float | None) -> str:
    """Four digits, or whole with thousands marked."""
    return "?" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
