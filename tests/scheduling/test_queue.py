"""The queue: FIFO and conservation under any memory limit, against a plain list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InvariantError
from headgate.runtime.spark.spill import SpillFolder
from headgate.scheduling.queue import BatchQueue, SharedMemory, SpillError

TUPLE = 8 + 8 + 8  # bytes of a tuple of `batch`


def batch(first: int, rows: int) -> pa.Table:
    numbers = pa.array(range(first, first + rows), pa.int64())
    arrivals = pa.array([n * 1_000_000 for n in range(first, first + rows)], pa.int64())
    return pa.table({"k": numbers, "_arrival": arrivals, "_sequence": numbers})


def numbers(table: pa.Table | None) -> list[int]:
    return [] if table is None else table.column("k").to_pylist()


def test_arrivals_can_be_looked_at_in_memory_and_on_disk() -> None:
    shelf = Shelf()
    queue = BatchQueue(SharedMemory(4 * TUPLE, shelf, piece_bytes=2 * TUPLE))
    assert queue.arrivals().tolist() == []
    for first in range(0, 9, 3):
        queue.put(batch(first, 3))
    assert shelf.tables
    assert queue.arrivals(0).tolist() == []
    assert queue.arrivals(4).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert queue.arrivals().tolist() == queue.arrivals(50).tolist() == [float(n) for n in range(9)]
    assert (queue.count, queue.taken) == (9, 0)
    queue.check()
    assert numbers(queue.take()) == list(range(9))


class Shelf:
    """A spill in memory that can be told to fail."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}
        self.writes = 0
        self.reads = 0
        self.broken = False

    def write(self, table: pa.Table) -> int:
        self._maybe_fail()
        self.writes += 1
        self.tables[self.writes] = table
        return self.writes

    def read(self, handle: int) -> pa.Table:
        self._maybe_fail()
        self.reads += 1
        return self.tables[handle]

    def delete(self, handle: int) -> None:
        del self.tables[handle]

    def _maybe_fail(self) -> None:
        if self.broken:
            raise SpillError("no space left on device")


def test_first_in_first_out_and_slices() -> None:
    queue = BatchQueue()
    queue.put(batch(0, 5))
    queue.put(batch(5, 5))
    assert queue.count == 10
    assert queue.bytes == 10 * TUPLE
    assert queue.oldest == 0.0
    assert numbers(queue.take(7)) == list(range(7))
    assert queue.oldest == 7.0
    assert queue.bytes == 3 * TUPLE
    assert numbers(queue.take(None)) == [7, 8, 9]
    assert queue.take(1) is None
    assert queue.oldest is None
    queue.check()
    assert (queue.entered, queue.taken, queue.shed, queue.count) == (10, 10, 0, 0)


def test_take_nothing_and_strange_numbers() -> None:
    queue = BatchQueue()
    queue.put(batch(0, 2))
    assert queue.take(0) is None
    with pytest.raises(ValueError, match="0 or more"):
        queue.take(-1)
    queue.put(batch(0, 0))
    assert queue.count == 2


def test_put_back_goes_to_the_head() -> None:
    queue = BatchQueue()
    queue.put(batch(0, 4))
    taken = queue.take(3)
    assert taken is not None
    queue.put_back(taken.slice(1))
    assert numbers(queue.take(None)) == [1, 2, 3]
    queue.check()
    with pytest.raises(ValueError, match="4 were taken"):
        queue.put_back(batch(0, 5))


def test_shed_tuples_are_counted() -> None:
    queue = BatchQueue()
    queue.put(batch(0, 4), shed=6)
    taken = queue.take(4)
    assert taken is not None
    queue.put_back(taken.slice(0, 1), shed=3)
    queue.check()
    assert (queue.entered, queue.taken, queue.shed, queue.count) == (10, 0, 9, 1)


def test_nullability_may_differ_but_columns_may_not() -> None:
    queue = BatchQueue(name="q")
    first = batch(0, 1)
    queue.put(first)
    strict = pa.schema([field.with_nullable(False) for field in first.schema], metadata={"a": "b"})
    queue.put(pa.Table.from_arrays(batch(1, 1).columns, schema=strict))
    assert numbers(queue.take(None)) == [0, 1]
    with pytest.raises(ValueError, match="queue q holds"):
        queue.put(first.rename_columns(["x", "_arrival", "_sequence"]))
    with pytest.raises(ValueError, match="_arrival"):
        queue.put(pa.table({"k": [1]}))


