"""`headgate set`: change classes, queries and the policy of a server while it runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import one_line_errors, print_json
from headgate.cli.server_options import ServerOption, TokenOption, connected
from headgate.errors import ApplicationError, known_names

EXAMPLES = """
[bold]Examples[/bold]

headgate set class critical priority=6

headgate set query fraud class=critical tolerance=0.2

headgate set query fraud tolerance=null 'qos={latency: {priority: must, points: [[0, 1], [60, 1]]}}'

headgate set policy rr quantum=0.05
"""
CLASS_KEYS = ("priority",)
QUERY_KEYS = ("class", "policy", "qos", "shed", "tolerance")
changes = typer.Typer(
    help="Change a class, a query or the policy of a server while it runs. Values are YAML; null takes one away.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
ValuesArgument = Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", show_default=False)]
ParametersArgument = Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE...]", show_default=False)]


@changes.command("class", epilog="headgate set class critical priority=6")
@one_line_errors
def set_class(
    name: NameArgument,
    values: ValuesArgument,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a class: priority."""
    wanted = _read(values, CLASS_KEYS, f"classes.{name}")
    with connected(server, token) as client:
        client.set_priority(name, wanted["priority"])
    _say(as_json, f"class {name}", wanted)


@changes.command("query", epilog="headgate set query fraud class=critical tolerance=0.2")
@one_line_errors
def set_query(
    name: NameArgument,
    values: ValuesArgument,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a query: class, policy, qos, shed, tolerance. All of it changes, or nothing."""
    wanted = _read(values, QUERY_KEYS, f"queries.{name}")
    with connected(server, token) as client:
        client.change_query(name, wanted)
    _say(as_json, f"query {name}", wanted)


@changes.command("policy", epilog="headgate set policy rr quantum=0.05")
@one_line_errors
def set_policy(
    name: NameArgument,
    parameters: ParametersArgument = None,
    server: ServerOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue with another policy, with these parameters."""
    wanted = _read(parameters or [], None, "policy")
    with connected(server, token) as client:
        client.set_policy(name, **wanted)
    _say(as_json, f"policy {name}", wanted)


def _read(values: list[str], keys: tuple[str, ...] | None, place: str) -> dict[str, Any]:
    """`key=value` as data. ApplicationError: a key that is not among `keys`, or a value that is not YAML."""
    from headgate.application.document import Document

    found: dict[str, Any] = {}
    for text in values:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise ApplicationError(place, f"'{text}' is not key=value", "write it like priority=6")
        if keys is not None and key not in keys:
            raise ApplicationError(place, f"'{key}' cannot be changed", known_names("keys", keys, key))
        try:
            found[key] = Document(value).data
        except ApplicationError as error:
            raise ApplicationError(f"{place}.{key}", f"'{value}' is not valid YAML", "put it into quotes") from error
    return found


def _say(as_json: bool, what: str, values: dict[str, Any]) -> None:
    if as_json:
        print_json(values)
    else:
        said = ", ".join(f"{key} {'none' if value is None else value}" for key, value in values.items())
        typer.echo(f"{what}: {said}" if said else what)


def register(app: typer.Typer) -> None:
    app.add_typer(changes, name="set")
