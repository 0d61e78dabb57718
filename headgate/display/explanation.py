"""An application as text: its streams, classes, queries, paths and segments, and what a policy makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.connect.sinks.memory import MEMORY_ROWS
from headgate.connect.sources.push import MEMORY
from headgate.display.schedule import print_policy
from headgate.display.tables import FittedTable, TableColumn, number, short, time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree


def print_explanation(explanation: Mapping[str, Any], out: Console) -> None:
    """Print what `explain` found; and under `schedule`, what a policy makes of it."""
    _print_inputs(explanation, out)
    _print_classes(explanation, out)
    for name, query in explanation["queries"].items():
        out.print(query_tree(name, query))
        out.print()
    _print_paths(explanation, out)
    _print_segments(explanation, out)
    policy = explanation["policy"]
    parameters = ", ".join(f"{key} {value}" for key, value in policy["parameters"].items())
    out.print(_safe("policy", policy["name"] + (f" ({parameters})" if parameters else "")))
    out.print(_safe("slots", str(explanation["slots"])))
    for warning in explanation["warnings"]:
        out.print(_safe("warning", warning))
    if "schedule" in explanation:
        print_policy(explanation["schedule"], out)


def _print_inputs(explanation: Mapping[str, Any], out: Console) -> None:
    rows = []
    for name, stream in explanation["streams"].items():
        when = f"\nevent time {stream['time']}, slack {time(stream['slack'])}" if stream["time"] else ""
        rows.append((name, _columns(stream["schema"]) + when, _settings(stream["source"])))
    for name, one in explanation["tables"].items():
        rows.append((f"{name} (table)", _columns(one["schema"]), _settings(one["source"])))
    out.print(FittedTable((TableColumn("stream or table"), TableColumn("columns"), TableColumn("from")), rows), "")


def _print_classes(explanation: Mapping[str, Any], out: Console) -> None:
    by_priority = sorted(explanation["classes"].items(), key=lambda item: -item[1]["priority"])
    rows = [(name, str(one["priority"]), ", ".join(one["queries"])) for name, one in by_priority]
    out.print(
        FittedTable((TableColumn("class"), TableColumn("priority", number=True), TableColumn("queries")), rows), ""
    )


def query_tree(name: str, query: Mapping[str, Any]) -> Tree:
    """A query from its sink back to its streams."""
    from rich.markup import escape
    from rich.tree import Tree

    head = f"[bold]{escape(name)}[/bold] class {escape(query['class'])}, to {escape(_settings(query['sink']))}"
    tree = Tree("\n".join([head, *(f"[yellow]grows:[/yellow] {escape(what)}" for what in query["grows"])]))
    operators = {operator["id"]: operator for operator in query["operators"]}

    def grow(parent: Tree, port: str) -> None:
        owner = port if port in operators else port.rpartition(".")[0]
        if owner not in operators:
            parent.add(f"stream [green]{escape(port)}[/green]")
            return
        operator = operators[owner]
        branch = port[len(owner) + 1 :]
        node = parent.add(_operator_text(operator, branch, name))
        for source in operator["inputs"]:
            grow(node, source)

    grow(tree, query["result"])
    return tree


def _operator_text(operator: Mapping[str, Any], branch: str, query: str) -> str:
    from rich.markup import escape

    home, _, short = operator["id"].partition("/")
    label = short if home == query else f"{short} of {home}"
    lines = [f"[cyan]{escape(label)}[/cyan]{escape('.' + branch if branch else '')} {operator['kind']}"]
    if operator["parameters"]:
        lines[0] += f": {escape(operator['parameters'])}"
    share = operator["branches"].get(branch, operator["selectivity"])
    assumed = " (assumed)" if operator["assumed"] and share is not None else ""
    numbers = [_cost(operator["cost"]), f"selectivity {number(share)}{assumed}"]
    if operator["fixed_cost"] is not None:
        numbers.insert(1, f"{time(operator['fixed_cost'])} a call")
    lines.append(f"[dim]{', '.join(numbers)}, {operator['bytes']:.4g} bytes[/dim]")
    lines += [f"[dim]{escape(line)}[/dim]" for line in (*operator["bounds"], *_side_lines(operator))]
    lines.append(f"[dim]-> {escape(_columns(operator['schema']))}[/dim]")
    return "\n".join(lines)


def _cost(seconds: float | None) -> str:
    return "cost not declared" if seconds is None else f"cost {time(seconds)} a tuple"


def _side_lines(operator: Mapping[str, Any]) -> list[str]:
    """A line for each input, where they differ."""
    sides = operator["sides"]
    if len({(side["cost"], side["selectivity"]) for side in sides}) < 2:
        return []
    return [
        f"from {side['input']}: {_cost(side['cost'])}, selectivity {number(side['selectivity'])}"
        + (" (assumed)" if side["assumed"] and side["selectivity"] is not None else "")
        for side in sides
    ]


def _print_paths(explanation: Mapping[str, Any], out: Console) -> None:
    columns = (
        TableColumn("path"),
        TableColumn("from", spare=1),
        TableColumn("operators"),
        TableColumn("cost a tuple", number=True),
        TableColumn("selectivity", number=True),
        TableColumn("capacity, tuples/s", number=True),
    )
    rows = [
        (
            path["id"],
            path["stream"],
            " > ".join(short(path["operators"], path["query"])),
            time(path["cost"]),
            number(path["selectivity"]),
            number(path["capacity"]),
        )
        for path in explanation["paths"]
    ]
    out.print(FittedTable(columns, rows), "")


def _print_segments(explanation: Mapping[str, Any], out: Console) -> None:
    columns = (
        TableColumn("segment"),
        TableColumn("operators"),
        TableColumn("cost a tuple", number=True),
        TableColumn("capacity, tuples/s", number=True),
        TableColumn("releases, bytes/s", number=True),
    )
    rows = [
        (
            one["id"],
            " > ".join(one["operators"]),
            time(one["cost"]),
            number(one["capacity"]),
            number(one["release"]),
        )
        for one in explanation["segments"]
    ]
    out.print(FittedTable(columns, rows), "")


def _safe(title: str, text: str) -> str:
    from rich.markup import escape

    return f"[bold]{title}[/bold] {escape(text)}"


def _columns(schema: list[dict[str, Any]]) -> str:
    return ", ".join(f"{column['name']} {column['type'] or '?'}" for column in schema)


def _settings(settings: Mapping[str, Any]) -> str:
    kind = settings.get("kind", "")
    rest = [f"{key} {_value(value)}" for key, value in settings.items() if _worth_saying(key, value)]
    return f"{kind}: {', '.join(rest)}" if rest else str(kind)


def _worth_saying(key: str, value: Any) -> bool:
    usual = {
        "header": True,
        "delimiter": ",",
        "replay": "fast",
        "format": "rows",
        "limit": MEMORY_ROWS,
        "memory": MEMORY,
    }
    return key != "kind" and value not in ("", [], {}) and value != usual.get(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)
