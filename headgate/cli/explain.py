"""`headgate explain`: what an application is, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.background import in_background
from headgate.cli.options import App, JsonOption, PolicyOption, SeedOption, SetOption, SlotsOption, load
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.plots import check_plots, write_plots
from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from headgate.api.application import Application
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
        help="Let Spark's analyzer check every query. Starting Spark takes a while; --no-check leaves it out.",
    ),
]


@one_line_errors
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

    With --policy, also show what that policy makes of it: units, priorities, progress charts, releases, thresholds.
    """
    if plots is not None:
        check_plots(plots)
    app = load(path, changes, policy, slots, seed)

    explanation = app.explain(policy=policy is not None).to_dict()
    explanation["checked"] = check and _check(app)
    if as_json:
        print_json(explanation)
    else:
        from headgate.display.explanation import print_explanation

        print_explanation(explanation, console())
    if plots is not None:
        _plot(app.checked(), plots, quiet=as_json)


def _check(app: Application) -> bool:
    """Have Spark's analyzer check the queries. False when there is no Java to run it, which is reported on stderr."""
    from headgate.cli.live import progress
    from headgate.runtime.spark.launch.settings import find_java

    try:
        find_java()
    except ApplicationError as error:
        typer.echo(f"Spark has not checked the queries: {error.problem}; {error.remedy}", err=True)
        return False
    with progress() as show:
        show("checking the queries with Spark")
        in_background(app.check_on_spark)
    return True


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
