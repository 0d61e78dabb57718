"""The `headgate` command. One file per command; heavy modules are imported when a command runs."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated

import typer

from headgate.cli import (
    advise,
    demo,
    explain,
    list,
    policies,
    replay,
    results,
    run,
    serve,
    set,
    simulate,
    stop,
    submit,
    token,
    top,
)
from headgate.cli.shutdown import run_command

app = typer.Typer(
    name="headgate",
    help="Continuous queries on Spark, scheduled by their importance.",
    epilog="Start with: headgate demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from headgate import __version__

        typer.echo(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options before the command."""


_EMBEDDED = (demo, run, simulate, explain, advise, policies, replay)
_SERVER = (serve, submit, list, stop, results, set, top, token)
for _command in (*_EMBEDDED, *_SERVER):
    _command.register(app)
for _entry in entry_points(group="headgate.commands"):  # commands of other packages: the laboratory has two
    try:
        _entry.load()(app)
    except (Exception, SystemExit) as _error:  # a broken package loses its own command, and no other
        _package = _entry.dist.name if _entry.dist is not None else _entry.module
        typer.echo(f"the command '{_entry.name}' of package {_package} is left out: {_error}", err=True)

if __name__ == "__main__":
    run_command(app)
