"""Implements `emit: final`: output the groups of each window once, when it closes, instead of every change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import sqlglot
from sqlglot import exp

from headgate.errors import ApplicationError
from headgate.language.window_calls import WindowCall, window_call
from headgate.plan.model import Stream
from headgate.plan.operators import Aggregate, OnTime, Operator, Port, Project, RStream, Select, TableJoin
from headgate.sql.dialect import Cql

_CALENDAR = re.compile(r"\b(mon|month|year)s?\b", re.IGNORECASE)
_REMEDY = (
    "group by window(time, '1 minute') or session_window(time, '5 minutes'), or give the stream a window"
    " [RANGE .. SLIDE ..]; or leave emit out"
)


def emit_final(
    operators: Sequence[Operator], root: Port, streams: Mapping[str, Stream], query: str
) -> tuple[list[Operator], Port]:
    """The operators, with the query's last GROUP BY changed to output each window once; and the query's root.

    `operators` may include those of other queries. Raises ApplicationError at `queries.QUERY.emit` if there are no
    windows that close.
    """
    place = f"queries.{query}.emit"
    known = {operator.id: operator for operator in operators}
    above: list[Operator] = []
    found = known.get(root.node)
    while isinstance(found, (Select, Project)):
        above.append(found)
        found = known.get(found.inputs[0].node)
    if not isinstance(found, Aggregate) or found.id.partition("/")[0] != query:
        raise ApplicationError(place, "the query does not end in a GROUP BY, so it has no windows that close", _REMEDY)
    if any(found.id == port.node for one in operators if one not in above for port in one.inputs):
        raise ApplicationError(place, "the query reads its GROUP BY twice", "take emit out, and use RSTREAM or ISTREAM")
    calls = {name: call for name, text in found.group.items() if (call := window_call(text)) is not None}
    if len(calls) == 1:
        _check(found, next(iter(calls.values())), known, streams, place)
        return _with(operators, replace(found, emits="final")), root
    if len(calls) > 1 or any("window(" in text.lower().replace(" ", "") for text in found.group.values()):
        problem = "GROUP BY needs a single call of window or session_window with literal lengths"
        raise ApplicationError(place, problem, "group by one window(time, '1 minute'), and select its parts")
    if not found.sliding:
        raise ApplicationError(place, "nothing in the query says when a group is final", _REMEDY)
    if found.group:
        return _with(operators, replace(found, emits="rstream")), root
    # Without groups there is a row at every boundary, even for an empty window.
    assert found.window is not None
    assert found.window.slide is not None
    last = RStream(id=f"{query}/final", inputs=(Port(found.id),), slides=(found.window.slide,))
    moved = {one.id: replace(one, inputs=(Port(last.id),)) for one in above[-1:]}
    rest = [moved.get(one.id, one) for one in operators]
    at = next(i for i, one in enumerate(rest) if one.id == found.id) + 1
    return [*rest[:at], last, *rest[at:]], root if above else Port(last.id)


def _with(operators: Sequence[Operator], changed: Operator) -> list[Operator]:
    return [changed if one.id == changed.id else one for one in operators]


def _check(
    found: Aggregate, call: WindowCall, known: Mapping[str, Operator], streams: Mapping[str, Stream], place: str
) -> None:
    """Refuse windows that never close: they must be windows over the time of the stream, over all of the stream."""
    if found.window is not None and not found.window.unbounded:
        problem = f"rows leave [{found.window}] before the windows in GROUP BY close"
        raise ApplicationError(place, problem, "leave one of the two windows out")
    if any(_CALENDAR.search(text) for text in call.durations):
        raise ApplicationError(place, "months and years vary in length", "give the length in days or smaller units")
    stream, column = _origin(found.inputs[0], call.time, known, streams)
    if stream is None:
        raise ApplicationError(place, "its GROUP BY reads a relation, not a stream", "take emit out, or group a stream")
    if stream.time is None or column is None or column.lower() != stream.time.lower():
        named = f"'{stream.time}'" if stream.time else "the time of arrival, since it has no `time` column"
        problem = f"{call.kind}({call.time}, ..) does not use the time of stream '{stream.name}', which is {named}"
        remedy = "name that column in the window" if stream.time else f"give the stream `time: {call.time}`"
        raise ApplicationError(place, problem, remedy)


def _origin(
    port: Port, text: str, known: Mapping[str, Operator], streams: Mapping[str, Stream]
) -> tuple[Stream | None, str | None]:
    """The stream that the rows of a port come from one by one, and the column of it that an expression is."""
    column = _column(text)
    while port.node not in streams:
        match known.get(port.node):
            case Select() | OnTime() | TableJoin() as operator:
                port = operator.inputs[0]
            case Project() as operator:
                means = {name.lower(): text for name, text in operator.columns.items()}
                column = _column(means.get((column or "").lower(), ""))
                port = operator.inputs[0]
            case _:
                return None, None
    stream = streams[port.node]
    return (None if stream.relation else stream), column


def _column(text: str) -> str | None:
    """The name of the column, if the expression is just a column."""
    try:
        tree = sqlglot.parse_one(text, read=Cql, into=exp.Condition)
    except sqlglot.errors.SqlglotError:
        return None
    return tree.name if isinstance(tree, exp.Column) and not tree.table else None
