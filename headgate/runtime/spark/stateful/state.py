"""The state of operators: logs of rows, in chunks; each chunk is what one call added."""

from __future__ import annotations

import itertools
import logging
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headgate.plan.model import Edge
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.internals.guards import why_not_prepared
from headgate.runtime.spark.internals.leaf import Leaf, LeafError, LogLeaf
from headgate.runtime.spark.stateful.base import Instants, LogSpec, Stateful
from headgate.scheduling.progress import BEGINNING, Bounds
from headgate.sql.schema import FOREVER

logger = logging.getLogger("headgate.spark")

LARGE_CHUNK_SHARE = 8  # a chunk this many times its fair share of a log drops expired rows once half have expired
MAX_CHUNKS = 32  # of a log; more are merged
PERSISTED_ROWS = 20_000  # a chunk this large stays on the executors between partitioned calls
COMPACT_ROWS = 2_000  # a log that can shrink is compacted at twice its last compacted size plus this many rows

# The bounds of a call, as a table of one row: see `Stateful.step`.
BOUNDS = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("_from", "_to", "_now")])

_numbers = itertools.count(1)


class LogName(NamedTuple):
    """A log of an operator."""

    operator: str
    log: str


class Chunk:
    """Rows that never change; dropped as a whole when all of them have expired."""

    def __init__(self, table: pa.Table, spec: LogSpec) -> None:
        self.number = next(_numbers)
        self.table = table
        self.rows: int = table.num_rows
        self.bytes: int = table.nbytes
        self.expiry, self.half_expiry = _expiries(table, spec)  # when all rows have expired, and when half of them
        self._events = _sorted_instants(table, spec.events)
        self._first = int(self._events[0]) if len(self._events) else FOREVER  # asked for at every call
        self._last = int(self._events[-1]) if len(self._events) else FOREVER
        self._frame: DataFrame | None = None

    def next_event(self, after: int) -> int:
        """The first instant after `after` that is an event of one of its rows; FOREVER if there is none."""
        if after < self._first:
            return self._first
        if after >= self._last:
            return FOREVER
        return int(self._events[self._events.searchsorted(after, side="right")])

    def frame(self, session: SparkSession) -> DataFrame:
        """Its rows as a DataFrame; a large chunk is kept by Spark, in memory or on the executors' disks."""
        if self._frame is not None:
            return self._frame
        frame: DataFrame = session.createDataFrame(self.table, schema=from_arrow_schema(self.table.schema))
        if self.rows >= PERSISTED_ROWS:
            self._frame = frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        return frame

    def release(self) -> None:
        """Let Spark drop the rows that it keeps."""
        if self._frame is not None:
            self._frame.unpersist()
            self._frame = None


