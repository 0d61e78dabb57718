"""`headgate demo`: embedded Spark, two feeders and twelve queries in three classes, and what a policy does to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.options import (
    JsonOption,
    PlotsOption,
    PolicyOption,
    RehearseOption,
    SecondsOption,
    SetOption,
    SlotsOption,
    limits,
    load,
)
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.plots import check_plots, plot
from headgate.cli.run import exit_with, run_on_spark
from headgate.cli.shutdown import reader_left
from headgate.display.tables import number

if TYPE_CHECKING:
    from headgate.plan.model import Plan
    from headgate.runtime.spark.engine import SparkRuntime

EXAMPLES = """
[bold]Examples[/bold]

headgate demo

headgate demo --compare --seconds 45

headgate demo --seconds 30 --policy fifo

headgate demo --seconds 30 --set streams.sensors.source.rate=5000
"""
APP = Path(__file__).parent.parent / "demo" / "app.yaml"
TURNS = 4  # of a comparison with --seconds: a warm-up, the policy, the other one, and back


@one_line_errors
def demo(
    seconds: SecondsOption = None,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    changes: SetOption = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Switch to round robin and back, after a warm-up; end with what that did to each class."
        ),
    ] = False,
    rehearse: RehearseOption = None,
    plots: PlotsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch twelve continuous queries over two streams, in three classes, run on Spark until Ctrl-C or --seconds.

    In a terminal the key p switches the policy, from mbd to rr and back. The last lines say what the policies did to
    each class. Exit code 1 when a query stopped with an error.
    """
    loaded = load(APP, changes, policy, slots, rehearse=rehearse)
    app = loaded.checked()
    when = limits(seconds, until_idle=False)
    if plots is not None:
        check_plots(plots)

    from headgate.cli.comparison import TURN_S, Comparison, summary_lines
    from headgate.cli.keys import pressed_keys
    from headgate.cli.live import table
    from headgate.display.report import print_report

    out = console()
    if not as_json:
        out.print(load_in_words(app.plan), highlight=False, markup=False)
        out.print(f"The application file is {APP}", highlight=False, markup=False, soft_wrap=True)
        out.print("Ctrl-C ends it with a report." if seconds is None else f"It ends after {seconds:g} s with a report.")
    turn_s = None if not compare else TURN_S if seconds is None else seconds / TURNS
    if turn_s is not None and not as_json:
        out.print(
            f"It switches policies every {turn_s:g} s; the first {turn_s:g} s only warm Spark up.", highlight=False
        )
    with pressed_keys(wanted=out.is_terminal and not as_json) as keys:
        comparison = Comparison(app, keys, turn_s)
        with table(not as_json, out, lambda: comparison.hint) as show:

            def watch(runtime: SparkRuntime) -> None:
                if reader_left():  # nobody watches anymore
                    raise BrokenPipeError
                comparison.watch(runtime)

            report = run_on_spark(loaded, app, when, show, watch)
    if as_json:
        print_json(report)
    else:
        print_report(report, out)
        for line in ["", *summary_lines(report, comparison.left_out_s)]:
            out.print(line, highlight=False, markup=False)
    plot(report, plots, quiet=as_json)
    exit_with(report)


def load_in_words(plan: Plan) -> str:
    """What the demonstration runs, in one line: queries, classes, and the rate of each stream."""
    streams = [
        f"{name} {number(stream.source.get('rate'))} tuples/s for {len(plan.readers(name))} queries"
        for name, stream in plan.streams.items()
    ]
    counts = f"{len(plan.queries)} queries in {len(plan.classes)} classes over {len(plan.streams)} streams"
    return f"{counts}: {', '.join(streams)}"


def register(app: typer.Typer) -> None:
    app.command("demo", epilog=EXAMPLES)(demo)
