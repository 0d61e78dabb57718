"""`headgate bench`: measure Headgate on this machine."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, fail, plain, print_json, speaks_plainly
from headgate.cli.plots import check_plots, write_plots
from headgate.cli.tables import add_row

# Name -> what it measures; `headgate.bench.<name>.run(quick)` does it.
BENCHES = {
    "overhead": "what a call costs on Spark, by the way it is run",
    "state": "what windows cost on Spark, and a replay beside Structured Streaming",
    "classes": "queries of unequal importance beside stock Structured Streaming",
    "policies": "a bursty application under every policy on Spark, beside the simulator's prediction",
    "decisions": "what a decision costs with few and with many queries",
    "simulator": "events and tuples a second of the simulator",
}
EXAMPLES = """
[bold]Examples[/bold]

headgate bench overhead

headgate bench simulator --quick --json

headgate bench classes --plot out/classes
"""


@speaks_plainly
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=", ".join(f"{n}: {what}" for n, what in BENCHES.items()))],
    quick: Annotated[bool, typer.Option("--quick", help="A shorter, rougher measurement.")] = False,
    plots: Annotated[
        Path | None, typer.Option("--plot", metavar="FOLDER", help="Also draw a picture into this folder (classes).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure Headgate on this machine and print the headline numbers."""
    if name not in BENCHES:
        from headgate.plan.errors import known_names

        fail(f"there is no bench '{name}'; {known_names('benches', BENCHES, name)}")
    module = f"headgate.bench.{name}"
    try:
        chosen = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        hint = "not available in this version" if missing == module else f"needs the package '{missing}'"
        fail(f"bench '{name}': {hint}")
    if plots is not None:
        if not hasattr(chosen, "draw"):
            fail(f"--plot {plots}: bench '{name}' draws no picture")
        check_plots(plots)
    result = chosen.run(quick)
    if as_json:
        print_json(result)
    elif hasattr(chosen, "tables"):
        _print(name, {key: value for key, value in result.items() if not isinstance(value, (dict, list))})
        _print_tables(chosen.tables(result))
    else:
        _print(name, result)
    if plots is not None:
        write_plots({name: chosen.draw(result)}, plots, quiet=as_json)


def _print(name: str, result: Mapping[str, Any]) -> None:
    """Headline numbers first; what is nested comes after, a table each."""
    from rich.markup import escape
    from rich.table import Table

    out = console()
    headline = Table(title=f"bench {name}", show_header=False)
    nested: dict[str, Any] = {}
    for key, value in plain(result).items():
        if isinstance(value, (dict, list)):
            nested[key] = value
        else:
            headline.add_row(escape(key.replace("_", " ")), escape(_shown(value)))
    out.print(headline)
    for key, value in nested.items():
        rows = value.items() if isinstance(value, dict) else enumerate(value, start=1)
        table = Table(title=key.replace("_", " "), show_header=False)
        for row, cell in rows:
            table.add_row(escape(str(row)), escape(_shown(cell)))
        out.print(table)


def _print_tables(tables: Iterable[Any]) -> None:
    """Those that a bench makes itself."""
    from rich.table import Table

    out = console()
    for shown in tables:
        table = Table(*shown.columns, title=shown.title, show_header=any(shown.columns))
        for row in shown.rows:
            add_row(table, *row)
        out.print(table)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{key} {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def register(app: typer.Typer) -> None:
    app.command("bench", epilog=EXAMPLES)(bench)
