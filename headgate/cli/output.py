"""What all commands share: errors as one line and exit code 2, and `--json` as one value on stdout."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TextIO, TypeVar

import typer

from headgate.cli.shutdown import LOST
from headgate.display.json_values import json_value
from headgate.errors import ApplicationError, ServerError
from headgate.runtime.spark.launch.jvm import SparkDied, check_jvm

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")
R = TypeVar("R")
WRONG = 2  # exit code for anything that the user can put right
INTERRUPTED = 130  # as shells have it for Ctrl-C
_json_out: TextIO | None = None  # stdout as the caller knows it, while a command with `--json` runs


def one_line_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Wrap a command so that a wrong application or policy ends it with one line on stderr and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _only_json() if kwargs.get("as_json") else nullcontext():
                return command(*args, **kwargs)
        except (ApplicationError, ValueError) as error:
            if not _is_the_users(error):
                raise
            fail(str(error))
        except ServerError as error:
            fail(str(error), LOST)
        except KeyboardInterrupt:  # before a run has begun, or a second time while it ends
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as error:
            if (gone := _lost(error)) is None:
                raise
            typer.echo(f"error: {gone}", err=True)
            raise typer.Exit(LOST) from None

    return wrapped


def _lost(error: Exception) -> SparkDied | None:
    """The SparkDied that explains a failure, if Spark's JVM has died; waits a moment, as it may still be ending."""
    if isinstance(error, SparkDied):
        return error
    try:
        check_jvm(patience_s=1.0)
    except SparkDied as gone:
        return gone
    return None


def _is_the_users(error: Exception) -> bool:
    if isinstance(error, ApplicationError):
        return True
    from headgate.scheduling.policy import PolicyError  # slow to import, and rarely needed

    return isinstance(error, PolicyError)


def fail(message: str, code: int = WRONG) -> NoReturn:
    """One line on stderr and an exit code. Never returns."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


def console() -> Console:
    """A console for tables: as wide as the terminal; wide enough for tables when stdout is a file or pipe."""
    from rich.console import Console

    class Printer(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # ends the command quietly; Rich would end it with exit code 1

    return Printer() if sys.stdout.isatty() else Printer(width=140)


@contextmanager
def _only_json() -> Iterator[None]:
    """With `--json`, stdout has that value alone: what libraries, user code or child processes print goes to stderr.

    Also at the level of file descriptors, since a JVM inherits these and knows nothing of `sys.stdout`.
    """
    global _json_out
    before = sys.stdout
    with ExitStack() as put_back:
        _json_out = before
        if _is_descriptor_1(before):
            before.flush()
            kept = os.dup(1)
            os.dup2(2, 1)
            _json_out = os.fdopen(os.dup(kept), "w", encoding="utf-8")
            put_back.callback(os.close, kept)
            put_back.callback(os.dup2, kept, 1)
            put_back.callback(_json_out.close)
        with redirect_stdout(sys.stderr):
            try:
                yield
            finally:
                _json_out = None


def _is_descriptor_1(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except (OSError, ValueError):  # a test, or a notebook
        return False


def print_json(value: Any) -> None:
    """One JSON value and a line end on stdout; numbers that are not finite become null."""
    text = json.dumps(json_value(value), indent=2, allow_nan=False, ensure_ascii=False)
    typer.echo(text, file=_json_out)
