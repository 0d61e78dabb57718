"""What results in memory cost a checkpoint: the rows that are new, not all that are kept."""

from __future__ import annotations

import math

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.memory import MemorySink
from headgate.sql.schema import parse_schema

SHAPE = Shape(parse_schema("k INT", "test"), {})


def rows(begin: int, count: int) -> pa.Table:
    return pa.table({"k": pa.array(range(begin, begin + count), pa.int32())})


def kept(sink: MemorySink) -> list[int]:
    return [k for table in sink.tables() for k in table.column("k").to_pylist()]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40),
    st.none() | st.integers(1, 30),
    st.none() | st.integers(1, 30),
)
def test_the_newest_rows_are_kept_over_checkpoints_and_restarts(
    steps: list[tuple[int, bool]], limit: int | None, later_limit: int | None
) -> None:
    sink, written = MemorySink(SHAPE, limit), 0
    for count, saved in steps:
        sink.write(rows(written, count))
        written += count
        if saved:
            content = sink.content
            again = MemorySink(SHAPE, limit, sink.position, content)
            assert kept(again) == kept(sink)
            assert again.rows == written
            sink = again
        assert kept(sink) == list(range(written))[-limit if limit else 0 :]
        _, newest = sink.since(max(0, written - 3))
        assert [k for table in newest for k in table.column("k").to_pylist()] == kept(sink)[
            -min(3, written) or written :
        ]
    other = MemorySink(SHAPE, later_limit, sink.position, sink.content)
    assert kept(other) == kept(sink)[-later_limit if later_limit else 0 :]


@given(st.integers(1, 20), st.integers(1, 12))
def test_a_checkpoint_writes_few_rows_again(at_once: int, calls: int) -> None:
    """Each of many checkpoints finds most tables as they were, also once rows are dropped at the limit."""
    sink, limit, written, new = MemorySink(SHAPE, 400), 400, 0, 0
    before: list[pa.Table] = []
    for _ in range(150):
        for _ in range(calls):
            sink.write(rows(written, at_once))
            written += at_once
        content = sink.content or []
        new += sum(table.num_rows for table in content if not any(table is one for one in before))
        assert len(content) <= 2 + math.log2(limit + at_once * calls)
        assert sum(table.num_rows for table in content) <= 3 * limit + at_once * calls
        before = content
    assert new <= written * (2 + math.log2(limit))
