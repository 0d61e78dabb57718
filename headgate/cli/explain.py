"""`headgate explain`: what an application is, before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from headgate.cli.options import App, JsonOption, PolicyOption, SeedOption, SetOption, SlotsOption, load
from headgate.cli.output import console, print_json, speaks_plainly

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

EXAMPLES = """
[bold]Examples[/bold]

headgate explain examples/sensors.yaml

headgate explain examples/sensors.yaml --json
"""


@speaks_plainly
def explain(
    path: App,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    changes: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an application's streams, queries, operators, paths, segments and classes."""
    app = load(path, changes, policy, slots, seed)

    from headgate.plan.explain import explain as tell

    told = tell(app)
    if as_json:
        print_json(told)
        return
    _print(told, console())


def register(app: typer.Typer) -> None:
    app.command("explain", epilog=EXAMPLES)(explain)


def _print(told: Mapping[str, Any], out: Console) -> None:
    _print_inputs(told, out)
    _print_classes(told, out)
    for name, query in told["queries"].items():
        out.print(query_tree(name, query))
        out.print()
    _print_paths(told, out)
    _print_segments(told, out)
    policy = told["policy"]
    parameters = ", ".join(f"{key} {value}" for key, value in policy["parameters"].items())
    out.print(_safe("policy", policy["name"] + (f" ({parameters})" if parameters else "")))
    out.print(_safe("slots", str(told["slots"])))
    for warning in told["warnings"]:
        out.print(_safe("warning", warning))


def _print_inputs(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("stream or table", "columns", "from")
    for name, stream in told["streams"].items():
        time = f"\nevent time {stream['time']}, slack {_time(stream['slack'])}" if stream["time"] else ""
        _add(table, name, _columns(stream["schema"]) + time, _settings(stream["source"]))
    for name, one in told["tables"].items():
        _add(table, f"{name} (table)", _columns(one["schema"]), _settings(one["source"]))
    out.print(table)


def _print_classes(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("class", "priority", "queries")
    for name, one in sorted(told["classes"].items(), key=lambda item: -item[1]["priority"]):
        _add(table, name, str(one["priority"]), ", ".join(one["queries"]))
    out.print(table)


def query_tree(name: str, query: Mapping[str, Any]) -> Tree:
    """A query from its sink back to its streams."""
    from rich.markup import escape
    from rich.tree import Tree

    head = f"[bold]{escape(name)}[/bold] class {escape(query['class'])}, to {escape(_settings(query['sink']))}"
    tree = Tree(head)
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
    numbers = [f"cost {_time(operator['cost'])} a tuple", f"selectivity {_number(share)}{assumed}"]
    if operator["fixed_cost"] is not None:
        numbers.insert(1, f"{_time(operator['fixed_cost'])} a call")
    lines.append(f"[dim]{', '.join(numbers)}, {operator['bytes']:.4g} bytes[/dim]")
    lines += [f"[dim]{escape(line)}[/dim]" for line in _side_lines(operator)]
    lines.append(f"[dim]-> {escape(_columns(operator['schema']))}[/dim]")
    return "\n".join(lines)


def _side_lines(operator: Mapping[str, Any]) -> list[str]:
    """A line for each input, where they differ."""
    sides = operator["sides"]
    if len({(side["cost"], side["selectivity"]) for side in sides}) < 2:
        return []
    return [
        f"from {side['input']}: cost {_time(side['cost'])} a tuple, selectivity {_number(side['selectivity'])}"
        + (" (assumed)" if side["assumed"] and side["selectivity"] is not None else "")
        for side in sides
    ]


def _print_paths(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("path", "from", "operators", "cost a tuple", "selectivity", "capacity, tuples/s")
    for path in told["paths"]:
        _add(
            table,
            path["id"],
            path["stream"],
            " > ".join(_short(path["operators"], path["query"])),
            _time(path["cost"]),
            _number(path["selectivity"]),
            _number(path["capacity"]),
        )
    out.print(table)


def _print_segments(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("segment", "operators", "cost a tuple", "capacity, tuples/s", "releases, bytes/s")
    for one in told["segments"]:
        operators = " > ".join(one["operators"])
        _add(table, one["id"], operators, _time(one["cost"]), _number(one["capacity"]), _number(one["release"]))
    out.print(table)


def _add(table: Any, *cells: str) -> None:
    from rich.markup import escape

    table.add_row(*(escape(cell) for cell in cells))


def _safe(title: str, text: str) -> str:
    from rich.markup import escape

    return f"[bold]{title}[/bold] {escape(text)}"


def _short(operators: list[str], query: str) -> list[str]:
    return [name.removeprefix(f"{query}/") for name in operators]


def _columns(schema: list[dict[str, Any]]) -> str:
    return ", ".join(f"{column['name']} {column['type'] or '?'}" for column in schema)


def _settings(settings: Mapping[str, Any]) -> str:
    kind = settings.get("kind", "")
    rest = [f"{key} {_value(value)}" for key, value in settings.items() if _worth_saying(key, value)]
    return f"{kind}: {', '.join(rest)}" if rest else str(kind)


def _worth_saying(key: str, value: Any) -> bool:
    usual = {"header": True, "delimiter": ",", "replay": "fast", "format": "rows"}
    return key != "kind" and value not in ("", [], {}) and value != usual.get(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _time(seconds: float | None) -> str:
    from headgate.plan.durations import format_duration

    return "not declared" if seconds is None else format_duration(seconds)


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
