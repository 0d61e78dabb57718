"""Calls as data: what the runtime must run (`Call`), the result of one run, and the outcome of the whole call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.scheduling.progress import Bounds
from headgate.scheduling.reference import Reference, Rows
from headgate.scheduling.units import Unit
from headgate.sql.schema import ARRIVAL


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a unit that a slot must run. Its input has already left the queues."""

    slot: int
    unit: Unit
    operators: tuple[str, ...]  # those of the unit, or the one at which tuples wait inside it
    plan: Plan  # as of the start of the call; determines which outputs are needed
    inputs: Mapping[Edge, Rows]
    bounds: Mapping[str, Bounds]  # the instants that each operator with state evaluates
    now_us: int  # the arrival stamp of results that no single tuple caused; of interest to operators with state
    suspect: bool = False  # a call with these rows has failed before

    @property
    def rows(self) -> int:
        """How many tuples it took from the queues."""
        return row_count(self.inputs)


@dataclass(frozen=True)
class CallResult:
    """The result of one run of some operators: a table for each output, and row counts for statistics."""

    outputs: Mapping[Port, pa.Table]
    rows_in: Mapping[str, int]  # by operator
    rows_by_input: Mapping[Edge, int]  # `rows_in` by input of an operator
    rows_out: Mapping[Port, int]  # where known
    seconds: float
    way: str  # how it was run, in the runtime's words, such as "prepared"
    steady: bool = True  # its time is typical; False for first calls, which also plan and compare
    # Operator with state -> the next instant at which it has work to do, even without input.
    next_instants: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Outcome:
    """The outcome of a call: one result if it succeeded, otherwise the results of the parts that could be saved."""

    results: list[CallResult] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)  # query that must end -> why
    unused: dict[Edge, Rows] = field(default_factory=dict)  # input that returns to the head of its queue
    stranded: dict[Edge, pa.Table] = field(default_factory=dict)  # intermediate results whose reader failed: queue them

    @property
    def is_typical(self) -> bool:
        """Did everything run, in the time that it usually takes?"""
        return not self.failed and not self.unused and all(result.steady for result in self.results)

    @property
    def next_instants(self) -> dict[str, int]:
        """For each operator with state that ran, the next instant at which it has work to do."""
        return {name: instant for result in self.results for name, instant in result.next_instants.items()}

    @property
    def rows_out(self) -> dict[str, int]:
        """Rows out of each operator, where known."""
        return {port.node: rows for result in self.results for port, rows in result.rows_out.items()}

    def handed_on(self, plan: Plan) -> Iterator[tuple[Edge, pa.Table]]:
        """The tables that other units read, each with the queue that it belongs in.

        What operators give that have left the plan during the call, nobody reads.
        """
        for result in self.results:
            for port, table in result.outputs.items():
                for edge in plan.consumers.get(port, ()) if table.num_rows else ():
                    if edge.operator not in result.rows_in:
                        yield edge, table
        yield from self.stranded.items()


def row_count(tables: Mapping[Edge, Rows]) -> int:
    """Rows in all of these tables."""
    return sum(table.num_rows for table in tables.values())


def newest_arrival_us(inputs: Mapping[Edge, Rows], now: float) -> int:
    """The latest arrival stamp in a call's input, in microseconds; without input, now."""
    return max((_newest(rows) for rows in inputs.values()), default=round(now * 1e6))


def _newest(rows: Rows) -> int:
    return rows.arrival_us if isinstance(rows, Reference) else pc.max(rows.column(ARRIVAL)).as_py()


def latencies(table: pa.Table, now: float) -> Any:
    """Seconds from each row's arrival to now."""
    return now - table.column(ARRIVAL).to_numpy() / 1e6
