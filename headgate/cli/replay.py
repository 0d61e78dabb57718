"""`headgate replay`: the decisions of a recorded run, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, one_line_errors, print_json

EXAMPLES = """
[bold]Examples[/bold]

headgate run examples/sensors.yaml --seconds 20 --record run.events

headgate replay run.events

headgate replay run.events --json
"""


@one_line_errors
def replay(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What `headgate run --record FILE` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Make every decision of a recorded run again and print them: what happened, and what the scheduler said.

    Needs no Spark and no sources. Read only files that you trust: they are Python pickles.
    """
    if as_json:
        print_json([{"at": at, "event": event, "instructions": answers} for at, event, answers in _steps(path)])
        return
    out = console()
    for at, event, answers in _steps(path):
        out.print(f"{at:12.6f} s  {event}", highlight=False, markup=False, soft_wrap=True)
        for answer in answers:
            out.print(f"{'':14}  -> {answer}", highlight=False, markup=False, soft_wrap=True)


def _steps(path: Path) -> Iterator[tuple[float, str, list[str]]]:
    from headgate.errors import ApplicationError
    from headgate.policies.registry import make_policy
    from headgate.scheduling.event_log import EventLogError, describe_event, describe_instruction, replay

    try:
        for event, instructions, _ in replay(path, make_policy):
            yield event.at, describe_event(event), [describe_instruction(one) for one in instructions]
    except EventLogError as error:
        raise ApplicationError(str(path), str(error), "name a file that `headgate run --record` wrote") from error


def register(app: typer.Typer) -> None:
    app.command("replay", epilog=EXAMPLES)(replay)
