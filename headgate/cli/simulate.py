"""`headgate simulate`: run an application in virtual time, by its declared costs and selectivities."""

from __future__ import annotations

import typer

from headgate.cli.options import (
    App,
    IdleOption,
    JsonOption,
    PlotsOption,
    PolicyOption,
    SecondsOption,
    SeedOption,
    SetOption,
    SlotsOption,
    limits,
    load,
)
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.plots import check_plots, plot

EXAMPLES = """
[bold]Examples[/bold]

headgate simulate examples/sensors.yaml --seconds 20

headgate simulate examples/sensors.yaml --until-idle --policy rr:quantum=0.01 --slots 1

headgate simulate examples/sensors.yaml --seconds 20 --set streams.sensors.source.rate=6000 --json

headgate simulate examples/sensors.yaml --policy mbd --plot out/mbd
"""


@one_line_errors
def simulate(
    path: App,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seconds: SecondsOption = None,
    until_idle: IdleOption = False,
    seed: SeedOption = None,
    changes: SetOption = None,
    plots: PlotsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an application in virtual time. No Spark; the same seed gives the same report, to the last digit."""
    app = load(path, changes, policy, slots, seed)
    # Virtual time costs nothing to let run out, so without a limit the run lasts until the work is done.
    when = limits(seconds, until_idle or seconds is None)
    if plots is not None:
        check_plots(plots)

    report = app.simulate(when.seconds, when.until_idle).to_dict()
    if as_json:
        print_json(report)
    else:
        from headgate.display.report import print_report

        print_report(report, console())
    plot(report, plots, quiet=as_json)


def register(app: typer.Typer) -> None:
    app.command("simulate", epilog=EXAMPLES)(simulate)
