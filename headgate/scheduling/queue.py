"""The queues of the core: FIFOs of Arrow batches in front of operators, in memory or spilled to disk.

Nothing here is thread-safe: the runtime holds its lock around every call, for all queues of one `SharedMemory`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.errors import InvariantError
from headgate.plan.table_bytes import row_bytes, table_bytes
from headgate.sql.schema import ARRIVAL

_PIECE = 16 << 20  # bytes per spill file: large enough for sequential disk speed, small enough to write under the lock
_SMALLEST_PIECE = 64 << 10


class SpillError(RuntimeError):
    """The disk refused to take or give back a batch. What was in memory is still there, in order."""


class Spill(Protocol):
    """Where batches go when memory is short; `runtime.spark.spill.SpillFolder` is the real one.

    `write`, `hold` and `read` raise SpillError when they fail; `delete` never raises: a file that is left behind must
    not cost any tuples.
    """

    def write(self, table: pa.Table) -> Any: ...
    def hold(self, handle: Any) -> Any: ...  # another handle of the same rows, to be deleted by itself
    def read(self, handle: Any) -> pa.Table: ...
    def delete(self, handle: Any) -> None: ...


class _Batch:
    """A run of tuples: in memory (`table`), or in a file from row `offset` on (`handle`)."""

    __slots__ = ("_first", "bytes", "handle", "offset", "rows", "table")

    def __init__(self, table: pa.Table, size: int) -> None:
        self.table: pa.Table | None = table
        self.handle: Any = None
        self.offset = 0
        self.rows: int = table.num_rows
        self.bytes = size
        self._first: float | None = None

    @property
    def first(self) -> float:
        """Arrival of its first tuple, in seconds."""
        if self._first is None:
            assert self.table is not None
            self._first = self.table.column(ARRIVAL)[0].as_py() / 1e6
        return self._first

    def in_file(self, handle: Any) -> _Batch:
        """Forget the table, which `handle` holds now."""
        _ = self.first
        self.table, self.handle = None, handle
        return self

    def skip(self, rows: int, first: float) -> None:
        """Take rows off the front of a batch in a file; the file stays as it is."""
        left = self.rows - rows
        self.bytes = self.bytes * left // self.rows
        self.rows, self.offset, self._first = left, self.offset + rows, first


class FiledRows:
    """Rows that waited in a queue, on disk; the queue may have gone on without them. To be released."""

    def __init__(self, folder: Spill, handle: Any, offset: int) -> None:
        self._folder = folder
        self._handle = folder.hold(handle)
        self._offset = offset

    def table(self) -> pa.Table:
        """The rows. SpillError: they cannot be read."""
        return self._folder.read(self._handle).slice(self._offset)

    def release(self) -> None:
        """They are not needed any more."""
        self._folder.delete(self._handle)


class SharedMemory:
    """The memory that all queues share. Without `limit_bytes` or `folder` it is unlimited; without `disk_bytes`, the
    disk is.

    When the batches in memory exceed the limit, the newest batches of the largest queues go to disk until a quarter of
    the limit is free, so that small batches do not each make a small file. A batch that waits in several queues counts
    in each of them, so the count may exceed the real use, but never falls below it.
    """

    def __init__(
        self,
        limit_bytes: int | None = None,
        folder: Spill | None = None,
        piece_bytes: int | None = None,
        disk_bytes: int | None = None,
    ) -> None:
        if limit_bytes is not None and limit_bytes < 0:
            raise ValueError(f"the memory limit must be 0 or more bytes, not {limit_bytes}")
        self.limit_bytes = limit_bytes
        self.used = 0  # bytes of the batches in memory
        self.spilled_bytes = 0  # bytes of the batches on disk, as they would be in memory
        self.waiting = 0  # tuples in all queues
        self.folder = folder
        self._disk_bytes = disk_bytes
        self._piece = piece_bytes or min(_PIECE, max(_SMALLEST_PIECE, (limit_bytes or 0) // 8))
        self._queues: list[BatchQueue] = []

    @property
    def short(self) -> bool:
        """Is memory short? Sources that can be replayed should then not be read."""
        return self.spilled_bytes > 0 or not self.fits(0)

    @property
    def full(self) -> bool:
        """Is the disk used up, too? Then no source should be read."""
        return self._disk_bytes is not None and self.spilled_bytes >= self._disk_bytes

    def fits(self, size: int) -> bool:
        """Can this many more bytes stay in memory?"""
        return self.limit_bytes is None or self.used + size <= self.limit_bytes

    def join(self, queue: BatchQueue) -> None:
        """Called by each queue when it is made."""
        self._queues.append(queue)

    def leave(self, queue: BatchQueue) -> None:
        """Called by each queue when it is closed."""
        self._queues.remove(queue)

    def relieve(self, more: int = 0) -> None:
        """Spill until `more` bytes fit; called after every addition. SpillError: the rest stays in memory."""
        if self.limit_bytes is None or self.folder is None or self.fits(more):
            return
        goal = max(0, self.limit_bytes - self.limit_bytes // 4 - more)
        while self.used > goal:
            largest = max(self._queues, key=lambda queue: queue.held)
            largest.spill(min(self._piece, max(self.used - goal, self._piece // 4)))

    def make_room(self, size: int) -> bool:
        """Can `size` bytes at the head of a queue come back to memory? Spills what is needed last to make room."""
        if self.limit_bytes is not None and size > self.limit_bytes // 2:
            return self.fits(size)
        try:
            self.relieve(size)
        except SpillError:  # the head can stay on disk; the next addition reports the error
            return False
        return self.fits(size)

    def close(self) -> None:
        """Close all queues."""
        for queue in list(self._queues):
            queue.close()


class BatchQueue:
    """FIFO of Arrow tables that carry the stamp columns; the `Queue` that the scheduler sees.

    `check` tests conservation: entered == taken + count + shed. Calls take from it; sources and upstream units put into
    it.
    """

    def __init__(self, memory: SharedMemory | None = None, name: str = "") -> None:
        self.name = name
        self.count = 0  # tuples waiting
        self.due: float | None = None  # since when its operator has something to do although no tuple waits
        self.entered = 0
        self.taken = 0
        self.shed = 0
        self.thinned = False  # was something dropped of the batch put in last?
        self.held = 0  # bytes in memory
        self._filed = 0  # bytes on disk
        self._batches: deque[_Batch] = deque()
        self._schema: pa.Schema | None = None
        self._row_bytes: float | None = None
        self._memory = SharedMemory() if memory is None else memory
        self._closed = False
        self._memory.join(self)

    @property
    def admitted(self) -> int:
        """Tuples that entered and were not dropped."""
        return self.entered - self.shed

    @property
    def bytes(self) -> float:
        """Size of what waits, in memory and on disk."""
        return self.held + self._filed

    @property
    def oldest(self) -> float | None:
        """Arrival of the first tuple, in seconds since the run began; if empty, since when it is due, or None."""
        return self._batches[0].first if self._batches else self.due

    def arrivals(self, limit: int | None = None) -> NDArray[np.float64]:
        """Arrivals of the first `limit` tuples, all when None, in seconds; the tuples stay.

        SpillError: they are on disk and cannot be read.
        """
        wanted = self.count if limit is None else min(limit, self.count)
        columns = [table.column(ARRIVAL).to_numpy() for table in self._look(wanted)]
        return np.concatenate(columns)[:wanted] / 1e6 if columns else np.empty(0)

    def put(self, table: pa.Table, shed: int = 0) -> None:
        """Append a batch; `shed` is how many tuples a shedder dropped from it on the way in.

        SpillError: memory is over its limit and the disk failed; the batch is in the queue all the same.
        """
        table = self._accept(table)
        self.entered += table.num_rows + shed
        self.shed += shed
        self.thinned = shed > 0
        self._add(table, at_head=False)

    def put_back(self, table: pa.Table, shed: int = 0) -> None:
        """Return tuples that were taken to the head of the queue; `shed` of those taken were dropped instead."""
        table = self._accept(table)
        if table.num_rows + shed > self.taken:
            raise ValueError(f"{table.num_rows + shed} tuples cannot go back: {self.taken} were taken")
        self.taken -= table.num_rows + shed
        self.shed += shed
        self._add(table, at_head=True)

    def take(self, limit: int | None = None) -> pa.Table | None:
        """Remove and return the `limit` oldest tuples, all when None; None when there are none.

        The columns are chunked as the batches were; nothing is copied. SpillError: nothing was removed.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"the number of tuples to take must be 0 or more, not {limit}")
        wanted = self.count if limit is None else min(limit, self.count)
        if not wanted:
            return None
        tables = self._look(wanted)  # may fail, so before anything changes
        given = self._remove(tables, wanted)
        self.count -= wanted
        self.taken += wanted
        return given[0] if len(given) == 1 else pa.concat_tables(given)

    def check(self) -> None:
        """Raise InvariantError if tuples or bytes were miscounted; for tests and the end of a run."""
        if self._closed:
            return
        rows = sum(batch.rows for batch in self._batches)
        if self.entered != self.taken + self.count + self.shed or self.count != rows:
            flow = f"entered {self.entered}, taken {self.taken}, waiting {self.count}, shed {self.shed}"
            raise InvariantError(f"queue {self.name}: {flow}; it has {rows}")
        held = sum(batch.bytes for batch in self._batches if batch.table is not None)
        filed = sum(batch.bytes for batch in self._batches if batch.table is None)
        if (held, filed) != (self.held, self._filed):
            raise InvariantError(f"queue {self.name}: bytes were miscounted")

    def state(self) -> dict[str, Any]:
        """What waits, and what came so far: values that JSON can hold, but for tables and rows on disk.

        SpillError: rows on disk cannot be held.
        """
        rows: list[pa.Table | FiledRows] = []
        for on_disk, batches in groupby(self._batches, lambda batch: batch.table is None):
            if on_disk:
                assert self._memory.folder is not None
                rows += [FiledRows(self._memory.folder, batch.handle, batch.offset) for batch in batches]
            else:
                rows.append(pa.concat_tables([batch.table for batch in batches]))
        return {
            "entered": self.entered,
            "taken": self.taken,
            "shed": self.shed,
            "thinned": self.thinned,
            "rows": rows,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, in which all rows are tables. Only for a queue that nothing has entered."""
        self.entered, self.taken, self.shed = state["entered"], state["taken"], state["shed"]
        self.thinned = state["thinned"]
        for table in state["rows"]:
            self._add(self._accept(table), at_head=False)

    def close(self) -> None:
        """Drop all batches and delete their files."""
        if self._closed:
            return
        self._closed = True
        for batch in self._batches:
            self._count_out(batch)
            self._delete(batch)
        self._batches.clear()
        self.count = 0
        self._memory.leave(self)

    def spill(self, size: int) -> None:
        """Move about `size` bytes, the newest in memory, to one file. Called by `SharedMemory` alone."""
        place, run = self._newest_run(size)
        size = sum(batch.bytes for batch in run)
        written = run[0] if len(run) == 1 else _Batch(pa.concat_tables([batch.table for batch in run]), size)
        assert self._memory.folder is not None
        handle = self._memory.folder.write(written.table)  # may fail, so before anything changes
        for batch in run:
            self._count_out(batch)
        for _ in run:
            del self._batches[place]
        self._batches.insert(place, written.in_file(handle))
        self._count_in(written)

    # Inside -----------------------------------------------------------------------------------------------------

    def _accept(self, table: pa.Table) -> pa.Table:
        if self._closed:
            raise ValueError(f"queue {self.name} is closed")
        if ARRIVAL not in table.schema.names:
            raise ValueError(f"queue {self.name}: a batch without the stamp column {ARRIVAL}")
        if self._schema is None:
            self._schema = table.schema.remove_metadata()
            self._row_bytes = row_bytes(self._schema)
        if table.schema.equals(self._schema, check_metadata=True):
            return table
        mine = [(field.name, field.type) for field in self._schema]
        if mine != [(field.name, field.type) for field in table.schema]:
            raise ValueError(f"queue {self.name} holds {self._schema}, not {table.schema}")
        # Nullability and metadata may differ between two ways to run an operator; the tuples do not.
        return pa.Table.from_arrays(table.columns, schema=self._schema)

    def _add(self, table: pa.Table, at_head: bool) -> None:
        if not table.num_rows:
            return
        batch = self._batch(table)
        if at_head:
            self._batches.appendleft(batch)
        else:
            self._batches.append(batch)
        self.count += batch.rows
        self._count_in(batch)
        self._memory.relieve()

    def _batch(self, table: pa.Table) -> _Batch:
        return _Batch(table, table_bytes(table, self._row_bytes))

    def _look(self, wanted: int) -> list[pa.Table]:
        """The tables of the batches that hold the first `wanted` tuples, read where they are on disk."""
        tables = []
        for batch in self._batches:
            if wanted <= 0:
                break
            tables.append(self._read(batch) if batch.table is None else batch.table)
            wanted -= batch.rows
        return tables

    def _read(self, batch: _Batch) -> pa.Table:
        assert self._memory.folder is not None
        table = self._memory.folder.read(batch.handle).slice(batch.offset)
        if table.num_rows != batch.rows:
            problem = f"queue {self.name}: a spill file holds {table.num_rows} tuples instead of {batch.rows}"
            raise SpillError(problem)
        return table

    def _remove(self, tables: list[pa.Table], wanted: int) -> list[pa.Table]:
        given = []
        for table in tables:
            batch = self._batches.popleft()
            self._count_out(batch)
            rows = min(wanted, batch.rows)
            wanted -= rows
            given.append(table.slice(0, rows))
            if rows == batch.rows:
                self._delete(batch)
            else:
                self._keep_rest(batch, table.slice(rows), rows)
        return given

    def _keep_rest(self, batch: _Batch, rest: pa.Table, rows: int) -> None:
        kept = self._batch(rest)
        if batch.table is None and not self._memory.make_room(kept.bytes):
            batch.skip(rows, kept.first)  # there is no room, so each further take reads the file again
            kept = batch
        else:
            self._delete(batch)
        self._batches.appendleft(kept)
        self._count_in(kept)

    def _newest_run(self, size: int) -> tuple[int, list[_Batch]]:
        """Where the newest batches in memory start, and up to `size` bytes of them; one is cut in two to fit."""
        place = len(self._batches)
        while self._batches[place - 1].table is None:
            place -= 1
        run: list[_Batch] = []
        while place and size > 0 and self._batches[place - 1].table is not None:
            batch = self._batches[place - 1]
            if batch.bytes > size and batch.rows > 1:
                if run:
                    break
                return place, [self._cut(place - 1, -(-batch.rows * size // batch.bytes))]
            run.insert(0, batch)
            size -= batch.bytes
            place -= 1
        return place, run

    def _cut(self, place: int, rows: int) -> _Batch:
        """Cut the last `rows` tuples off a batch in memory; they follow it as a batch of their own."""
        whole = self._batches[place]
        assert whole.table is not None
        rows = min(rows, whole.rows - 1)
        cut = whole.rows - rows
        parts = self._batch(whole.table.slice(0, cut)), self._batch(whole.table.slice(cut))
        self._count_out(whole)
        self._batches[place] = parts[0]
        self._batches.insert(place + 1, parts[1])
        for part in parts:
            self._count_in(part)
        return parts[1]

    def _count_in(self, batch: _Batch, sign: int = 1) -> None:
        self._memory.waiting += sign * batch.rows
        if batch.table is not None:
            self.held += sign * batch.bytes
            self._memory.used += sign * batch.bytes
        else:
            self._filed += sign * batch.bytes
            self._memory.spilled_bytes += sign * batch.bytes

    def _count_out(self, batch: _Batch) -> None:
        self._count_in(batch, -1)

    def _delete(self, batch: _Batch) -> None:
        if batch.table is None:
            assert self._memory.folder is not None
            self._memory.folder.delete(batch.handle)
