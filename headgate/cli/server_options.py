"""The options of commands that talk to a server, and its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # slow to import; `headgate --help` should not wait for it
    from headgate.client.client import Client

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="The server's address. Default: HEADGATE_URL, or http://127.0.0.1:8600",
        show_default=False,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        help="A token, if the server asks for one. Others on this machine may see it; HEADGATE_TOKEN hides it.",
        show_default=False,
    ),
]


def connected(server: str | None, token: str | None) -> Client:
    """A client of the server; a `with` block closes it. ServerError: there is none."""
    from headgate.client.client import Client

    return Client(server, token)
