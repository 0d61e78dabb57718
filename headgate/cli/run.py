"""`headgate run`: run an application on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.background import in_background
from headgate.cli.options import (
    App,
    IdleOption,
    JsonOption,
    MasterOption,
    PlotsOption,
    PolicyOption,
    RehearseOption,
    SecondsOption,
    SeedOption,
    SetOption,
    SlotsOption,
    limits,
    load,
)
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.plots import check_plots, plot

if TYPE_CHECKING:
    from headgate.api.application import Application
    from headgate.application.checked import CheckedApplication, RunLimits
    from headgate.cli.live import Show
    from headgate.runtime.spark.engine import SparkRuntime

    Watch = Callable[[SparkRuntime], None]

EXAMPLES = """
[bold]Examples[/bold]

headgate run examples/sensors.yaml --seconds 20

headgate run examples/sensors.yaml --until-idle --policy fifo --json

headgate run examples/sensors.yaml --master spark://host:7077

headgate run examples/sensors.yaml --seconds 20 --plot out/run
"""
RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="Write every event to this file, for `headgate replay`. It holds the data of the run.",
        show_default=False,
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Run even if the declared load is too much for the promises that queries make."),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="PATH",
        help="Keep checkpoints in this folder or URI, and go on from the latest, instead of the file's.",
        show_default=False,
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Start over: remove the checkpoints that are there, and go on from none.")
]
SOME_QUERY_STOPPED = 1  # exit code


@one_line_errors
def run(
    path: App,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seconds: SecondsOption = None,
    until_idle: IdleOption = False,
    seed: SeedOption = None,
    changes: SetOption = None,
    master: MasterOption = None,
    rehearse: RehearseOption = None,
    plots: PlotsOption = None,
    record: RecordOption = None,
    force: ForceOption = False,
    checkpoint: CheckpointOption = None,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run an application on Spark until its limits or Ctrl-C; ends with the report.

    Without a limit it runs until its sources end, or forever. Exit code 1 when a query stopped with an error.
    """
    if master is not None:
        changes = [*(changes or []), f"spark.master={master}"]
    app = load(path, changes, policy, slots, seed, rehearse, checkpoint)
    checked = app.checked()
    app.refuse_pushed(checked)
    when = limits(seconds, until_idle)
    if plots is not None:
        check_plots(plots)

    from headgate.cli.live import progress

    with progress() as show:
        report = run_on_spark(app, checked, when, show, record=record, force=force, fresh=fresh)
    if as_json:
        print_json(report)
    else:
        from headgate.display.report import print_report

        print_report(report, console())
    plot(report, plots, quiet=as_json)
    exit_with(report)


def exit_with(report: Mapping[str, Any]) -> None:
    """End the command with exit code 1 when a query stopped; shared with `demo`."""
    if report["errors"]:
        raise typer.Exit(SOME_QUERY_STOPPED)


def run_on_spark(
    app: Application,
    checked: CheckedApplication,
    when: RunLimits,
    show: Show,
    watch: Watch | None = None,
    record: Path | None = None,
    force: bool = False,
    fresh: bool = False,
) -> dict[str, Any]:
    """Run and report; shared with `demo`. It uses the engine directly, because signals must reach it at once.

    `show` gets the steps of the start, then the report now and then; before each report, `watch` may change the run.
    SparkDied: the JVM is gone; what was written until then is kept.
    """
    with _running(app, checked, when, show, watch, record, force, fresh) as runtime:
        return runtime.stop()


def snapshot_of_run(app: Application, checked: CheckedApplication, when: RunLimits, show: Show) -> bytes:
    """Run for a while, and return a snapshot of the run; shared with `advise`."""
    with _running(app, checked, when, show, force=True) as runtime:
        try:
            return runtime.snapshot()
        finally:
            runtime.stop()


@contextmanager
def _running(
    app: Application,
    checked: CheckedApplication,
    when: RunLimits,
    show: Show,
    watch: Watch | None = None,
    record: Path | None = None,
    force: bool = False,
    fresh: bool = False,
) -> Iterator[SparkRuntime]:
    """Run until the limits or a signal; the run is to be stopped in the block."""
    from headgate.cli.shutdown import SIGNALLED, Interrupted
    from headgate.runtime.spark.launch.jvm import begin_jvm

    with app.located():
        begin_jvm(checked.spark)  # while Python imports the rest
        from headgate.runtime.spark.engine import SparkRuntime

        runtime = in_background(
            lambda: _started(SparkRuntime(checked, announce=show, record=record, force=force, fresh=fresh))
        )
        with SIGNALLED.noting() as check:

            def tick() -> None:
                check()
                if watch is not None:
                    watch(runtime)
                show(runtime.report())

            try:
                runtime.wait(when, tick)
            except (KeyboardInterrupt, Interrupted):
                pass  # asked to end: below
            except BaseException:
                runtime.stop()
                raise
            yield runtime


def _started(runtime: SparkRuntime) -> SparkRuntime:
    runtime.start()
    return runtime


def register(app: typer.Typer) -> None:
    app.command("run", epilog=EXAMPLES)(run)