def test_the_disk_is_full_until_enough_was_taken() -> None:
    memory = SharedMemory(4 * TUPLE, Shelf(), piece_bytes=2 * TUPLE, disk_bytes=6 * TUPLE)
    queue = BatchQueue(memory)
    queue.put(batch(0, 4))
    assert not memory.full
    for first in range(4, 12, 2):
        queue.put(batch(first, 2))
    assert memory.full
    assert numbers(queue.take(8)) == list(range(8))
    assert not memory.full
    assert numbers(queue.take(None)) == list(range(8, 12))


def test_newest_batches_of_the_largest_queue_spill() -> None:
    shelf = Shelf()
    memory = SharedMemory(20 * TUPLE, shelf, piece_bytes=5 * TUPLE)
    small, large = BatchQueue(memory), BatchQueue(memory)
    small.put(batch(0, 5))
    for first in range(0, 20, 5):
        large.put(batch(first, 5))
    assert small.held == 5 * TUPLE
    assert memory.used <= 20 * TUPLE
    assert memory.spilled_bytes > 0
    assert memory.short
    assert memory.used + memory.spilled_bytes == 25 * TUPLE == small.bytes + large.bytes
    assert max(n for table in shelf.tables.values() for n in numbers(table)) == 19
    assert numbers(large.take(None)) == list(range(20))
    assert not shelf.tables
    assert not memory.short
    assert memory.used == 5 * TUPLE


def test_small_batches_do_not_make_a_file_each() -> None:
    shelf = Shelf()
    queue = BatchQueue(SharedMemory(1000 * TUPLE, shelf, piece_bytes=200 * TUPLE))
    for n in range(5000):
        queue.put(batch(n, 1))
    assert shelf.writes < 40
    assert numbers(queue.take(None)) == list(range(5000))


def test_small_takes_do_not_read_a_file_each_although_memory_is_full() -> None:
    shelf = Shelf()
    memory = SharedMemory(1000 * TUPLE, shelf, piece_bytes=100 * TUPLE)
    queue, other = BatchQueue(memory), BatchQueue(memory)
    queue.put(batch(0, 2000))
    other.put(batch(0, 990))
    got: list[int] = []
    for n in range(2000):
        got += numbers(queue.take(1))
        other.put(batch(990 + n, 1))
    assert got == list(range(2000))
    assert shelf.reads < 100
    assert shelf.writes < 100
    assert numbers(other.take(None)) == list(range(2990))


