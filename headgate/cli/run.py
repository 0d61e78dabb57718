"""`headgate run`: run an application on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from headgate.cli.options import (
    App,
    IdleOption,
    JsonOption,
    MasterOption,
    PlotsOption,
    PolicyOption,
    SecondsOption,
    SeedOption,
    SetOption,
    SlotsOption,
    limits,
    load,
    overrides,
)
from headgate.cli.output import console, print_json, speaks_plainly
from headgate.cli.plots import check_plots, plot

if TYPE_CHECKING:
    from headgate.cli.live import Show
    from headgate.plan.application import Application, RunLimits

EXAMPLES = """
[bold]Examples[/bold]

headgate run examples/sensors.yaml --seconds 20

headgate run examples/sensors.yaml --until-idle --policy fifo --json

headgate run examples/sensors.yaml --master spark://host:7077

headgate run examples/sensors.yaml --seconds 20 --plot out/run
"""
SOME_QUERY_STOPPED = 1  # exit code


@speaks_plainly
def run(
    path: App,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seconds: SecondsOption = None,
    until_idle: IdleOption = False,
    seed: SeedOption = None,
    changes: SetOption = None,
    master: MasterOption = None,
    plots: PlotsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an application on Spark until its limits or Ctrl-C; ends with the report.

    Without a limit it runs until its sources end, or for ever. Exit code 1 when a query stopped with an error.
    """
    if master is not None:
        changes = [*(changes or []), f"spark.master={master}"]
    app = load(path, changes, policy, slots, seed)
    when = limits(seconds, until_idle)
    if plots is not None:
        check_plots(plots)

    from headgate.cli.live import progress

    with progress(wanted=not as_json) as show:
        report = run_on_spark(app, when, show, path, overrides(changes, policy, slots, seed))
    if as_json:
        print_json(report)
    else:
        from headgate.cli.reporting import print_report

        print_report(report, console())
    plot(report, plots, quiet=as_json)
    exit_with(report)


def exit_with(report: Mapping[str, Any]) -> None:
    """End the command with exit code 1 when a query stopped; shared with `demo`."""
    if report["errors"]:
        raise typer.Exit(SOME_QUERY_STOPPED)


def run_on_spark(
    app: Application, when: RunLimits, show: Show | None, path: Path, changed: Sequence[Any] = ()
) -> dict[str, Any]:
    """Run and report; shared with `demo`. Errors that only Spark can find name the file and line too."""
    from headgate.cli.live import stops_on_signals
    from headgate.plan.load import located
    from headgate.runtime.spark.engine import SparkRuntime

    with located(path, changed):
        runtime = SparkRuntime(app)
        with stops_on_signals():
            runtime.start()
            try:
                runtime.wait(when, None if show is None else lambda: show(runtime.report()))
            except KeyboardInterrupt:
                pass  # asked to end: below
            except BaseException:
                runtime.stop()
                raise
        return runtime.stop()


def register(app: typer.Typer) -> None:
    app.command("run", epilog=EXAMPLES)(run)
