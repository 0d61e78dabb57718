"""`headgate top`: the overview of a server in a terminal, live."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected
from headgate.cli.shutdown import SIGNALLED, Interrupted
from headgate.errors import ServerError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from headgate.cli.keys import Keys
    from headgate.client.client import Client
    from headgate.display.overview import Order

EXAMPLES = """
[bold]Examples[/bold]

headgate top

headgate top --server https://streams.example.org --every 5

headgate top --json
"""
OnceOption = Annotated[bool, typer.Option("--once", help="Print it once and end; so it is without a terminal, too.")]
EveryOption = Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two looks at the server.")]
_LOOK_S = 0.1  # at keys and signals
_HINT = "q: quit   s: order by "


@one_line_errors
def top(
    once: OnceOption = False,
    every: EveryOption = 1.0,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch classes, queues, load, policy and the queries of a server, until q or Ctrl-C.

    Failed queries come first, then those for which the most tuples wait, or with the key s those with the largest
    latency. Latencies are those of the last minute.
    """
    with connected(server, token) as client:
        overview = client.overview()
        if as_json:
            print_json(overview)
            return
        out = console()
        if once or not out.is_terminal or out.is_dumb_terminal:
            _print(overview, out)
            return
        _Watch(client, overview, every).run(out)


def _print(overview: Mapping[str, Any], out: Console) -> None:
    from headgate.display.overview import class_table, failures, head, in_order, query_table

    for part in (*head(overview), *failures(overview["queries"]), "", class_table(overview["classes"]), ""):
        out.print(part)
    out.print(query_table(in_order(overview["queries"], "waiting")))


class _Watch:
    """The live view. A server that is gone is asked again; what it last said stays on the screen."""

    def __init__(self, client: Client, overview: Mapping[str, Any], every_s: float) -> None:
        self._client = client
        self._overview = overview
        self._every_s = every_s
        self._order: Order = "waiting"
        self._gone: ServerError | None = None

    def run(self, out: Console) -> None:
        """Show it until a key or a signal ends it."""
        from rich.live import Live

        from headgate.cli.keys import pressed_keys

        with (
            SIGNALLED.noting() as check,
            pressed_keys(wanted=True) as keys,
            Live(console=out, screen=True, auto_refresh=False, vertical_overflow="crop") as live,
        ):
            try:
                while True:
                    live.update(self._screen(), refresh=True)
                    if not self._wait(keys, check, out):
                        return
                    self._look()
            except (KeyboardInterrupt, Interrupted):
                return

    def _wait(self, keys: Keys, check: Any, out: Console) -> bool:
        """Wait for the next look; at once after a key, or when the window was resized. False: it is to end."""
        until, size = time.monotonic() + self._every_s, out.size
        while time.monotonic() < until and out.size == size:
            check()
            pressed = keys()
            if "q" in pressed:
                return False
            if "s" in pressed:
                self._order = "latency" if self._order == "waiting" else "waiting"
                return True
            time.sleep(_LOOK_S)
        return True

    def _look(self) -> None:
        try:
            self._overview, self._gone = self._client.overview(), None
        except ServerError as error:
            self._gone = error

    def _screen(self) -> Any:
        from headgate.display.overview import OverviewScreen

        return OverviewScreen(self._overview, self._order, self._hint())

    def _hint(self) -> Text:
        from rich.text import Text

        if self._gone is not None:
            return Text(f"q: quit   {self._gone.problem}; trying again", style="bold red")
        return Text(_HINT + ("latency" if self._order == "waiting" else "waiting"), style="dim")


def register(app: typer.Typer) -> None:
    app.command("top", epilog=EXAMPLES)(top)
