"""What one call reads, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from headgate.plan.model import Edge, Plan, Stream
from headgate.plan.operators.base import Port
from headgate.plan.table_bytes import table_bytes
from headgate.runtime.spark.calls.job import JobShape
from headgate.runtime.spark.calls.prepared import LeafData
from headgate.runtime.spark.stateful.base import Instants
from headgate.runtime.spark.stateful.state import Chunk, Log, LogName
from headgate.scheduling.calls import CallResult
from headgate.scheduling.progress import Bounds
from headgate.scheduling.reference import Reference, Rows


@dataclass(frozen=True)
class KnownShape:
    """What is the same in all calls of some operators, as long as the plan is."""

    shape: JobShape
    schemas: Mapping[Edge, pa.Schema]  # of what is read
    row_bytes: Mapping[Edge, float | None]  # see `plan.table_bytes`
    stateful: tuple[str, ...]


@dataclass(frozen=True)
class CallData:
    """What one call reads: its input, the logs, the instants to evaluate."""

    known: KnownShape
    inputs: Mapping[Edge, Rows]
    logs: Mapping[LogName, Log]
    bounds: Mapping[str, Bounds]
    now_us: int
    streams: Mapping[str, Stream]  # what references may refer to

    @property
    def shape(self) -> JobShape:
        return self.known.shape

    @cached_property
    def rows(self) -> int:
        kept = sum(chunk.rows for chunks in self.chunks.values() for chunk in chunks)
        return sum(table.num_rows for table in self.inputs.values()) + kept

    @property
    def bytes(self) -> int:
        kept = sum(chunk.bytes for chunks in self.chunks.values() for chunk in chunks)
        sizes = self.known.row_bytes
        return kept + sum(table_bytes(table, sizes[edge]) for edge, table in self.tables.items())

    @cached_property
    def referred(self) -> bool:
        """Is any of its input with the executors?"""
        return any(isinstance(rows, Reference) for rows in self.inputs.values())

    @cached_property
    def tables(self) -> Mapping[Edge, pa.Table]:
        """Its input, if all of it is in the driver."""
        return {edge: rows for edge, rows in self.inputs.items() if not isinstance(rows, Reference)}

    @cached_property
    def chunks(self) -> dict[LogName, list[Chunk]]:
        """The chunks of each log that the call needs."""
        return {name: log.chunks_for(self.bounds[name.operator]) for name, log in self.logs.items()}

    @property
    def data(self) -> LeafData:
        return LeafData(self.tables, self.chunks, self.instants, self.rows)

    @cached_property
    def instants(self) -> dict[str, Instants]:
        """The instants that each operator with state evaluates."""
        return {name: Instants(*within, self.now_us) for name, within in self.bounds.items()}


def call_result(
    plan: Plan,
    call: CallData,
    outputs: Mapping[Port, pa.Table],
    given: Mapping[Port, int],
    events: Mapping[str, int],
    seconds: float,
    way: str,
    steady: bool,
) -> CallResult:
    """The result of a call: its outputs, and the row counts that can be derived from those of the marked ports."""
    known = dict(given) | {port: rows.num_rows for port, rows in outputs.items()}
    taken: dict[str, int] = {}
    taken_by: dict[Edge, int] = {}
    for name in call.shape.operators:
        operator = plan.operators[name]
        for index, source in enumerate(operator.inputs):
            edge = Edge(name, index)
            queued = call.inputs[edge].num_rows if edge in call.inputs else 0
            taken_by[edge] = queued + (known.get(source, 0) if source.node in call.shape.operators else 0)
        taken[name] = sum(taken_by[Edge(name, index)] for index in range(len(operator.inputs)))
        for port in operator.ports:
            if port not in known and (operator.passes_all or not (taken[name] or operator.stateful)):
                known[port] = taken[name]
    return CallResult(outputs, taken, taken_by, known, seconds, way, steady, events)
