"""Checks that a sink does what every runtime relies on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sinks import CannotResume, Sink, SinkContext, SinkKind, StagedSink
from headgate.connect.sinks.base import content_of, position_of
from headgate.errors import ApplicationError
from headgate.plan.arrow_types import port_schema
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import STAMPS, parse_schema

_SCHEMA = "k INT, s STRING, v DOUBLE"
Read = Callable[[], Iterable[Any]]


def check_sink(sink: SinkKind, folder: str | Path = ".", read: Read | None = None) -> None:
    """Check a sink: that it counts what it takes, takes batches of any size and nulls, and can be closed twice.

    One with a position, or whose target takes epochs, is also closed and opened again as after a crash. With `read`,
    which returns the rows that the target has now, the check compares them with those of an undisturbed run.

    It is opened several times, as by several runs, in `folder`. AssertionError says what is wrong.
    """
    opener = _Opener(sink, Path(folder))
    for sizes in ((), (3, 1), (0, 5, 0)):
        _check_writing(opener, sizes)
    _check_resuming(opener, read)


class _Opener:
    """Opens the sink, as runs do."""

    def __init__(self, sink: SinkKind, folder: Path) -> None:
        self.what = f"sink '{sink.kind}'"
        self._sink = sink
        self._folder = folder

    def __call__(self, resume: Any = None, content: pa.Table | None = None, checkpointed: bool = False) -> Sink:
        sink = self._sink
        query = Query("checked", "default", Port("checked/o"), ("checked/o",), sink.settings(), connector=sink)
        schema, application = parse_schema(_SCHEMA, "schema"), "headgate.testing"
        return sink.open(SinkContext(query, schema, Flow(), self._folder, application, resume, content, checkpointed))


def _check_writing(opener: _Opener, sizes: tuple[int, ...]) -> None:
    what, opened = opener.what, opener()
    assert opened.rows == 0, f"{what} begins with {opened.rows} rows"
    count = 0
    for size in sizes:
        batch = _batch(size, count)
        before = batch.slice(0)
        opened.write(batch)
        count += size
        assert opened.rows == count, f"{what} counts {opened.rows} rows after {count} were written"
        assert batch.equals(before), f"{what} changed the batch that it was given"
        opened.refresh()
        opened.flush()
    opened.close()
    opened.close()
    assert opened.rows == count, f"{what} counts {opened.rows} rows after it was closed, {count} were written"


def _check_resuming(opener: _Opener, read: Read | None) -> None:
    """Three rows belong to the checkpoint, two are lost in the crash, and two come after it.

    A target of epochs gets the first three twice, as when the crash comes just after the commit.
    """
    what, kept, lost, after = opener.what, _batch(3, 0), _batch(2, 3), _batch(2, 5)
    wanted = _added(opener(), read, kept, after)
    opened = opener(checkpointed=True)
    there = _rows(read)
    opened.write(kept)
    position, content = _checkpoint(opened)
    opened.write(lost)
    opened.close()
    if position is None:
        return
    same = json.loads(json.dumps(position))
    assert same == position, f"{what} has a position that JSON does not give back: {position!r}"
    again = opener(position, content, checkpointed=True)
    assert again.rows == 3, f"{what} goes on with {again.rows} rows instead of 3"
    exactly = not isinstance(again, StagedSink) or again.held
    there_now = position_of(again)
    assert there_now == position or not exactly, f"{what} goes on at {there_now!r} instead of {position!r}"
    again.write(after)
    _checkpoint(again)
    again.close()
    assert again.rows == 5, f"{what} counts {again.rows} rows after it went on, 5 were written"
    found = _rows(read) - there
    right = found == wanted if exactly else found >= wanted
    assert right, f"{what} gives other rows after a crash: {_difference(found, wanted)}"
    if isinstance(again, StagedSink) and exactly:
        _check_old_checkpoint(opener, position, content)


def _check_old_checkpoint(opener: _Opener, position: Any, content: pa.Table | None) -> None:
    """The target has an epoch that this checkpoint does not know."""
    try:
        opener(position, content, checkpointed=True).close()
    except (CannotResume, ApplicationError):
        return
    raise AssertionError(f"{opener.what} has forgotten its last epoch: it goes on from a checkpoint that is older")


def _added(opened: Sink, read: Read | None, *batches: pa.Table) -> Counter[str]:
    """What an undisturbed run adds."""
    there = _rows(read)
    for batch in batches:
        opened.write(batch)
    opened.close()
    return _rows(read) - there


def _rows(read: Read | None) -> Counter[str]:
    return Counter(map(repr, read() if read is not None else ()))


def _difference(found: Counter[str], wanted: Counter[str]) -> str:
    lost, more = wanted - found, found - wanted
    said = [f"{words} {row}" for words, rows in (("lost", lost), ("too many", more)) for row in rows.elements()]
    return "; ".join(said)


def _checkpoint(opened: Sink) -> tuple[Any, pa.Table | None]:
    """Take a checkpoint; returns what it holds of the sink."""
    if not isinstance(opened, StagedSink):
        return position_of(opened), content_of(opened)
    opened.take()
    held = opened.position, opened.content
    opened.release()
    return held


def _batch(size: int, first: int) -> pa.Table:
    """Results as a runtime hands them over: the query's columns, then the stamps."""
    numbers = list(range(first, first + size))
    columns = {
        "k": [None if n % 3 == 2 else n for n in numbers],
        "s": [None if n % 4 == 1 else f'text, "{n}"\n' for n in numbers],
        "v": [n / 7 for n in numbers],
        **dict.fromkeys(STAMPS, numbers),
    }
    schema = port_schema(parse_schema(_SCHEMA, "schema"), Flow())
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
