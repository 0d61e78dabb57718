"""`headgate explain`: what an application is, before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.explain_policy import print_policy
from headgate.cli.options import App, JsonOption, PolicyOption, SeedOption, SetOption, SlotsOption, load
from headgate.cli.output import console, print_json, speaks_plainly
from headgate.cli.progress_plot import check_plot, draw_charts
from headgate.cli.tables import add_row, number, short, time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

EXAMPLES = """
[bold]Examples[/bold]

headgate explain examples/sensors.yaml

headgate explain examples/sensors.yaml --json

headgate explain examples/sensors.yaml --policy chain --plot charts.svg

headgate explain examples/sensors.yaml --policy threshold:memory=1000000
"""

PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw the progress chart of every path, with its lower envelope, into a .png or .svg file.",
        show_default=False,
    ),
]


@speaks_plainly
def explain(
    path: App,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    changes: SetOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an application's streams, queries, operators, paths, segments and classes.

    With --policy also what that policy makes of it: units, priorities, progress charts, releases, thresholds.
    """
    if plot is not None:
        check_plot(plot)
    app = load(path, changes, policy, slots, seed)

    from headgate.plan.explain import explain as tell
    from headgate.plan.explain_policy import charts, explain_policy

    told = tell(app)
    if policy is not None:
        told["schedule"] = explain_policy(app)
    left_out = [] if plot is None else draw_charts(charts(app.plan), plot)
    if as_json:
        print_json(told)
        return
    _print(told, console())
    if "schedule" in told:
        print_policy(told["schedule"], console())
    if left_out:
        typer.echo(f"not drawn, because a cost is not declared: {', '.join(left_out)}", err=True)


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
        when = f"\nevent time {stream['time']}, slack {time(stream['slack'])}" if stream["time"] else ""
        add_row(table, name, _columns(stream["schema"]) + when, _settings(stream["source"]))
    for name, one in told["tables"].items():
        add_row(table, f"{name} (table)", _columns(one["schema"]), _settings(one["source"]))
    out.print(table)


def _print_classes(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("class", "priority", "queries")
    for name, one in sorted(told["classes"].items(), key=lambda item: -item[1]["priority"]):
        add_row(table, name, str(one["priority"]), ", ".join(one["queries"]))
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
    numbers = [f"cost {time(operator['cost'])} a tuple", f"selectivity {number(share)}{assumed}"]
    if operator["fixed_cost"] is not None:
        numbers.insert(1, f"{time(operator['fixed_cost'])} a call")
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
        f"from {side['input']}: cost {time(side['cost'])} a tuple, selectivity {number(side['selectivity'])}"
        + (" (assumed)" if side["assumed"] and side["selectivity"] is not None else "")
        for side in sides
    ]


def _print_paths(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("path", "from", "operators", "cost a tuple", "selectivity", "capacity, tuples/s")
    for path in told["paths"]:
        add_row(
            table,
            path["id"],
            path["stream"],
            " > ".join(short(path["operators"], path["query"])),
            time(path["cost"]),
            number(path["selectivity"]),
            number(path["capacity"]),
        )
    out.print(table)


def _print_segments(told: Mapping[str, Any], out: Console) -> None:
    from rich.table import Table

    table = Table("segment", "operators", "cost a tuple", "capacity, tuples/s", "releases, bytes/s")
    for one in told["segments"]:
        operators = " > ".join(one["operators"])
        add_row(table, one["id"], operators, time(one["cost"]), number(one["capacity"]), number(one["release"]))
    out.print(table)


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
    usual = {"header": True, "delimiter": ",", "replay": "fast", "format": "rows"}
    return key != "kind" and value not in ("", [], {}) and value != usual.get(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)
