"""The prepared way to run a call: plan once, swap the leaves' bytes, run again."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.runtime.spark.calls.composer import Composer
from headgate.runtime.spark.calls.job import JobShape, StateInputs, compose
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.internals.guards import why_not_prepared
from headgate.runtime.spark.internals.leaf import Leaf, LogLeaf
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.stateful.base import Instants
from headgate.runtime.spark.stateful.state import BOUNDS, Chunk, LogName, bounds_table


class NotPreparable(Exception):
    """The query must be planned for each call; the message says why."""


@dataclass(frozen=True)
class LeafData:
    """The data that one call puts into the leaves."""

    inputs: Mapping[Edge, pa.Table]
    logs: Mapping[LogName, Sequence[Chunk]]
    bounds: Mapping[str, Instants]


class PreparedJob:
    """A planned query with leaves for its inputs and for its operators' logs. One call at a time.

    It is planned with the data of its first call in the leaves, so that call is run like any other query.
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
    ) -> None:
        self._leaves = {edge: Leaf(session, schemas[edge]) for edge in shape.edges}
        self._input_leaves = {name: self._leaves[edge] for name, edge in shape.copies}
        self._logs = {name: LogLeaf(session, logs[name]) for name in shape.logs}
        stateful = [name for name in shape.operators if plan.operators[name].stateful]
        self._bounds = {name: Leaf(session, BOUNDS) for name in stateful}
        frames = {edge: leaf.frame for edge, leaf in self._leaves.items()}
        frame = compose(plan, shape, frames, {name: self._state_inputs(name) for name in stateful}, composer)
        texts = [text for name in shape.operators for text in plan.operators[name].expressions]
        leaves = len(self._leaves) + len(self._logs)
        self._fill(first)
        if reason := why_not_prepared(frame, texts, leaves):
            raise NotPreparable(reason)
        self._frame = frame
        self._schema = to_arrow_schema(frame.schema, timezone="UTC")
        self._markers = markers
        self._counters = markers.counters(frame._jdf.queryExecution().executedPlan())
        self._busy = threading.Lock()

    def run(self, data: LeafData) -> tuple[pa.Table, dict[Port, int]]:
        """Run one job over new data: its rows, and the row counts of the marked ports."""
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("a prepared plan was called while another call of it was running")
        try:
            self._fill(data)
            rows = collect(self._frame, self._schema)
            return rows, {port: counter.value() for port, counter in self._counters.items()}
        finally:
            self._busy.release()

    def _fill(self, data: LeafData) -> None:
        for name, log_leaf in self._logs.items():  # first: a new chunk may be what a leaf still holds
            log_leaf.set({chunk.number: chunk.table for chunk in data.logs[name]}, self._input_leaves.get(name))
        for edge, leaf in self._leaves.items():
            leaf.set(data.inputs[edge])
        for operator, leaf in self._bounds.items():
            leaf.set(bounds_table(data.bounds[operator]))

    def run_replanned(self) -> tuple[pa.Table, dict[Port, int]]:
        """Run the same query on the data of the last run, but plan it again: prepared runs are compared with this."""
        replanned = self._frame.select("*")
        rows = collect(replanned, self._schema)
        counters = self._markers.counters(replanned._jdf.queryExecution().executedPlan())
        return rows, {port: counter.value() for port, counter in counters.items()}

    def _state_inputs(self, operator: str) -> StateInputs:
        logs = {name.log: leaf.frame for name, leaf in self._logs.items() if name.operator == operator}
        return StateInputs(logs, self._bounds[operator].frame)
