"""`headgate results`: the results of a query of a server."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected
from headgate.cli.shutdown import SIGNALLED, Interrupted, reader_left

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate.client.results import RemoteResults

EXAMPLES = """
[bold]Examples[/bold]

headgate results large

headgate results large --last 1000 --json

headgate results large --follow --json | head -100
"""
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A query.", show_default=False)]
LastOption = Annotated[
    int | None, typer.Option("--last", min=0, max=100_000, help="The newest rows. Default: 10, with --follow 0.")
]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="Print rows as they come, until the query ends or Ctrl-C.")
]
# Not called `as_json`, for which stdout is kept for one value: here nothing else prints, and a pipe is to be watched.
RowsOption = Annotated[bool, typer.Option("--json", help="Print a JSON list; with --follow an object per line.")]
_LOOK_S = 0.25


@one_line_errors
def results(
    name: NameArgument,
    last: LastOption = None,
    follow: FollowOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    json_rows: RowsOption = False,
) -> None:
    """Print the newest results of a query, or all as they come."""
    with connected(server, token) as client:
        found = client.results(name)
        if follow:
            _follow(found, last or 0, json_rows)
            return
        rows = found.latest(10 if last is None else last)
    from headgate.server.http.rows import as_json_rows

    if json_rows:
        print_json(as_json_rows(rows))
    else:
        from headgate.display.tables import FittedTable, TableColumn

        columns = [TableColumn(title) for title in rows.column_names]
        console().print(FittedTable(columns, [[_text(value) for value in row.values()] for row in as_json_rows(rows)]))


def _follow(found: RemoteResults, last: int, as_json: bool) -> None:
    """Print rows until the query ends, a signal comes, or nobody reads them anymore."""
    from headgate.server.http.rows import as_json_rows

    titles: list[str] = []
    for table in _until_signal(found.follow(last)):
        if not as_json and table.column_names != titles:
            titles = table.column_names
            print("\t".join(titles), flush=True)
        for row in as_json_rows(table):
            line = json.dumps(row, ensure_ascii=False) if as_json else "\t".join(map(_text, row.values()))
            print(line, flush=True)
    if found.missed:
        typer.echo(f"{found.missed} rows came too fast and were left out", err=True)


def _until_signal(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The tables, read in a thread: the main thread has to notice signals, and that its reader has left."""
    come: queue.Queue[pa.Table | BaseException | None] = queue.Queue(maxsize=100)

    def read() -> None:
        try:
            for table in tables:
                come.put(table)
            come.put(None)
        except BaseException as error:
            come.put(error)

    threading.Thread(target=read, name="headgate-follow", daemon=True).start()
    with SIGNALLED.noting() as check:
        while True:
            try:
                check()
                one = come.get(timeout=_LOOK_S)
            except (KeyboardInterrupt, Interrupted):
                return
            except queue.Empty:
                if reader_left():
                    raise BrokenPipeError from None
                continue
            if one is None:
                return
            if isinstance(one, BaseException):
                raise one
            yield one


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def register(app: typer.Typer) -> None:
    app.command("results", epilog=EXAMPLES)(results)
