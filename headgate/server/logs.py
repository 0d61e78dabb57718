"""The logs of a server: a line of text, or a JSON object, for each event. Neither holds values of rows, or tokens."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO

from headgate.errors import NEVER_ROWS, RowText

LogFormat = Literal["text", "json"]
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_TOKEN = re.compile(r"hg_[\w-]{20,}")


def set_up_logs(form: LogFormat | None = None, out: TextIO | None = None) -> None:
    """Log to `out`, by default standard error: ours from INFO on, of libraries what is at least a warning.

    Without `form`: text on a terminal, JSON elsewhere.
    """
    out = out or sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter(TextLines() if (form or _suitable(out)) == "text" else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("headgate").setLevel(logging.INFO)


def _suitable(out: TextIO) -> LogFormat:
    return "text" if out.isatty() else "json"


class TextLines(logging.Formatter):
    """`TIME LEVEL LOGGER: MESSAGE`, in UTC; a failure's call stack follows."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        line = f"{_time(record)} {record.levelname} {record.name}: {_message(record)}"
        return "\n".join([line, *_failure(record)])


class JsonLines(logging.Formatter):
    """An object per line: time, level, logger, message, and the fields that the caller gave as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        found = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for key, value in vars(record).items():
            if key not in _STANDARD and key not in found:
                found[key] = _field(value)
        if failure := _failure(record):
            found["failure"] = "\n".join(failure)
        return json.dumps(found, ensure_ascii=False, default=str)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    if isinstance(record.args, tuple):
        shown = logging.makeLogRecord({"msg": record.msg, "args": tuple(_shown(arg) for arg in record.args)})
        return _without_tokens(shown.getMessage())
    return _without_tokens(record.getMessage())


def _shown(value: Any) -> Any:
    """An argument of a message. Of what may hold values of rows, only the class of the error."""
    if isinstance(value, BaseException) and not isinstance(value, NEVER_ROWS):
        return type(value).__name__
    if not isinstance(value, RowText):
        return value
    return f"{value.error_class} (values of rows are not logged)".lstrip()


def _field(value: Any) -> Any:
    return _without_tokens(str(_shown(value))) if isinstance(value, str) else value


def _without_tokens(text: str) -> str:
    return _TOKEN.sub("hg_...", text)


def _failure(record: logging.LogRecord) -> list[str]:
    """The call stack of a failure and its kind. Its text may hold values of rows, and is left out."""
    if not record.exc_info or record.exc_info[0] is None:
        return []
    kind, _, trace = record.exc_info
    return [
        *_stack(trace),
        kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}",
    ]


def _stack(trace: TracebackType | None) -> list[str]:
    return [line.rstrip("\n") for line in traceback.format_tb(trace)]
