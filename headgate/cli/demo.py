"""`headgate demo`: embedded Spark, two feeders and nine queries in three classes."""

from __future__ import annotations

from pathlib import Path

import typer

from headgate.cli.options import (
    JsonOption,
    PolicyOption,
    SecondsOption,
    SetOption,
    SlotsOption,
    limits,
    load,
    overrides,
)
from headgate.cli.output import console, print_json, speaks_plainly
from headgate.cli.run import exit_with, run_on_spark

EXAMPLES = """
[bold]Examples[/bold]

headgate demo

headgate demo --seconds 30 --policy fifo

headgate demo --seconds 30 --set streams.sensors.source.rate=5000
"""
APP = Path(__file__).parent.parent / "demo" / "app.yaml"


@speaks_plainly
def demo(
    seconds: SecondsOption = None,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    changes: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch nine continuous queries over two streams, in three classes, run on Spark until Ctrl-C or --seconds.

    Exit code 1 when a query stopped with an error.
    """
    app = load(APP, changes, policy, slots)
    when = limits(seconds, until_idle=False)

    from headgate.cli.live import table
    from headgate.cli.reporting import print_report

    out = console()
    if not as_json:
        plan = app.plan
        counts = f"{len(plan.queries)} queries in {len(plan.classes)} classes over {len(plan.streams)} streams"
        out.print(f"{counts}; the application file is {APP}")
        out.print("Ctrl-C ends it with a report." if seconds is None else f"It ends after {seconds:g} s with a report.")
    with table(not as_json, out) as show:
        report = run_on_spark(app, when, show, APP, overrides(changes, policy, slots))
    if as_json:
        print_json(report)
    else:
        print_report(report, out)
    exit_with(report)


def register(app: typer.Typer) -> None:
    app.command("demo", epilog=EXAMPLES)(demo)