def test_a_head_that_finds_no_room_stays_on_disk() -> None:
    shelf = Shelf()
    memory = SharedMemory(10 * TUPLE, shelf, piece_bytes=4 * TUPLE)
    queue, other = BatchQueue(memory), BatchQueue(memory)
    queue.put(batch(0, 12))
    other.put(batch(0, 9))
    queue.take(queue.held // TUPLE)
    other.put(batch(9, 10 - memory.used // TUPLE))  # memory is full to the last byte
    on_disk = queue.count
    write = shelf.write
    shelf.write = _no_disk  # type: ignore[method-assign]
    assert numbers(queue.take(1)) == [12 - on_disk]
    assert queue.held == 0
    queue.check()
    shelf.write = write  # type: ignore[method-assign]
    assert numbers(queue.take(None)) == list(range(13 - on_disk, 12))
    queue.check()


def _no_disk(table: pa.Table) -> int:
    raise SpillError("no space left on device")


def test_without_a_folder_or_a_limit_all_stays_in_memory() -> None:
    for memory in (SharedMemory(10), SharedMemory(None, Shelf()), SharedMemory()):
        queue = BatchQueue(memory)
        queue.put(batch(0, 100))
        assert memory.spilled_bytes == 0
        assert memory.used == 100 * TUPLE
    with pytest.raises(ValueError, match="0 or more bytes"):
        SharedMemory(-1)


def test_a_disk_that_fails_loses_nothing() -> None:
    shelf = Shelf()
    memory = SharedMemory(10 * TUPLE, shelf, piece_bytes=4 * TUPLE)
    queue = BatchQueue(memory)
    queue.put(batch(0, 12))
    shelf.broken = True
    with pytest.raises(SpillError, match="no space"):
        queue.put(batch(12, 12))
    queue.check()
    assert queue.count == 24
    with pytest.raises(SpillError):
        queue.take(None)
    queue.check()
    assert queue.taken == 0
    shelf.broken = False
    assert numbers(queue.take(None)) == list(range(24))


def test_a_short_spill_file_is_noticed() -> None:
    shelf = Shelf()
    queue = BatchQueue(SharedMemory(0, shelf), name="q")
    queue.put(batch(0, 4))
    shelf.tables = {handle: table.slice(1) for handle, table in shelf.tables.items()}
    with pytest.raises(SpillError, match="3 tuples instead of 4"):
        queue.take(1)


def test_files_are_deleted_when_taken_and_on_close(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    memory = SharedMemory(0, folder)
    queue, other = BatchQueue(memory), BatchQueue(memory)
    queue.put(batch(0, 10))
    other.put(batch(0, 10))
    assert len(list(folder.path.iterdir())) == 2
    assert numbers(queue.take(4)) == [0, 1, 2, 3]
    assert queue.oldest == 4.0
    assert numbers(queue.take(6)) == [4, 5, 6, 7, 8, 9]
    assert len(list(folder.path.iterdir())) == 1
    memory.close()
    assert not list(folder.path.iterdir())
    assert memory.used == memory.spilled_bytes == other.count == 0
    with pytest.raises(ValueError, match="closed"):
        other.put(batch(0, 1))
    other.close()
    folder.close()
    assert not list(tmp_path.iterdir())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 1), st.integers(0, 9)),
        st.tuples(st.just("take"), st.integers(0, 1), st.one_of(st.none(), st.integers(0, 12))),
        st.tuples(st.just("back"), st.integers(0, 1), st.integers(0, 12)),
    ),
    max_size=40,
)


def step(queue: BatchQueue, model: list[int], last: list[int], kind: str, amount: Any, fresh: int) -> list[int]:
    """One move on the queue and on the model; returns what can go back next."""
    if kind == "put":
        queue.put(batch(fresh, amount))
        model.extend(range(fresh, fresh + amount))
    elif kind == "take":
        table = queue.take(amount)
        expected = model[:amount] if amount is not None else model[:]
        assert numbers(table) == expected
        del model[: len(expected)]
        return expected
    else:
        back = last[max(0, len(last) - amount) :]  # the tail of what was taken, as after an interrupted call
        if back:
            queue.put_back(pa.concat_tables([batch(n, 1) for n in back]))
            model[:0] = back
        return []
    return last


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(0, 30), st.integers(1, 8))
def test_any_limit_behaves_as_a_list(steps: list[tuple[str, int, Any]], limit: int, piece: int) -> None:
    shelf = Shelf()
    memory = SharedMemory(limit * TUPLE, shelf, piece_bytes=piece * TUPLE)
    queues = [BatchQueue(memory), BatchQueue(memory)]
    models: list[list[int]] = [[], []]
    last: list[list[int]] = [[], []]
    fresh = 0
    for kind, which, amount in steps:
        queue, model = queues[which], models[which]
        last[which] = step(queue, model, last[which], kind, amount, fresh)
        if kind == "put":
            fresh += amount
        queue.check()
        assert queue.count == len(model)
        assert queue.oldest == (model[0] if model else None)
        assert memory.used <= limit * TUPLE
        assert memory.used + memory.spilled_bytes == sum(q.bytes for q in queues)
        assert memory.used == sum(q.held for q in queues)
    for queue, model in zip(queues, models, strict=True):
        assert numbers(queue.take(None)) == model
    assert not shelf.tables


@pytest.mark.parametrize("miscounted", ["taken", "count", "held"])
def test_what_has_gone_astray_is_a_broken_invariant(miscounted: str) -> None:
    queue = BatchQueue(name="q/x:0")
    queue.put(batch(0, 5))
    queue.check()
    setattr(queue, miscounted, getattr(queue, miscounted) + 1)
    with pytest.raises(InvariantError, match="queue q/x:0"):
        queue.check()
