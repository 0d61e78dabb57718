"""`headgate submit`: bring an application, or one query, to a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.options import JsonOption, SetOption, load
from headgate.cli.output import one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected
from headgate.cli.shutdown import say
from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from headgate.api.application import Application
    from headgate.client.submit import Submitted

EXAMPLES = """
[bold]Examples[/bold]

headgate submit shop.yaml

headgate submit shop.yaml --replace --server https://streams.example.org

headgate submit --name large --cql "SELECT user, price FROM clicks WHERE price > 100" --class critical
"""
AppFile = Annotated[
    Path | None,
    typer.Argument(metavar="[APP]", help="An application file: its streams, tables, classes and queries."),
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace what is there and differs. A query begins anew.")
]
NoStartOption = Annotated[bool, typer.Option("--no-start", help="Register new queries without starting them.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Start queries even if they leave too little room for must-promises of others.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="Register one query of this name, instead of a file.")]
CqlOption = Annotated[str | None, typer.Option("--cql", help="The text of that query.")]
ClassOption = Annotated[str | None, typer.Option("--class", help="The class of that query.")]


@one_line_errors
def submit(
    path: AppFile = None,
    name: NameOption = None,
    cql: CqlOption = None,
    in_class: ClassOption = None,
    changes: SetOption = None,
    replace: ReplaceOption = False,
    no_start: NoStartOption = False,
    force: ForceOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register what an application file holds on a server, and start its queries.

    What is there already and says the same is left alone. Settings of the whole application, such as its policy, stay
    the server's.
    """
    app = _application(path, changes, name, cql, in_class)
    from headgate.client.submit import submit as submit_all

    done: list[Submitted] = []
    try:
        with connected(server, token) as client:
            for one in submit_all(client, app, replace=replace, start=not no_start, force=force):
                done.append(one)
                if not as_json:
                    typer.echo(f"{one.outcome:9}  {one.key}.{one.name}")
    finally:
        if as_json:
            print_json([one._asdict() for one in done])
    if left_out := app.settings:
        say(f"left as the server has them: {', '.join(sorted(left_out))}")


def _application(
    path: Path | None, changes: list[str] | None, name: str | None, cql: str | None, in_class: str | None
) -> Application:
    """What to submit: a file, or one query. ApplicationError: it is neither, or both."""
    if path is not None and name is None and cql is None and in_class is None:
        return load(path, changes)
    if path is not None or name is None or cql is None or changes:
        remedy = "give an application file, or --name and --cql, and --class if you like"
        raise ApplicationError("submit", "this is neither one file nor one query", remedy)
    from headgate.api.application import Application

    section: dict[str, Any] = {"cql": cql} | ({} if in_class is None else {"class": in_class})
    return Application.of_sections({"queries": {name: section}})


def register(app: typer.Typer) -> None:
    app.command("submit", epilog=EXAMPLES)(submit)
