"""`headgate bench`: measure Headgate on this machine."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, fail, one_line_errors, print_json
from headgate.cli.plots import check_plots, write_plots
from headgate.display.json_values import json_value
from headgate.display.tables import FittedTable, TableColumn
from headgate_lab.bench.parts import collecting

FAILED = 1  # exit code of a bench that failed after it had measured something
# Name -> what it measures; each is `headgate_lab.bench.<name>.run(quick)`.
BENCHES = {
    "overhead": "the cost of a call on Spark, for each way to run it",
    "state": "the cost of windows on Spark, and a replay compared with Structured Streaming",
    "start": "the time from a command to its first result, compared with a bare PySpark script",
    "classes": "queries of unequal importance, compared with stock Structured Streaming",
    "sources": "tuples of a Kafka topic: how long their results take, compared with Structured Streaming",
    "many": "hundreds of queries: the time to start them, memory, and latencies",
    "burst": "a burst beyond capacity, with and without a tolerance: latency, and the error of what was shed",
    "overload": "ten minutes at three times the capacity: memory against its bound, and what was refused",
    "optimizer": "the cost of looking after promises, and what lingering by promise saves",
    "twin": "what a run forecasts of other policies, compared with what they then do",
    "server": "what comes in over HTTP, and what listeners and open pages cost the queries",
    "policies": "a bursty application under every policy on Spark, compared with the simulator's prediction",
    "chaos": "a run that is killed at random moments and started again: results that are lost or repeated",
    "decisions": "the cost of a decision with few and with many queries",
    "simulator": "tuples per second of the simulator",
}
EXAMPLES = """
[bold]Examples[/bold]

headgate bench overhead

headgate bench simulator --quick --json

headgate bench classes --plot out/classes
"""


@one_line_errors
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=", ".join(f"{n}: {what}" for n, what in BENCHES.items()))],
    quick: Annotated[bool, typer.Option("--quick", help="A shorter, rougher measurement.")] = False,
    plots: Annotated[
        Path | None, typer.Option("--plot", metavar="FOLDER", help="Also draw a picture into this folder (classes).")
    ] = None,
    kills: Annotated[int | None, typer.Option("--kills", min=0, help="How often to kill each pair (chaos).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure Headgate on this machine and print the headline numbers.

    A bench that fails late or is interrupted prints what it has measured, marked `incomplete`, and exits with code 1.
    """
    if name not in BENCHES:
        from headgate.errors import known_names

        fail(f"there is no bench '{name}'; {known_names('benches', BENCHES, name)}")
    module = f"headgate_lab.bench.{name}"
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
    if kills is not None and "kills" not in inspect.signature(chosen.run).parameters:
        fail(f"--kills {kills}: bench '{name}' kills nothing")
    more = {} if kills is None else {"kills": kills}
    with _announcing(name) as announce, collecting(announce) as parts:
        try:
            result = chosen.run(quick, **more)
        except BaseException as error:
            from headgate.runtime.spark.failures.error_messages import essence

            if parts.measured:  # an hour-long bench may fail at its end
                _print_incomplete(name, parts.measured, essence(error), as_json)
            if not isinstance(error, Exception) or not parts.measured:
                raise
            fail(f"bench '{name}' failed: {essence(error)}", FAILED)
    if as_json:
        print_json(result)
    elif hasattr(chosen, "tables"):
        _print(name, {key: value for key, value in result.items() if not isinstance(value, (dict, list))})
        _print_tables(chosen.tables(result))
    else:
        _print(name, result)
    if plots is not None:
        write_plots({name: chosen.draw(result)}, plots, quiet=as_json)


@contextmanager
def _announcing(name: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being measured: in one changing line, or line by line if stderr is not a terminal."""
    from rich.console import Console
    from rich.markup import escape

    err = Console(stderr=True)
    if not err.is_terminal:
        yield lambda part: typer.echo(f"bench {name}: {part}", err=True)
        return
    with err.status(f"bench {name}") as status:
        yield lambda part: status.update(escape(f"bench {name}: {part}"))


def _print_incomplete(name: str, measured: Mapping[str, Any], reason: str, as_json: bool) -> None:
    """Print what was measured before the bench failed or was interrupted."""
    result = {"incomplete": True, "error": reason, **measured}
    if as_json:
        print_json(result)
    else:
        _print(f"{name}, incomplete", result)


def _print(name: str, result: Mapping[str, Any]) -> None:
    """Print headline numbers first, then nested results, one table each."""
    out = console()
    headline: list[tuple[str, str]] = []
    nested: dict[str, Any] = {}
    for key, value in json_value(result).items():
        if isinstance(value, (dict, list)):
            nested[key] = value
        else:
            headline.append((key.replace("_", " "), _shown(value)))
    out.print(FittedTable((TableColumn(""), TableColumn("")), headline, f"bench {name}"))
    for key, value in nested.items():
        rows = value.items() if isinstance(value, dict) else enumerate(value, start=1)
        cells = [(str(row), _shown(cell)) for row, cell in rows]
        out.print("", FittedTable((TableColumn(""), TableColumn("")), cells, key.replace("_", " ")))


def _print_tables(tables: Iterable[Any]) -> None:
    """Print the tables that a bench makes itself."""
    out = console()
    for shown in tables:
        out.print("", FittedTable([TableColumn(title) for title in shown.columns], shown.rows, shown.title))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{key} {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def register(app: typer.Typer) -> None:
    """Add the command to Headgate's command line, which calls this through its entry point."""
    app.command("bench", epilog=EXAMPLES)(bench)
