"""A run's report for people: a table of classes, one of queries, and the totals. Both runtimes give the same report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headgate.display.tables import FittedTable, TableColumn, size
from headgate.durations import format_duration
from headgate.errors import first_few

# On a narrow terminal the least important columns are dropped first.
_COUNTS = (TableColumn("inputs", number=True, spare=3), TableColumn("outputs", number=True))
_LATENCIES = {
    "mean": TableColumn("mean latency", number=True),
    "p50": TableColumn("p50", number=True, spare=5),
    "p95": TableColumn("p95", number=True),
    "p99": TableColumn("p99", number=True, spare=4),
    "max": TableColumn("max", number=True, spare=1),
}


def print_report(report: Mapping[str, Any], out: Console) -> None:
    """Print a report as tables. Called by `run` and `simulate` when a run has ended."""
    out.print(report_tables(report))
    _print_events(report, out)


def report_tables(report: Mapping[str, Any]) -> Group:
    """The tables of a report."""
    classes, queries = report.get("classes", {}), report.get("queries", {})
    tables = (class_table(classes), "", query_table(queries), "", totals(report))
    return Group(head(report), *_assumed(report), "", *tables)


def head(report: Mapping[str, Any]) -> Text:
    """What was run, how and for how long."""
    slots = report.get("slots")
    where = f"on {slots} slot{'' if slots == 1 else 's'}, {report.get('runtime')} runtime"
    return Text.assemble((str(report.get("policy")), "bold"), f" {where}, {_seconds(report.get('seconds'))}")


def _assumed(report: Mapping[str, Any]) -> list[Text]:
    """The defaults that a simulation assumed, so that they do not look like declared numbers."""
    assumed = report.get("assumed") or {}
    found = []
    for what, names, unit in (("cost", "costs", " a tuple"), ("selectivity", "selectivities", "")):
        if assumed.get(names):
            value = format_duration(assumed[what]) if what == "cost" else _number(assumed[what])
            operators = first_few(assumed[names])
            found.append(Text(f"assumed: {what} {value}{unit} for {operators}, not declared in the file"))
    return found


def class_table(classes: Mapping[str, Any]) -> FittedTable:
    """The classes, highest priority first."""
    by_priority = sorted(classes.items(), key=lambda item: -(item[1].get("priority") or 0))
    first = (TableColumn("class"), TableColumn("priority", number=True, spare=2))
    return _table(first, [(name, _count(one.get("priority")), one) for name, one in by_priority])


def policy_table(report: Mapping[str, Any]) -> FittedTable:
    """The latencies of each class under each policy that the run used."""
    policies = report["policies"]
    columns = [TableColumn("class"), TableColumn("priority", number=True, spare=2)]
    columns += [
        TableColumn(title, number=True, spare=spare)
        for name in policies
        for title, spare in ((f"mean under {name}", 0), (f"p95 under {name}", 1))
    ]
    rows = []
    for name, one in sorted(report["classes"].items(), key=lambda item: -item[1]["priority"]):
        latencies = [policies[policy]["classes"][name]["latency"] for policy in policies]
        cells = [_seconds(latency[key]) for latency in latencies for key in ("mean", "p95")]
        rows.append([name, _count(one["priority"]), *cells])
    return FittedTable(columns, rows)


def query_table(queries: Mapping[str, Any], title: str = "") -> FittedTable:
    """The queries, in the order of the file."""
    first = (TableColumn("query"), TableColumn("class", spare=2))
    return _table(first, [(name, str(one.get("class")), one) for name, one in queries.items()], title)


def _table(
    first: Sequence[TableColumn], found: Sequence[tuple[str, str, Mapping[str, Any]]], title: str = ""
) -> FittedTable:
    """Names, counts and latencies; tuples that were shed only where there were any."""
    shed = any(one.get("shed") for _, _, one in found)
    columns = [*first, *_COUNTS, *([TableColumn("shed", number=True)] if shed else []), *_LATENCIES.values()]
    rows = []
    for name, second, one in found:
        latency = one.get("latency") or {}
        counts = [_count(one.get(key)) for key in ("inputs", "outputs", *(["shed"] if shed else []))]
        rows.append([name, second, *counts, *(_seconds(latency.get(key)) for key in _LATENCIES)])
    return FittedTable(columns, rows, title)


def totals(report: Mapping[str, Any], most: int | None = None) -> Table:
    """Measures of the whole run, at most `most` of them."""
    memory, throughput = report.get("memory") or {}, report.get("throughput") or {}
    weighted, inversion = report.get("weighted_latency") or {}, report.get("inversion") or {}
    schedule = report.get("schedule") or {}
    measures = [
        ("weighted mean latency", f"{_seconds(report.get('weighted_mean_latency'))}{_at(weighted, 'p95', _seconds)}"),
        ("priority inversion", f"{_number(report.get('priority_inversion'))}{_at(inversion, 'p75', _number)}"),
        ("starvation ratio", _number(report.get("starvation_ratio"))),
        ("queued, mean / max", f"{size(memory.get('mean'))} / {size(memory.get('max'))}"),
        ("inputs / outputs per second", f"{_number(throughput.get('inputs'))} / {_number(throughput.get('outputs'))}"),
    ]
    if schedule.get("updates"):
        made = f"{_count(schedule['updates'])}, {_seconds(schedule['updated_at'])}"
        measures.append(("schedule made, last at", made))
    table = Table(show_header=False, box=None, pad_edge=False)
    for words, value in measures[:most]:
        table.add_row(words, value)
    return table


def _at(levels: Mapping[str, float | None], level: str, words: Callable[[float | None], str]) -> str:
    """A measure at another level than the mean, where there is one."""
    return "" if levels.get(level) is None else f" (at {level}: {words(levels[level])})"


def _print_events(report: Mapping[str, Any], out: Console) -> None:
    """Policy switches, changed classes, shedding and errors, where there were any."""
    for key in (
        "switches",
        "changes",
        "shedding",
        "fallbacks",
        "rejected",
        "late",
        "dead_letters",
        "errors",
        "unprocessed",
    ):
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


def _seconds(value: float | None) -> str:
    return "-" if value is None else format_duration(value)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _count(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
