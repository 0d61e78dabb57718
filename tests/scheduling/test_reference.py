"""References: taken in part like tables, in order with them, and let in only where no tuple may be late."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream
from headgate.scheduling.queue import BatchQueue, SharedMemory
from headgate.scheduling.reference import Reference, Rows, Span, refer
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.sql.schema import parse_schema

FILES = {"a": (0, 30), "b": (5, 20), "c": (0, 50)}
BYTES = 1000


def reference(places: dict[str, tuple[int, int]] = FILES, sequence: int = 7) -> Reference:
    return refer("s", "parquet", places, 2_000_000, sequence, BYTES)


def tuples(rows: Rows | None) -> list[tuple[int, str, int]]:
    """Sequence number, place and position of each tuple of a reference."""
    assert isinstance(rows, Reference)
    return [
        (rows.sequence + part.rows_before + at, part.place, part.start + at)
        for part in rows.parts
        for at in range(part.rows)
    ]


def test_a_reference_knows_its_tuples() -> None:
    found = tuples(reference())
    assert (found[0], found[30], found[-1]) == ((7, "a", 0), (37, "b", 5), (106, "c", 49))
    assert [number for number, _, _ in found] == list(range(7, 107))


@given(st.integers(0, 110), st.integers(0, 110))
def test_a_slice_has_the_tuples_that_a_slice_of_a_table_has(offset: int, length: int) -> None:
    whole = reference()
    part = whole.slice(offset, length)
    assert tuples(part) == tuples(whole)[offset : offset + length]
    assert part.num_rows == len(tuples(part))
    assert part.nbytes == BYTES * part.num_rows // 100
    assert tuples(whole.slice(offset)) == tuples(whole)[offset:]


def test_only_a_whole_reference_has_spans() -> None:
    surveyed = replace(reference(), spans=(Span(7, 100, 0, 1, 2, 0),))
    assert surveyed.slice(0, 100) is surveyed
    assert surveyed.slice(0, 99).spans == ()


def batch(first: int, rows: int) -> pa.Table:
    numbers = pa.array(range(first, first + rows), pa.int64())
    return pa.table({"_arrival": pa.array([1_000_000] * rows, pa.int64()), "_sequence": numbers})


def numbers(rows: Rows | None) -> list[int]:
    if isinstance(rows, Reference):
        return [number for number, _, _ in tuples(rows)]
    return [] if rows is None else rows.column("_sequence").to_pylist()


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 20)), max_size=8), st.lists(st.integers(0, 15)))
def test_a_queue_gives_tables_and_references_in_order(puts: list[tuple[bool, int]], takes: list[int]) -> None:
    queue, put = BatchQueue(SharedMemory()), 0
    for referred, rows in puts:
        queue.put(reference({"a": (put, rows)}, put) if referred else batch(put, rows))
        put += rows
        queue.check()
    assert queue.referred_rows == sum(rows for referred, rows in puts if referred)
    assert queue.arrivals().tolist() == [2.0 if referred else 1.0 for referred, rows in puts for _ in range(rows)]
    taken: list[int] = []
    for at, limit in enumerate([*takes, *[None] * 20]):
        rows = queue.take(limit)
        if at % 3 == 2 and rows is not None:
            queue.put_back(rows)
            queue.check()
            rows = queue.take(rows.num_rows)
        taken += numbers(rows)
        queue.check()
    assert taken == list(range(put))
    assert (queue.count, queue.bytes, queue.referred_rows) == (0, 0, 0)


def test_references_take_no_memory() -> None:
    memory = SharedMemory(limit_bytes=100)
    queue = BatchQueue(memory)
    queue.put(reference())
    assert (memory.used, memory.spilled_bytes, memory.short) == (0, 0, False)
    assert (queue.bytes, queue.referred_next, memory.waiting) == (BYTES, 100, 100)
    queue.put(batch(0, 2))
    assert numbers(queue.take(101)) == list(range(7, 107))
    assert (queue.referred_next, queue.count) == (0, 2)


STREAM = Stream("s", parse_schema("k INT, t BIGINT", "s"), {}, "t", 3.0)
Times = list[int | None]


def table(times: Times, first: int) -> pa.Table:
    own = [pa.array([0] * len(times), pa.int32()), pa.array(times, pa.int64())]
    stamps = [pa.array([2_000_000] * len(times), pa.int64()), pa.array(range(first, first + len(times)), pa.int64())]
    return pa.Table.from_arrays([*own, *stamps], schema=arrow_schema(STREAM.schema))


def surveyed(times: Times, first: int, cuts: set[int]) -> Reference:
    """A reference to tuples of these times, as the executors survey it in some pieces."""
    ends = sorted({0, len(times), *(cut for cut in cuts if cut < len(times))})
    spans = []
    for start, end in pairwise(ends):
        known = [time for time in times[start:end] if time is not None]
        disorder = max((max(known[: at + 1]) - time for at, time in enumerate(known)), default=0)
        ranges = (min(known, default=None), max(known, default=None))
        spans.append(Span(first + start, end - start, end - start - len(known), *ranges, disorder))
    return replace(reference({"a": (0, len(times))}, first), spans=tuple(spans))


@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(0, 12)), min_size=1, max_size=8), max_size=5),
    st.sets(st.integers(1, 8)),
)
def test_the_entrance_admits_a_reference_exactly_if_it_would_mark_no_tuple_late(
    batches: list[Times], cuts: set[int]
) -> None:
    by_table, by_reference, first = StreamEntrance(STREAM), StreamEntrance(STREAM), 0
    for times in batches:
        late_before = by_table.late
        admitted = by_table.admit(table(times, first))
        too_late = by_table.late - late_before - sum(time is None for time in times)
        found = surveyed(times, first, cuts)
        assert by_reference.is_in_order(found) == (too_late == 0)
        if too_late:
            by_reference.admit(table(times, first))
        else:
            came = by_reference.admit_reference(found)
            assert came.late == admitted.late
            assert all(0 < rows < len(times) for rows, _ in came.steps)
        for seen in ("reached", "earliest", "progress", "late"):
            assert getattr(by_reference, seen) == getattr(by_table, seen)
        first += len(times)


def test_a_reference_that_was_not_surveyed_is_not_admitted() -> None:
    entrance = StreamEntrance(STREAM)
    assert not entrance.is_in_order(reference())
    with pytest.raises(ValueError, match="may be late"):
        entrance.admit_reference(reference())


def test_arrivals_are_the_time_of_a_stream_without_one() -> None:
    entrance = StreamEntrance(Stream("s", parse_schema("k INT", "s"), {}))
    assert not entrance.is_in_order(reference())
    counted = replace(reference(), spans=(Span(7, 100, 0, 2_000_000, 2_000_000, 0),))
    assert entrance.admit_reference(counted).steps == ()
    assert (entrance.reached, entrance.earliest, entrance.progress) == (2_000_000, 2_000_000, 1_999_999)
