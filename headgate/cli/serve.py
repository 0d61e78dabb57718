"""`headgate serve`: a server for continuous queries, with an API, a page and metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headgate.cli.background import in_background
from headgate.cli.options import MasterOption, PolicyOption, SetOption, SlotsOption, load_or_empty
from headgate.cli.output import one_line_errors
from headgate.cli.shutdown import SIGNALLED, Interrupted, say
from headgate.errors import ApplicationError

if TYPE_CHECKING:
    from headgate.api.application import Application
    from headgate.server.serve import ServerSettings, WebServer

EXAMPLES = """
[bold]Examples[/bold]

headgate serve

headgate serve shop.yaml --data /var/lib/headgate --slots 4

headgate token add ann --role admin

headgate serve --host 0.0.0.0 --name streams.example.org

headgate serve --checkpoint hdfs://host/headgate --set checkpoint.interval=30
"""
_LOOK_S = 0.5
LogFormat = Literal["text", "json"]
AppFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[APP]",
        help="The operator's application file: settings, and what to begin with. What requests change counts more.",
        show_default=False,
    ),
]
HostOption = Annotated[
    str, typer.Option("--host", help="Listen here. Elsewhere than on loopback, tokens are required.")
]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="Listen on this port; 0: any free one.")]
DataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Keep streams, queries, tokens and the audit trail here.")
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="PATH",
        help="Keep checkpoints in this folder or URI. Default: as the file says, else in --data.",
        show_default=False,
    ),
]
NoCheckpointOption = Annotated[
    bool, typer.Option("--no-checkpoint", help="Keep none: queries begin anew after a restart.")
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Let queries begin anew: remove the checkpoints that are there.")
]
TokensOption = Annotated[bool, typer.Option("--tokens", help="Require tokens on loopback, too.")]
NameOption = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="HOST", help="A name under which this server is reached; repeat for more."),
]
FilesOption = Annotated[
    Path | None,
    typer.Option("--files", metavar="DIR", help="Let requests name files below this folder. Default: no files."),
]
MostOption = Annotated[int, typer.Option("--most", min=1, help="Most queries, and most streams, tables and classes.")]
BytesOption = Annotated[int, typer.Option("--most-bytes", min=1024, help="Largest request, in bytes.")]
RateOption = Annotated[float, typer.Option("--rate", min=1, help="Requests a second that one caller may send.")]
LogOption = Annotated[
    LogFormat | None,
    typer.Option("--log-format", help="How to log on standard error. Default: text on a terminal, else json."),
]
PageOption = Annotated[bool, typer.Option("--page/--no-page", help="Serve the page beside the API.")]


@one_line_errors
def serve(
    path: AppFile = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8600,
    data: DataOption = Path("headgate-data"),
    checkpoint: CheckpointOption = None,
    no_checkpoint: NoCheckpointOption = False,
    fresh: FreshOption = False,
    tokens: TokensOption = False,
    names: NameOption = None,
    files: FilesOption = None,
    most: MostOption = 5_000,
    most_bytes: BytesOption = 16 * 2**20,
    rate: RateOption = 500.0,
    page: PageOption = True,
    log_format: LogOption = None,
    policy: PolicyOption = None,
    slots: SlotsOption = None,
    changes: SetOption = None,
    master: MasterOption = None,
) -> None:
    """Serve streams and queries over HTTP until Ctrl-C: an API under /v1, a page, and /metrics.

    What is registered survives a restart, and what windows hold, too. Without APP the server begins empty, with the
    policy mbd.
    """
    _need_server()
    from headgate.application.untrusted import Allowed
    from headgate.server.limits import Limits
    from headgate.server.logs import set_up_logs
    from headgate.server.serve import ServerSettings

    set_up_logs(log_format)
    if master is not None:
        changes = [*(changes or []), f"spark.master={master}"]
    if no_checkpoint and checkpoint is not None:
        raise ApplicationError("--no-checkpoint", "--checkpoint is given, too", "leave one of them out")
    if no_checkpoint:
        changes = [*(changes or []), "checkpoint=null"]
    elif checkpoint is None and (path is None or "checkpoint" not in load_or_empty(path).settings):
        checkpoint = str(data / "checkpoint")
    base = load_or_empty(path, changes, policy or (None if path else "mbd"), slots, checkpoint)
    allowed = Allowed() if files is None else Allowed.with_files(files)
    limits = Limits(request_bytes=most_bytes, requests_per_second=rate, most_of_each=most, allowed=allowed)
    _serve(base, ServerSettings(host, port, data, tokens, page, tuple(names or ()), limits, fresh))


def _need_server() -> None:
    """ApplicationError: what the server needs is not installed."""
    missing = [name for name in ("fastapi", "nicegui", "prometheus_client", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ApplicationError("serve", f"{missing[0]} is not installed", "pip install 'headgate[server]'")


def _serve(base: Application, settings: ServerSettings) -> None:
    """Start everything, answer requests until a signal comes or Spark dies, and end everything."""
    from headgate.server.serve import WebServer, open_app

    opened = open_app(base, settings)
    say("headgate: starting Spark and the queries ...")
    app = in_background(opened.__enter__)
    try:
        with SIGNALLED.noting() as check:
            server = WebServer(app, settings, lambda url: say(f"headgate: listening on {url}; stop with Ctrl-C"))
            with _watched(server, check):
                server.run()
            check()
    except (KeyboardInterrupt, Interrupted):
        say("headgate: stopping")
    finally:
        opened.__exit__(None, None, None)


@contextmanager
def _watched(server: WebServer, check: Callable[[], None]) -> Iterator[None]:
    """End the server when a signal was noted that it does not know itself, or when Spark has died."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_S):
            try:
                check()
            except BaseException:
                server.should_exit = True
                return

    watcher = threading.Thread(target=watch, name="headgate-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def register(app: typer.Typer) -> None:
    app.command("serve", epilog=EXAMPLES)(serve)
