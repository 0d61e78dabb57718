"""`headgate explain`: what an application is, before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.background import in_background
from headgate.cli.explain_policy import print_policy
from headgate.cli.options import App, JsonOption, PolicyOption, SeedOption, SetOption, SlotsOption, load, overrides
from headgate.cli.output import console, print_json, speaks_plainly
from headgate.cli.plots import check_plots, write_plots
from headgate.cli.tables import Column, FittedTable, number, short, time
from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from headgate.application.checked import CheckedApplication

EXAMPLES = """
[bold]Examples[/bold]

headgate explain examples/sensors.yaml

headgate explain examples/sensors.yaml --json

headgate explain examples/sensors.yaml --policy chain --plot out/charts

headgate explain examples/sensors.yaml --policy threshold:memory=1000000
"""

PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FOLDER",
        help="Draw the progress chart of every path, with its lower envelope, into this folder (PNG and SVG).",
        show_default=False,
    ),
]


CheckOption = Annotated[
    bool,
    typer.Option(
        "--check/--no-check",
        help="Let Spark's analyser check every query. Starting Spark takes a while; --no-check leaves it out.",
    ),
]


@speaks_plainly
def explain(
    path: App,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    changes: SetOption = None,
    plots: PlotOption = None,
    check: CheckOption = True,
    as_json: JsonOption = False,
) -> None:
    """Check an application; show its streams, queries, operators, paths, segments and classes.

    With --policy also what that policy makes of it: units, priorities, progress charts, releases, thresholds.
    """
    if plots is not None:
        check_plots(plots)
    app = load(path, changes, policy, slots, seed)

    from headgate.application.explain import explain as tell
    from headgate.application.explain_policy import explain_policy

    told = tell(app)
    told["checked"] = check and _check(app, path, overrides(changes, policy, slots, seed))
    if policy is not None:
        told["schedule"] = explain_policy(app)
    if as_json:
        print_json(told)
    else:
        _print(told, console())
        if "schedule" in told:
            print_policy(told["schedule"], console())
    if plots is not None:
        _plot(app, plots, quiet=as_json)


def _check(app: CheckedApplication, path: Path, changed: Sequence[Any]) -> bool:
    """Have Spark's analyser check the queries. False when there is no Java to run it, which is said on stderr."""
    from headgate.application.load import located
    from headgate.cli.live import progress
    from headgate.runtime.spark.launch.settings import find_java

    try:
        find_java()
    except ApplicationError as error:
        typer.echo(f"Spark has not checked the queries: {error.problem}; {error.remedy}", err=True)
        return False
    with located(path, changed), progress() as show:
        show("checking the queries with Spark")
        in_background(lambda: _check_on_spark(app))
    return True


def _check_on_spark(app: CheckedApplication) -> None:
    from headgate.runtime.spark.analysis.check import check

    check(app)


def _plot(app: CheckedApplication, folder: Path, quiet: bool) -> None:
    """Draw the paths whose costs are known, and name the others."""
    from headgate.application.explain import AssumedStats
    from headgate.charts.progress_charts import draw_progress_charts
    from headgate.policies.explanations import explain_charts

    found = explain_charts(app.plan, AssumedStats(app.plan))
    known = [chart for chart in found if chart["points"]]
    if not known:
        remedy = "declare the cost of every operator of a path"
        raise ApplicationError(f"--plot {folder}", "no path has a progress chart", remedy)
    write_plots({"progress": draw_progress_charts(known)}, folder, quiet)
    left_out = [chart["path"] for chart in found if chart["points"] is None]
    if left_out and not quiet:
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
    rows = []
    for name, stream in told["streams"].items():
        when = f"\nevent time {stream['time']}, slack {time(stream['slack'])}" if stream["time"] else ""
        rows.append((name, _columns(stream["schema"]) + when, _settings(stream["source"])))
    for name, one in told["tables"].items():
        rows.append((f"{name} (table)", _columns(one["schema"]), _settings(one["source"])))
    out.print(FittedTable((Column("stream or table"), Column("columns"), Column("from")), rows), "")


def _print_classes(told: Mapping[str, Any], out: Console) -> None:
    by_priority = sorted(told["classes"].items(), key=lambda item: -item[1]["priority"])
    rows = [(name, str(one["priority"]), ", ".join(one["queries"])) for name, one in by_priority]
    out.print(FittedTable((Column("class"), Column("priority", number=True), Column("queries")), rows), "")


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


def _print_paths(told: Mapping[str, Any], out: Console) -> None:
    columns = (
        Column("path"),
        Column("from", spare=1),
        Column("operators"),
        Column("cost a tuple", number=True),
        Column("selectivity", number=True),
        Column("capacity, tuples/s", number=True),
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
        for path in told["paths"]
    ]
    out.print(FittedTable(columns, rows), "")


def _print_segments(told: Mapping[str, Any], out: Console) -> None:
    columns = (
        Column("segment"),
        Column("operators"),
        Column("cost a tuple", number=True),
        Column("capacity, tuples/s", number=True),
        Column("releases, bytes/s", number=True),
    )
    rows = [
        (
            one["id"],
            " > ".join(one["operators"]),
            time(one["cost"]),
            number(one["capacity"]),
            number(one["release"]),
        )
        for one in told["segments"]
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
    usual = {"header": True, "delimiter": ",", "replay": "fast", "format": "rows"}
    return key != "kind" and value not in ("", [], {}) and value != usual.get(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)
