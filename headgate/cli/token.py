"""`headgate token`: the tokens of a server, for its operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.output import console, one_line_errors, print_json

EXAMPLES = """
[bold]Examples[/bold]

headgate token add ann --role admin

headgate token add feed --role write --data /var/lib/headgate

headgate token list
"""
tokens = typer.Typer(
    help="Make, list and remove the tokens of a server. They take effect at once, also while it runs.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)
DataOption = Annotated[Path, typer.Option("--data", metavar="DIR", help="The server's folder.")]
RoleOption = Annotated[str, typer.Option("--role", help="read, write or admin; each may do what those before it may.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Who or what will use it.", show_default=False)]


@tokens.command("add")
@one_line_errors
def add(name: NameArgument, role: RoleOption = "read", data: DataOption = Path("headgate-data")) -> None:
    """Make a token and print it. Only its hash is stored: it cannot be printed again."""
    from headgate.server.database import open_database
    from headgate.server.tokens import Tokens

    with open_database(data) as database:
        typer.echo(Tokens(database).add(name, role))


@tokens.command("list")
@one_line_errors
def list_all(
    data: DataOption = Path("headgate-data"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value on stdout and nothing else.")] = False,
) -> None:
    """List names and roles."""
    from headgate.server.database import open_database
    from headgate.server.tokens import Tokens

    with open_database(data) as database:
        found = Tokens(database).all()
    if as_json:
        print_json(found)
        return
    from headgate.display.tables import FittedTable, TableColumn

    columns = [TableColumn(title) for title in ("name", "role", "made")]
    console().print(FittedTable(columns, [[one["name"], one["role"], one["created"]] for one in found]))


@tokens.command("remove")
@one_line_errors
def remove(name: NameArgument, data: DataOption = Path("headgate-data")) -> None:
    """Let a token be worth nothing from now on."""
    from headgate.server.database import open_database
    from headgate.server.tokens import Tokens

    with open_database(data) as database:
        Tokens(database).remove(name)


def register(app: typer.Typer) -> None:
    app.add_typer(tokens, name="token")
