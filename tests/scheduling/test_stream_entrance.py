"""The entrance: every tuple has its instant, and lateness does not depend on how the stream is cut."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.plan.arrow_types import arrow_schema, port_schema
from headgate.plan.model import Stream
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.sql.schema import FOREVER, LATE, parse_schema

LEAST, MOST = -(2**63), 2**63 - 1


def stream(schema: str = "k INT, t BIGINT", time: str | None = "t", slack: float = 0.0, **more: Any) -> Stream:
    return Stream("s", parse_schema(schema, "s"), {}, time, slack, **more)


def batch(of: Stream, *columns: list[Any], first: int = 0, arrivals: list[int] | None = None) -> pa.Table:
    schema = arrow_schema(of.schema)
    n = len(columns[0])
    own = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=False)]
    arrays = [*own, pa.array(arrivals or [5] * n, pa.int64()), pa.array(range(first, first + n), pa.int64())]
    return pa.Table.from_arrays(arrays, schema=schema)


def times(table: pa.Table) -> list[int | None]:
    return list(table.column("_time").to_pylist())


def on_time(table: pa.Table) -> list[int | None]:
    """The times that windows see."""
    rows = zip(times(table), table.column("_sequence").to_pylist(), strict=True)
    return [None if sequence >= LATE else time for time, sequence in rows]


def test_late_tuples_are_counted_and_marked() -> None:
    of = stream(slack=2)
    entrance = StreamEntrance(of)
    assert (entrance.reached, entrance.progress, entrance.late) == (None, None, 0)
    first = entrance.admit(batch(of, [0, 0, 0], [10, 8, 12]))
    assert on_time(first.table) == times(first.table)
    assert first.table.schema.equals(port_schema(of.schema, of.flow))
    assert times(first.table) == [10, 8, 12]
    second = entrance.admit(batch(of, [0, 0, 0, 0], [9, 10, None, 20]))
    assert times(second.table) == [9, 10, None, 20]
    assert on_time(second.table) == [None, 10, None, 20]
    assert second.table.schema.equals(first.table.schema)
    assert second.late == entrance.late == 2
    assert (entrance.reached, entrance.progress) == (20, 17)


def test_only_nulls() -> None:
    of = stream()
    entrance = StreamEntrance(of)
    admitted = entrance.admit(batch(of, [1, 1], [None, None]))
    assert on_time(admitted.table) == times(admitted.table)
    assert (admitted.late, entrance.reached, entrance.progress) == (2, None, None)
    assert on_time(entrance.admit(batch(of, [1], [-5])).table) == [-5]


def test_an_empty_batch() -> None:
    of = stream()
    entrance = StreamEntrance(of)
    admitted = entrance.admit(batch(of, [], []))
    assert (admitted.table.num_rows, admitted.late, entrance.progress) == (0, 0, None)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NTZ"])
def test_timestamps_count_microseconds_since_1970(kind: str) -> None:
    of = stream(f"T {kind}", "t", slack=1.0)
    zone = UTC if kind == "TIMESTAMP" else None
    at = [datetime(1970, 1, 1, 0, 0, second, tzinfo=zone) for second in (3, 2, 1)]
    entrance = StreamEntrance(of)
    admitted = entrance.admit(batch(of, at))
    assert times(admitted.table) == [3_000_000, 2_000_000, 1_000_000]
    assert on_time(admitted.table) == [3_000_000, 2_000_000, None]
    assert entrance.progress == 1_999_999


@pytest.mark.parametrize("kind", ["INT", "SMALLINT", "TINYINT"])
def test_small_whole_numbers_are_a_logical_clock(kind: str) -> None:
    of = stream(f"t {kind}")
    assert times(StreamEntrance(of).admit(batch(of, [3, 7])).table) == [3, 7]


def test_arrival_time_goes_by_arrivals_and_ticks() -> None:
    of = stream("k INT", None, slack=3)
    entrance = StreamEntrance(of)
    admitted = entrance.admit(batch(of, [1, 2], arrivals=[100, 200]))
    assert on_time(admitted.table) == [100, 200]
    assert on_time(admitted.table) == times(admitted.table)
    assert (entrance.reached, entrance.progress) == (200, 199)
    entrance.tick(1000)
    entrance.tick(900)
    assert (entrance.reached, entrance.progress) == (200, 999)
    timed = StreamEntrance(stream())
    timed.tick(1000)
    assert timed.progress is None


def test_a_relation_counts_for_ever_by_its_changes() -> None:
    of = stream(relation=True)
    table = batch(of, [1, 1], [4, 9]).append_column("_change", pa.array([1, -1], pa.int64()))
    admitted = StreamEntrance(of).admit(table).table
    assert admitted.schema.equals(port_schema(of.schema, of.flow))
    assert admitted.column_names == ["k", "t", *of.flow.stamps]
    assert admitted.column("_until").to_pylist() == [FOREVER, FOREVER]
    assert admitted.column("_change").to_pylist() == [1, -1]
    with pytest.raises(ValueError, match="a source gave the columns"):
        StreamEntrance(of).admit(batch(of, [1], [4]))


INSTANTS = st.one_of(
    st.none(), st.integers(0, 30), st.integers(LEAST, LEAST + 5), st.integers(MOST - 5, MOST), st.integers(LEAST, MOST)
)


@settings(max_examples=200, deadline=None)
@given(st.lists(INSTANTS, max_size=40), st.lists(st.integers(0, 40), max_size=5), st.sampled_from([0, 3, 2**62]))
def test_the_cut_into_batches_does_not_show(instants: list[int | None], cuts: list[int], slack: int) -> None:
    of = stream("t BIGINT", slack=slack)
    expected: list[int | None] = []
    reached: int | None = None
    for instant in instants:
        late = instant is None or (reached is not None and instant < reached - slack)
        expected.append(None if late else instant)
        if instant is not None:
            reached = instant if reached is None else max(reached, instant)
    entrance = StreamEntrance(of)
    borders = [0, *sorted(min(cut, len(instants)) for cut in cuts), len(instants)]
    given_out: list[int | None] = []
    true: list[int | None] = []
    for first, end in pairwise(borders):
        # A batch may itself be in pieces.
        middle = (first + end) // 2
        table = pa.concat_tables([batch(of, instants[first:middle]), batch(of, instants[middle:end])])
        admitted = entrance.admit(table)
        assert admitted.late == sum(time is None for time in on_time(admitted.table))
        given_out += on_time(admitted.table)
        true += times(admitted.table)
    assert true == instants
    assert given_out == expected
    assert entrance.reached == reached
    assert entrance.late == expected.count(None)
    if reached is not None:
        assert entrance.progress == max(reached - slack - 1, LEAST)


def test_it_is_cheap() -> None:
    of = stream("k INT, t BIGINT, x DOUBLE, s STRING")
    n = 3000
    table = batch(of, list(range(n)), [at - at % 7 for at in range(n)], [0.0] * n, ["a"] * n)
    entrance = StreamEntrance(of)
    spent = []
    for _ in range(20):
        began = time.perf_counter()
        entrance.admit(table)
        spent.append(time.perf_counter() - began)
    assert min(spent) < 0.002  # about 0.1 ms on an idle core
