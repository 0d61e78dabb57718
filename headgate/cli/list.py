"""`headgate list`: what is registered on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected
from headgate.errors import ApplicationError, known_names

if TYPE_CHECKING:
    from headgate.client.client import Client
    from headgate.display.tables import FittedTable

EXAMPLES = """
[bold]Examples[/bold]

headgate list

headgate list streams --server https://streams.example.org

headgate list queries --json

headgate list queries fraud
"""
What = Literal["queries", "streams", "tables", "classes"]
WhatArgument = Annotated[What, typer.Argument(metavar="[WHAT]", help="queries, streams, tables or classes.")]
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Only these, each with all of its settings.", show_default=False),
]


@one_line_errors
def list_registered(
    what: WhatArgument = "queries",
    names: NamesArgument = None,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """List queries, streams, tables or classes of a server, and how they do.

    The list leaves values of rows out of errors; a query that is named shows the whole error.
    """
    with connected(server, token) as client:
        found = _found(client, what, names or ())
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
        if names:
            from headgate.api.write import yaml_text

            typer.echo("\n" + yaml_text({what: {name: one["section"] for name, one in found.items()}}).rstrip())


def _found(client: Client, what: What, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By name: the section, and what the overview says of it; with `names`, only these.

    ApplicationError: one of them is not there.
    """
    overview, sections = client.overview().get(what, {}), client.sections(what)
    for name in names:
        if name not in sections:
            raise ApplicationError(f"{what}.{name}", "it is not registered", known_names(what, sections, name))
    found = {name: {**overview.get(name, {}), "section": sections[name]} for name in names or sections}
    if what == "queries":
        for name in names:
            found[name]["error"] = client.query_overview(name)["error"]
    return found


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
