"""`headgate list`: what is registered on a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected

if TYPE_CHECKING:
    from headgate.client.client import Client
    from headgate.display.tables import FittedTable

EXAMPLES = """
[bold]Examples[/bold]

headgate list

headgate list streams --server https://streams.example.org

headgate list queries --json
"""
What = Literal["queries", "streams", "tables", "classes"]
WhatArgument = Annotated[What, typer.Argument(metavar="[WHAT]", help="queries, streams, tables or classes.")]


@one_line_errors
def list_registered(
    what: WhatArgument = "queries",
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """List queries, streams, tables or classes of a server, and how they do."""
    with connected(server, token) as client:
        found = _found(client, what)
    if as_json:
        print_json(found)
    elif not found:
        typer.echo(f"there are no {what}")
    else:
        from rich.text import Text

        out = console()
        out.print(_table(what, found))
        for name, one in found.items():
            if one.get("error"):
                out.print(Text(f"{name}: {one['error']}"))


def _found(client: Client, what: What) -> dict[str, dict[str, Any]]:
    """By name: the section, and what the overview says of it."""
    overview = client.overview().get(what, {})
    return {name: {**overview.get(name, {}), "section": section} for name, section in client.sections(what).items()}


def _table(what: What, found: Mapping[str, Mapping[str, Any]]) -> FittedTable:
    from headgate.display import overview
    from headgate.display.tables import FittedTable, TableColumn

    if what == "queries":
        return overview.query_table(found)
    if what == "classes":
        return overview.class_table({name: {**one["section"], **one} for name, one in found.items()})
    if what == "streams":
        return overview.stream_table(found)
    columns = (TableColumn("table"), TableColumn("rows", number=True), TableColumn("schema", spare=1))
    rows = [(name, _size(one["section"]), str(one["section"].get("schema", ""))) for name, one in found.items()]
    return FittedTable(columns, rows)


def _size(section: Mapping[str, Any]) -> str:
    return f"{len(section['rows']):,}" if section.get("rows") is not None else str(section.get("kind"))


def register(app: typer.Typer) -> None:
    app.command("list", epilog=EXAMPLES)(list_registered)
