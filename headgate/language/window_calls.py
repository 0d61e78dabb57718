"""Reads Spark's windows in GROUP BY: `window(ts, '1 minute')`, `session_window(ts, '5 minutes')`."""

from __future__ import annotations

from typing import NamedTuple

import sqlglot
from sqlglot import exp

from headgate.sql.dialect import Cql, sql_of


class WindowCall(NamedTuple):
    """One call; the durations, as text, are length, slide and start of a window, or the gap of a session."""

    kind: str  # window or session_window
    time: str  # an expression
    durations: tuple[str, ...]


def window_call(text: str) -> WindowCall | None:
    """The window call that an expression consists of; None if it is anything else or a duration is not a literal."""
    if "window" not in text.lower():
        return None
    try:
        call = sqlglot.parse_one(text, read=Cql, into=exp.Condition)
    except sqlglot.errors.SqlglotError:
        return None
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in ("window", "session_window"):
        return None
    time, *durations = call.expressions or [None]
    if not durations or not all(isinstance(d, exp.Literal) and d.is_string for d in durations):
        return None
    return WindowCall(call.name.lower(), sql_of(time), tuple(d.this for d in durations))
