"""Prepared plans: planned once, their leaves changed and the plan run again for every call.

A call of a prepared plan goes one of two ways, with the same answer: *directly*, by a thread of the driver's JVM (see
`direct.server`), or as a Spark job.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.runtime.spark.calls.composer import Composer
from headgate.runtime.spark.calls.job import JobShape, StateInputs, compose
from headgate.runtime.spark.direct.server import Change, DirectServer, append, move, remove, replace
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.internals.guards import PlanFacts, plan_facts
from headgate.runtime.spark.internals.leaf import Leaf, LogLeaf, conform, serialized
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.stateful.base import Instants
from headgate.runtime.spark.stateful.state import BOUNDS, Chunk, LogName, bounds_table

Answer = tuple[pa.Table, dict[Port, int]]  # rows, and the row counts of the marked ports

# For fewer rows than this, generating code for the call alone takes longer than interpreting it. Where the plan's own
# code does all that is done for each row, interpreting is quicker for any number.
INTERPRETED_ROWS = 3000


class NotPreparable(Exception):
    """The query must be planned for each call; the message says why."""


@dataclass(frozen=True)
class LeafData:
    """The data that one call puts into the leaves."""

    inputs: Mapping[Edge, pa.Table]
    logs: Mapping[LogName, Sequence[Chunk]]
    bounds: Mapping[str, Instants]
    rows: int  # in inputs and logs


class PreparedJob:
    """A planned query with leaves for its inputs and for its operators' logs. One call at a time.

    With a `direct` server it is planned for direct calls, where it can be made so; a job of it is then planned apart,
    because a plan that has run directly cannot be sent to executors. `facts`: those of a like query, if it is known.
    """

    def __init__(
        self,
        session: SparkSession,
        plan: Plan,
        shape: JobShape,
        schemas: Mapping[Edge, pa.Schema],
        logs: Mapping[LogName, pa.Schema],
        composer: Composer,
        markers: Markers,
        first: LeafData,
        direct: DirectServer | None = None,
        facts: PlanFacts | None = None,
    ) -> None:
        self._leaves = {edge: Leaf(session, schemas[edge]) for edge in shape.edges}
        self._input_leaves = {name: self._leaves[edge] for name, edge in shape.copies}
        self._logs = {name: LogLeaf(session, logs[name]) for name in shape.logs}
        stateful = [name for name in shape.operators if plan.operators[name].stateful]
        self._bounds = {name: Leaf(session, BOUNDS) for name in stateful}
        frames = {edge: leaf.frame for edge, leaf in self._leaves.items()}
        frame, _ = compose(plan, shape, frames, {name: self._state_inputs(name) for name in stateful}, composer)
        texts = [text for name in shape.operators for text in plan.operators[name].expressions]
        leaves = len(self._leaves) + len(self._logs)
        self._fill(first)
        self.facts = facts or plan_facts(frame, texts, leaves)
        if self.facts.why_not is not None:
            raise NotPreparable(self.facts.why_not)
        self._frame = frame
        self._schema = to_arrow_schema(frame.schema, timezone="UTC")
        self._markers = markers
        self._busy = threading.Lock()
        self._positions = {leaf: number for number, leaf in enumerate(self._all_leaves())}
        self._direct: _Direct | None = None
        if direct is not None and not self.facts.python:
            self._direct = _Direct(direct, frame, self._all_leaves(), markers, self.facts.compiled)
        self._job: tuple[DataFrame, dict[Port, Any]] | None = None  # with its counters; made when it is needed

    @property
    def direct(self) -> bool:
        """Can it be run directly?"""
        return self._direct is not None

    def run(self, data: LeafData, directly: bool) -> Answer:
        """Run the plan over new data, directly if it can be, else as a job."""
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("a prepared plan was called while another call of it was running")
        try:
            if directly and self._direct is not None:
                return self._direct.run(self._changes(data), self._schema, data.rows)
            self._fill(data)
            return self._run_job()
        finally:
            self._busy.release()

    def run_replanned(self) -> Answer:
        """Run the same query on the data of the last run, but plan it again: prepared runs are compared with this."""
        return _run(*_planned(self._frame.select("*"), self._markers), self._schema)

    def release(self) -> None:
        """It will not be run again."""
        if self._direct is not None:
            self._direct.forget()

    def _run_job(self) -> Answer:
        if self._job is None:
            frame = self._frame if self._direct is None else self._frame.select("*")
            self._job = _planned(frame, self._markers)
        return _run(*self._job, self._schema)

    def _all_leaves(self) -> list[Leaf | LogLeaf]:
        """In the order in which changes name them."""
        return [*self._logs.values(), *self._leaves.values(), *self._bounds.values()]

    def _fill(self, data: LeafData) -> None:
        """Put the data of a call into the leaves, through py4j."""
        for name, log_leaf in self._logs.items():  # first: a new chunk may be what a leaf still holds
            log_leaf.set({chunk.number: chunk.table for chunk in data.logs[name]}, self._input_leaves.get(name))
        for edge, leaf in self._leaves.items():
            leaf.set(data.inputs[edge])
        for operator, leaf in self._bounds.items():
            leaf.set(bounds_table(data.bounds[operator]))

    def _changes(self, data: LeafData) -> list[Change]:
        """The same as changes that a direct call makes on its way."""
        found: list[Change] = []
        positions = self._positions
        for name, log_leaf in self._logs.items():
            chunks = {chunk.number: chunk.table for chunk in data.logs[name]}
            gone, fresh = log_leaf.differences(chunks)
            found += [remove(positions[log_leaf], position) for position in gone]
            source = self._input_leaves.get(name)
            for number in fresh:
                if source is not None and chunks[number] is source.current:
                    found.append(move(positions[log_leaf], positions[source]))
                else:
                    found.append(append(positions[log_leaf], serialized(conform(chunks[number], log_leaf.schema))))
        for edge, leaf in self._leaves.items():
            found.append(_replaced(leaf, positions[leaf], data.inputs[edge]))
        for operator, leaf in self._bounds.items():
            found.append(_replaced(leaf, positions[leaf], bounds_table(data.bounds[operator])))
        return found

    def _state_inputs(self, operator: str) -> StateInputs:
        logs = {name.log: leaf.frame for name, leaf in self._logs.items() if name.operator == operator}
        return StateInputs(logs, self._bounds[operator].frame)


class _Direct:
    """A plan as the direct server knows it."""

    def __init__(
        self,
        server: DirectServer,
        frame: DataFrame,
        leaves: Sequence[Leaf | LogLeaf],
        markers: Markers,
        is_compiled: bool,
    ) -> None:
        self._server = server
        self._compiled = is_compiled
        _, counters = _planned(frame, markers)
        self._ports = list(counters)
        arrays = [
            (leaf.batches, leaf.partition) if isinstance(leaf, LogLeaf) else (leaf.array, None) for leaf in leaves
        ]
        self._number = server.register(frame, arrays, list(counters.values()))

    def run(self, changes: Sequence[Change], schema: pa.Schema, rows_in: int) -> Answer:
        interpreted = self._compiled or rows_in < INTERPRETED_ROWS
        rows, counts = self._server.call(self._number, changes, schema, interpreted)
        return rows, dict(zip(self._ports, counts, strict=True))

    def forget(self) -> None:
        self._server.forget(self._number)


def _replaced(leaf: Leaf, position: int, table: pa.Table) -> Change:
    leaf.current = table
    return replace(position, serialized(conform(table, leaf.schema)))


def _planned(frame: DataFrame, markers: Markers) -> tuple[DataFrame, dict[Port, Any]]:
    return frame, markers.counters(frame._jdf.queryExecution().executedPlan())


def _run(frame: DataFrame, counters: Mapping[Port, Any], schema: pa.Schema) -> Answer:
    rows = collect(frame, schema)
    return rows, {port: counter.value() for port, counter in counters.items()}
