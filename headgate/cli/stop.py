"""`headgate stop`: stop queries of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import WRONG, one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected
from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from headgate.client.client import Client

EXAMPLES = """
[bold]Examples[/bold]

headgate stop large

headgate stop large small --remove
"""
NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME...", help="Queries.", show_default=False)]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Forget them, too; their names are free then.")]


@one_line_errors
def stop(
    names: NamesArgument,
    remove: RemoveOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop queries of a server. They stay registered, and their results readable, unless they are removed.

    Exit code 2 when one of them could not be stopped; the others are.
    """
    outcomes: dict[str, str] = {}
    failed = False
    with connected(server, token) as client:
        for name in names:
            try:
                outcomes[name] = _stop(client, name, remove)
                if not as_json:
                    typer.echo(f"{outcomes[name]}  {name}")
            except ApplicationError as error:
                failed, outcomes[name] = True, "failed"
                typer.echo(f"error: {error}", err=True)
    if as_json:
        print_json(outcomes)
    if failed:
        raise typer.Exit(WRONG)


def _stop(client: Client, name: str, remove: bool) -> str:
    if remove:
        client.remove_query(name)
        return "removed"
    client.stop_query(name)
    return "stopped"


def register(app: typer.Typer) -> None:
    app.command("stop", epilog=EXAMPLES)(stop)
