"""Errors of the whole system: mistakes in an application, and broken invariants."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_ERROR_CLASS = re.compile(r"\[[A-Z][A-Z0-9_.]+\]|[A-Za-z_][\w.]*(Error|Exception)(?=: )")  # as Spark and Python begin


class RowText(str):
    """A text that may hold values of rows, such as why a row failed. A server's logs and lists leave it out."""

    @property
    def error_class(self) -> str:
        """What kind of error the text begins with, which holds no value of a row; "" if it begins with none."""
        found = _ERROR_CLASS.match(self)
        return found[0] if found else ""


class ApplicationError(Exception):
    """A mistake in an application; the CLI prints it and exits with code 2.

    `place` is the dotted path in the application file (`queries.fire.class`), `problem` says what is wrong there, and
    `remedy` how to put it right. The loader adds the file and line, which only it knows.
    """

    def __init__(self, place: str, problem: str, remedy: str = "") -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        self.line: int | None = None  # in the application file; set only where it is known at once (YAML errors)
        self.where: str | None = None  # "app.yaml:12", filled in by the loader
        super().__init__(place, problem, remedy)

    def __str__(self) -> str:
        head = f"{self.where}: {self.place}" if self.where else self.place
        tail = f"; {self.remedy}" if self.remedy else ""
        return f"{head}: {self.problem}{tail}"


class ServerError(Exception):
    """A server does not answer, does not let a caller in, or has failed; the CLI prints it and exits with code 1.

    `place` is the server's address, `problem` says what happened, `remedy` what to do about it.
    """

    def __init__(self, place: str, problem: str, remedy: str = "", status: int | None = None) -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        self.status = status  # of its answer; None: there was none
        super().__init__(place, problem, remedy, status)

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


NEVER_ROWS = (ApplicationError, ServerError, OSError)  # what their texts say is ours, or the system's


class InvariantError(AssertionError):
    """The scheduler broke one of its own laws: a bug in a policy or in Headgate, never in user data."""


def known_names(what: str, names: Iterable[str], wrong: str = "") -> str:
    """A remedy that lists the known names, starting with the closest match if there is one."""
    listed = sorted(names)
    if not listed:
        return f"there are no {what} here"
    close = difflib.get_close_matches(wrong, listed, n=1) if wrong else []
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}known {what}: {', '.join(listed)}"


def first_few(names: Sequence[str], most: int = 6) -> str:
    """The first few of many names, for a line that must stay short however many there are."""
    shown = list(names[:most])
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
