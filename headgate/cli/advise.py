"""`headgate advise`: run an application for a while, and forecast it under other policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.options import (
    App,
    JsonOption,
    MasterOption,
    PolicyOption,
    SeedOption,
    SetOption,
    SlotsOption,
    limits,
    load,
    policy_override,
)
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.shutdown import SIGNALLED, say

if TYPE_CHECKING:
    from headgate.application.checked import CheckedApplication, PolicySettings

EXAMPLES = """
[bold]Examples[/bold]

headgate advise examples/sensors.yaml

headgate advise examples/sensors.yaml --seconds 60 --try mbd --try rr:unit=query

headgate advise examples/sensors.yaml --set streams.sensors.source.rate=6000 --json
"""
LEAST_S = 2.0  # of a run, to have something to forecast from

TryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--try", metavar="NAME[:KEY=VALUE,...]", help="Forecast this policy; repeat for more. Without it: all policies."
    ),
]
RunSecondsOption = Annotated[float, typer.Option("--seconds", help="Run the application on Spark for so long.")]
AheadOption = Annotated[float, typer.Option("--ahead", help="Forecast so many seconds.")]


@one_line_errors
def advise(
    path: App,
    seconds: RunSecondsOption = 20.0,
    ahead: AheadOption = 20.0,
    tried: TryOption = None,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    changes: SetOption = None,
    master: MasterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what other policies would do for an application, and which one to take.

    Runs it on Spark for some seconds to measure it; results are not written anywhere. Then forecasts it under each
    policy, from the measured costs, rates and queues, and compares the latency of every class, the memory, and how well
    promises are kept.
    """
    if master is not None:
        changes = [*(changes or []), f"spark.master={master}"]
    app = load(path, changes, policy, slots, seed)
    others = None if tried is None else [_policy(text) for text in tried]
    when = limits(max(seconds, LEAST_S), until_idle=False)
    limits(ahead, until_idle=False)
    checked = app.checked()
    app.refuse_pushed(checked)

    from headgate.cli.live import progress
    from headgate.cli.run import snapshot_of_run
    from headgate.twin.advice import advise as forecast_all

    with progress() as show:
        snapshot = snapshot_of_run(app, _quiet(checked), when, show)
    if SIGNALLED.noted is not None:  # while it was measured: nobody waits for forecasts any more
        say("ended before anything was forecast")
        raise typer.Exit(128 + SIGNALLED.noted)
    with _counting() as done:
        found = forecast_all(snapshot, others, seconds=ahead, done=done)
    if as_json:
        print_json(found.to_dict())
    else:
        from headgate.display.advice import print_advice

        print_advice(found, console())


def _policy(text: str) -> PolicySettings:
    """A policy to try, checked before anything runs."""
    from headgate.errors import ApplicationError
    from headgate.policies.making import read_policy
    from headgate.policies.registry import make_policy

    settings = read_policy(policy_override(text).value)
    try:
        make_policy(settings.name, settings.parameters)
    except ValueError as error:
        raise ApplicationError(f"--try {text}", str(error)) from error
    return settings


def _quiet(checked: CheckedApplication) -> CheckedApplication:
    """The application without its outputs: to measure it must not write results twice."""
    from dataclasses import replace

    queries = {
        name: replace(query, sink={"kind": "none"}, connector=None) for name, query in checked.plan.queries.items()
    }
    return replace(checked, plan=replace(checked.plan, queries=queries), dead_letters=None)


@contextmanager
def _counting() -> Iterator[Callable[[int, int], None]]:
    """Show on stderr how many forecasts are made."""
    from rich.console import Console

    err = Console(stderr=True)
    if not err.is_terminal:
        yield lambda made, of: None
        return
    with err.status("forecasting ...") as status:
        yield lambda made, of: status.update(f"forecast {made} of {of} ...")


def register(app: typer.Typer) -> None:
    app.command("advise", epilog=EXAMPLES)(advise)