class Log:
    """The chunks of one log, oldest first."""

    def __init__(self, spec: LogSpec) -> None:
        self.spec = spec
        self.schema: pa.Schema = to_arrow_schema(spec.schema, timezone="UTC")
        self.chunks: list[Chunk] = []
        self._compact_at = COMPACT_ROWS

    @property
    def rows(self) -> int:
        """Rows in all chunks."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def bytes(self) -> int:
        """Bytes of all chunks."""
        return sum(chunk.bytes for chunk in self.chunks)

    def append(self, table: pa.Table) -> None:
        """Add rows as a chunk of their own."""
        if table.num_rows:
            if table.schema != self.schema:
                table = pa.Table.from_arrays(table.columns, schema=self.schema)
            self.chunks.append(Chunk(table, self.spec))

    def forget_expired(self, end: int) -> None:
        """Everything up to the instant `end` has been evaluated: drop what has expired, and keep the chunks few."""
        if any(chunk.expiry <= end for chunk in self.chunks):
            self._keep([chunk for chunk in self.chunks if chunk.expiry > end])
        large = self.rows * LARGE_CHUNK_SHARE / MAX_CHUNKS
        for at, chunk in enumerate(self.chunks):
            if chunk.half_expiry <= end and chunk.rows > large:
                self._merge(at, at + 1, end)
        while len(self.chunks) > MAX_CHUNKS:
            sizes = [chunk.rows for chunk in self.chunks]
            first = min(range(len(sizes) - 1), key=lambda at: sizes[at] + sizes[at + 1])
            self._merge(first, first + 2, end)

    def next_event(self, after: int) -> int:
        """The first instant after `after` at which something happens to its rows."""
        return min((chunk.next_event(after) for chunk in self.chunks), default=FOREVER)

    @property
    def wants_compaction(self) -> bool:
        """Can the log shrink, and has it grown enough since it last did?"""
        return self.spec.shrinks and self.rows > self._compact_at

    def postpone_compaction(self) -> None:
        """Ask for compaction only after much more growth."""
        self._compact_at = 2 * self.rows + COMPACT_ROWS

    def replace(self, table: pa.Table) -> None:
        """Replace all rows by those of a smaller log with the same meaning."""
        self._keep([])
        self.append(table)
        self._compact_at = 2 * table.num_rows + COMPACT_ROWS

    def chunks_for(self, bounds: Bounds) -> list[Chunk]:
        """The chunks that a call with these bounds may need."""
        if not self.spec.sparse:
            return self.chunks
        return [chunk for chunk in self.chunks if chunk.next_event(bounds.start) <= bounds.end]

    def frame(self, session: SparkSession) -> DataFrame:
        """All rows as a DataFrame, for a partitioned call."""
        small = [chunk.table for chunk in self.chunks if chunk.rows < PERSISTED_ROWS]
        gathered = pa.concat_tables(small) if small else self.schema.empty_table()
        frame: DataFrame = session.createDataFrame(gathered, schema=self.spec.schema)
        for chunk in self.chunks:
            if chunk.rows >= PERSISTED_ROWS:
                frame = frame.union(chunk.frame(session))
        return frame

    def state(self) -> dict[str, Any]:
        """The tables of its chunks, and when it is compacted next."""
        return {"chunks": [chunk.table for chunk in self.chunks], "compact_at": self._compact_at}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state. The tables stay the same objects: the next checkpoint finds them again."""
        self._keep([Chunk(table, self.spec) for table in state["chunks"]])
        self._compact_at = state["compact_at"]

    def release(self) -> None:
        """Drop all chunks."""
        self._keep([])

    def _merge(self, first: int, last: int, end: int) -> None:
        """Merge neighboring chunks into one, without expired rows. Not all of the rows have expired."""
        table = pa.concat_tables([chunk.table for chunk in self.chunks[first:last]])
        if self.spec.expiry is not None:
            table = table.filter(pc.greater(table.column(self.spec.expiry), end - self.spec.hold))
        self._keep([*self.chunks[:first], Chunk(table.combine_chunks(), self.spec), *self.chunks[last:]])

    def _keep(self, chunks: list[Chunk]) -> None:
        kept = {chunk.number for chunk in chunks}
        for chunk in self.chunks:
            if chunk.number not in kept:
                chunk.release()
        self.chunks = chunks


