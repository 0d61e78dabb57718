"""What every command does alike: errors as one line and exit code 2, and `--json` as one value on stdout."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import typer

from headgate.plan.errors import ApplicationError

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")
R = TypeVar("R")
WRONG = 2  # exit code for anything that the user can put right
INTERRUPTED = 130  # as shells have it for Ctrl-C


def speaks_plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Wrap a command so that a wrong application or policy ends it with one line on stderr and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (ApplicationError, ValueError) as error:
            if not _is_the_users(error):
                raise
            fail(str(error))
        except KeyboardInterrupt:  # before a run has begun, or a second time while it ends
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return wrapped


def _is_the_users(error: Exception) -> bool:
    if isinstance(error, ApplicationError):
        return True
    from headgate.policies.base import PolicyError  # slow to import, and rarely needed

    return isinstance(error, PolicyError)


def fail(message: str) -> NoReturn:
    """One line on stderr, exit code 2. Never returns."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(WRONG)


def console() -> Console:
    """Where tables are printed: as wide as the terminal; wide enough for tables when stdout is a file or pipe."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=140)


def print_json(value: Any) -> None:
    """One JSON value and a line end on stdout; what is not a finite number becomes null."""
    typer.echo(json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False))


def plain(value: Any) -> Any:
    """A value made of what JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
