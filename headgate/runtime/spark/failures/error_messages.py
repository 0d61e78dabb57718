"""Reduces an error from Spark to the one sentence that a person needs."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError

from headgate.errors import NEVER_ROWS, RowText

_RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt)\b.*: ")  # the last line of a Python traceback
_CALLED = re.compile(r"^An error occurred while calling .*$")
_CAUSE = re.compile(r"^Caused by:\s*")
_JAVA_CLASS = re.compile(r"^:?\s*([a-z]\w*\.)+[A-Z]\w*(Exception|Error)\w*:\s*")


def essence(error: BaseException) -> str:
    """The line of an error that a person needs: what a Python worker raised, else Java's last cause, else the first
    line. A line that ends in a colon is continued. It is a `RowText` unless errors of this kind never hold values of
    rows."""
    if isinstance(error, NEVER_ROWS):
        return str(error) or type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    if raised and any(line.startswith("Traceback") for line in lines):
        return RowText(raised[-1])
    lines = [line for line in lines if not _CALLED.match(line)]
    if not lines:
        return RowText(type(error).__name__)
    first = _start(lines, isinstance(error, Py4JJavaError))
    message = _JAVA_CLASS.sub("", _CAUSE.sub("", lines[first]))
    for line in lines[first + 1 :]:
        if not message.endswith(":") or line.startswith("at "):
            break
        message = f"{message} {line}"
    return RowText(message)


def _start(lines: list[str], is_java: bool) -> int:
    """The line to begin at: Java wraps errors in errors, and the last cause is the original error."""
    causes = [at for at, line in enumerate(lines) if _CAUSE.match(line)] if is_java else []
    return causes[-1] if causes else 0