class OperatorState:
    """The logs of one operator. Only the call that runs the operator uses them."""

    def __init__(self, stateful: Stateful) -> None:
        self.logs = {name: Log(spec) for name, spec in stateful.logs.items()}
        self._slide = stateful.slide
        self.evaluated_to = BEGINNING

    @property
    def rows(self) -> int:
        """Rows in all logs."""
        return sum(log.rows for log in self.logs.values())

    @property
    def bytes(self) -> int:
        """Bytes of all logs."""
        return sum(log.bytes for log in self.logs.values())

    def grow(self, grown: Mapping[str, pa.Table], end: int) -> None:
        """A call has succeeded: append what it added, and drop what is not needed after the instant `end`."""
        self.evaluated_to = end
        for name, table in grown.items():
            self.logs[name].append(table)
        for log in self.logs.values():
            log.forget_expired(end)

    @property
    def next_event(self) -> int:
        """The next instant at which the operator has work even without input; FOREVER if there is none."""
        found = min((log.next_event(self.evaluated_to) for log in self.logs.values()), default=FOREVER)
        # Rows that never expire are not a reason to evaluate every boundary.
        if self._slide is not None and any(log.rows for log in self.logs.values() if log.spec.expiry is not None):
            found = min(found, (self.evaluated_to // self._slide + 1) * self._slide)
        return found

    def state(self) -> dict[str, Any]:
        """How far it has come, and its logs."""
        return {"evaluated_to": self.evaluated_to, "logs": {name: log.state() for name, log in self.logs.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.evaluated_to = state["evaluated_to"]
        for name, log in self.logs.items():
            log.restore(state["logs"][name])

    def release(self) -> None:
        """Drop all logs' chunks."""
        for log in self.logs.values():
            log.release()


class States:
    """The state of all operators of a plan, and how Spark computes them."""

    def __init__(self, session: SparkSession, single: Mapping[str, Stateful], spread: Mapping[str, Stateful]) -> None:
        self._session = session
        self._single: dict[str, Stateful] = {}
        self._spread: list[Mapping[str, Stateful]] = []  # worked out at first use, so they are not copied
        self.names: dict[str, tuple[str, ...]] = {}  # operator -> its logs
        self.joint: set[str] = set()
        self.reads: dict[Edge, pa.Schema] = {}  # the schema needed of an edge, where that may be less than all
        self.copies: dict[str, dict[str, Edge]] = {}  # operator -> log -> edge
        self._states: dict[str, OperatorState] = {}
        self._compactors: dict[LogName, Compactor] = {}  # made at first use
        self.add(single, spread)

    def add(self, single: Mapping[str, Stateful], spread: Mapping[str, Stateful]) -> None:
        """Operators join, with empty logs."""
        for name, stateful in single.items():
            self.names[name] = tuple(stateful.logs)
            if stateful.joint:
                self.joint.add(name)
            for index, schema in stateful.reads.items():
                self.reads[Edge(name, index)] = to_arrow_schema(schema, timezone="UTC")
            self.copies[name] = _copies(name, stateful)
            self._states[name] = OperatorState(stateful)
        self._single |= single
        self._spread.insert(0, spread)

    def stateful(self, single: bool) -> Mapping[str, Stateful]:
        """How operators are computed: in one partition, or in as many as Spark likes."""
        return self._single if single else ChainMap(*self._spread)  # type: ignore[arg-type]  # it only reads

    def logs(self, names: Iterable[LogName]) -> dict[LogName, Log]:
        """The logs of these names."""
        return {name: self._states[name.operator].logs[name.log] for name in names}

    def next_event(self, operator: str) -> int:
        """The next instant at which an operator has work even without input."""
        return self._states[operator].next_event

    def grow(self, bounds: Mapping[str, Bounds], grown: Mapping[LogName, pa.Table]) -> None:
        """A call of some operators has succeeded: grow their logs, and compact those that need it."""
        for name, within in bounds.items():
            added = {key.log: table for key, table in grown.items() if key.operator == name}
            self._states[name].grow(added, within.end)
            for log_name, log in self._states[name].logs.items():
                if log.wants_compaction:
                    self._compact(LogName(name, log_name), log, Instants(*within, 0))

    def forget(self, operators: Iterable[str] | None = None) -> None:
        """Drop the state of operators that have stopped; None: of all operators, as if nothing had run."""
        for name in list(self._states) if operators is None else operators:
            if name in self._states:
                self._states[name].release()
                self._states[name] = OperatorState(self._single[name])

    def state(self) -> dict[str, Any]:
        """The state of each operator: values that JSON can hold, and Arrow tables. No call may be in flight."""
        return {name: state.state() for name, state in self._states.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, with the operators that are there."""
        for name in self._states.keys() & state.keys():
            self._states[name].restore(state[name])

    def sizes(self) -> dict[str, dict[str, int]]:
        """The rows and bytes of each operator's state."""
        return {name: {"rows": state.rows, "bytes": state.bytes} for name, state in self._states.items()}

    def release(self) -> None:
        """Release everything that Spark keeps; called when the run ends."""
        for name, state in self._states.items():
            try:
                state.release()
            except Exception as error:  # if Spark has ended, its cache is gone too
                logger.debug("the state of %s could not be taken out of Spark's cache: %s", name, error)

    def _compact(self, name: LogName, log: Log, instants: Instants) -> None:
        """Make a log smaller. A failure leaves it as it is: the last call has succeeded and must not be repeated."""
        try:
            if log.rows < PERSISTED_ROWS:
                if name not in self._compactors:
                    stateful = self._single[name.operator]
                    self._compactors[name] = Compactor(self._session, stateful, name.log, log.schema)
                smaller = self._compactors[name].run(log.chunks, instants)
            else:
                stateful = self.stateful(False)[name.operator]
                smaller = collect_rows(stateful.compacted(name.log, log.frame(self._session), instants))
        except Exception as error:
            logger.error("the state of %s could not be compacted; this will be tried again: %s", name.operator, error)
            log.postpone_compaction()
            return
        log.replace(smaller)


class Compactor:
    """Makes a log smaller whenever asked, by a query that is planned only once if possible."""

    def __init__(self, session: SparkSession, stateful: Stateful, name: str, schema: pa.Schema) -> None:
        self._session, self._schema = session, schema
        self._compacted = lambda log, bounds: stateful.compacted(name, log, bounds)
        self._frame: DataFrame | None = None
        try:
            self._log, self._bounds = LogLeaf(session, schema), Leaf(session, BOUNDS)
            frame = self._compacted(self._log.frame, self._bounds.frame)
        except LeafError:  # this Spark cannot prepare plans
            return
        if why_not_prepared(frame, (), 1) is None:
            self._frame = frame

    def run(self, chunks: Sequence[Chunk], instants: Instants) -> pa.Table:
        """The compacted rows of a log."""
        if self._frame is None:
            table = pa.concat_tables([self._schema.empty_table(), *[chunk.table for chunk in chunks]])
            frame = self._session.createDataFrame(table, schema=from_arrow_schema(self._schema))
            return collect_rows(self._compacted(frame.coalesce(1), instants))
        self._log.set({chunk.number: chunk.table for chunk in chunks})
        self._bounds.set(bounds_table(instants))
        try:
            return collect_rows(self._frame)
        finally:
            self._log.set({})  # the operator's own prepared plans have their own copy


def collect_rows(frame: DataFrame) -> pa.Table:
    """Run a query and return its rows, with Spark's own schema: it may know more about nulls than the log's does."""
    return collect(frame, to_arrow_schema(frame.schema, timezone="UTC"))


def bounds_table(instants: Instants) -> pa.Table:
    """The bounds of a call, as the one-row table that a prepared plan reads."""
    values = [pa.array([value], pa.int64()) for value in instants]
    return pa.Table.from_arrays(values, schema=BOUNDS)


def _copies(operator: str, stateful: Stateful) -> dict[str, Edge]:
    specs = stateful.logs.items()
    return {log: Edge(operator, spec.copies) for log, spec in specs if spec.copies is not None}


def _expiries(table: pa.Table, spec: LogSpec) -> tuple[int, int]:
    if spec.expiry is None:
        return FOREVER, FOREVER
    found = np.sort(table.column(spec.expiry).drop_null().to_numpy())  # a tuple without a time is never needed
    if not len(found):
        return BEGINNING, BEGINNING
    last, half = (min(int(at), FOREVER - spec.hold) + spec.hold for at in (found[-1], found[len(found) // 2]))
    return last, half


def _sorted_instants(table: pa.Table, columns: Iterable[str]) -> NDArray[np.int64]:
    """The instants in some columns, in order, possibly with repetitions."""
    found = [table.column(name).to_numpy() for name in columns]
    instants: NDArray[np.int64] = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
    return instants[: np.searchsorted(instants, FOREVER)]
