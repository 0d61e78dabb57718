"""A run's report for people: a table of classes, one of queries, and the totals. Both runtimes give the same report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table

from headgate.plan.durations import format_duration

_LATENCIES = ("mean", "p50", "p95", "p99", "max")


def print_report(report: Mapping[str, Any], out: Console) -> None:
    """Print a report as tables. Called by `run` and `simulate` when a run has ended."""
    out.print(report_tables(report))
    _print_events(report, out)


def report_tables(report: Mapping[str, Any]) -> Group:
    """The tables of a report; `demo` shows them while it runs."""
    classes, queries = report.get("classes", {}), report.get("queries", {})
    return Group(_head(report), _classes(classes), _queries(queries), _totals(report))


def _head(report: Mapping[str, Any]) -> str:
    slots = report.get("slots")
    return (
        f"[bold]{escape(str(report.get('policy')))}[/bold] on {slots} slot{'' if slots == 1 else 's'}, "
        f"{report.get('runtime')} runtime, {_seconds(report.get('seconds'))}"
    )


def _classes(classes: Mapping[str, Any]) -> Table:
    table = _table("class", "priority", "inputs", "outputs", "shed", *_LATENCIES)
    by_priority = sorted(classes.items(), key=lambda item: -(item[1].get("priority") or 0))
    for name, one in by_priority:
        table.add_row(escape(name), _count(one.get("priority")), *_counts(one), *_latencies(one))
    return table


def _queries(queries: Mapping[str, Any]) -> Table:
    table = _table("query", "class", "inputs", "outputs", "shed", *_LATENCIES)
    for name, one in queries.items():
        table.add_row(escape(name), escape(str(one.get("class"))), *_counts(one), *_latencies(one))
    return table


def _totals(report: Mapping[str, Any]) -> Table:
    memory, throughput = report.get("memory") or {}, report.get("throughput") or {}
    weighted, inversion = report.get("weighted_latency") or {}, report.get("inversion") or {}
    schedule = report.get("schedule") or {}
    table = Table(show_header=False, box=None, pad_edge=False)
    for words, value in (
        ("weighted mean latency", f"{_seconds(report.get('weighted_mean_latency'))}{_at(weighted, 'p95', _seconds)}"),
        ("priority inversion", f"{_number(report.get('priority_inversion'))}{_at(inversion, 'p75', _number)}"),
        ("starvation ratio", _number(report.get("starvation_ratio"))),
        ("queued, mean / max", f"{_bytes(memory.get('mean'))} / {_bytes(memory.get('max'))}"),
        ("inputs / outputs a second", f"{_number(throughput.get('inputs'))} / {_number(throughput.get('outputs'))}"),
    ):
        table.add_row(words, value)
    if schedule.get("updates"):
        table.add_row("schedule made, last at", f"{_count(schedule['updates'])}, {_seconds(schedule['updated_at'])}")
    return table


def _at(levels: Mapping[str, float | None], level: str, words: Callable[[float | None], str]) -> str:
    """A measure at another level than the mean, where there is one."""
    return "" if levels.get(level) is None else f" (at {level}: {words(levels[level])})"


def _print_events(report: Mapping[str, Any], out: Console) -> None:
    """Policy switches, changed classes, shedding and errors, where there were any."""
    for key in ("switches", "changes", "shedding", "fallbacks", "rejected", "late", "errors"):
        entries = report.get(key)
        if not entries or (isinstance(entries, Mapping) and not any(entries.values())):
            continue
        out.print(f"[bold]{key}[/bold]")
        for line in _lines(entries):
            out.print(f"  {escape(line)}")


def _lines(entries: Any) -> list[str]:
    if isinstance(entries, Mapping):
        return [f"{name}: {value}" for name, value in entries.items()]
    if isinstance(entries, Sequence) and not isinstance(entries, str):
        return [_entry(entry) for entry in entries]
    return [str(entries)]


def _entry(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return ", ".join(f"{key} {_number(v) if isinstance(v, float) else v}" for key, v in entry.items())
    return str(entry)


def _table(*columns: str) -> Table:
    table = Table()
    for index, column in enumerate(columns):
        text = index == 0 or column == "class"
        table.add_column(column, justify="left" if text else "right", no_wrap=True)
    return table


def _counts(one: Mapping[str, Any]) -> list[str]:
    return [_count(one.get(key)) for key in ("inputs", "outputs", "shed")]


def _latencies(one: Mapping[str, Any]) -> list[str]:
    latency = one.get("latency") or {}
    return [_seconds(latency.get(key)) for key in _LATENCIES]


def _seconds(value: float | None) -> str:
    return "-" if value is None else format_duration(value)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _count(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def _bytes(value: float | None) -> str:
    if value is None:
        return "-"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"
