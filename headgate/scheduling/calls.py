"""Unit calls as data: what a runtime is asked to run, what one run gave, and what came of it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.scheduling.progress import Bounds
from headgate.scheduling.units import Unit
from headgate.sql.schema import ARRIVAL


@dataclass(frozen=True, slots=True)
class Call:
    """A unit call that a slot is to make. Its input has left the queues; it never changes."""

    slot: int
    unit: Unit
    plan: Plan  # as of the start of the call: it says which outputs are wanted
    inputs: Mapping[Edge, pa.Table]
    bounds: Mapping[str, Bounds]  # the instants that its operators with state evaluate
    now_us: int  # the arrival stamp of results that no tuple of their own caused
    suspect: bool = False  # calls with these rows have failed before

    @property
    def rows(self) -> int:
        """Tuples that it took from the queues."""
        return row_count(self.inputs)


@dataclass(frozen=True)
class CallResult:
    """What one run of some operators gave: a table for each output, and the rows each operator took and gave."""

    outputs: Mapping[Port, pa.Table]
    rows_in: Mapping[str, int]  # by operator
    rows_by_input: Mapping[Edge, int]  # `rows_in` by input of an operator
    rows_out: Mapping[Port, int]  # where known
    seconds: float
    way: str  # how it was run, as the runtime names it
    steady: bool = True  # its time is typical: not that of a first call, which plans and compares
    # Operator with state -> the next instant at which it has work to do, even without input.
    next_instants: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Outcome:
    """All that came of a call: one result if it succeeded, else those of the parts that could be saved."""

    results: list[CallResult] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)  # query that must stop -> why
    unused: dict[Edge, pa.Table] = field(default_factory=dict)  # input that returns to the head of its queue
    stranded: dict[Edge, pa.Table] = field(default_factory=dict)  # results made for an operator that failed

    @property
    def next_instants(self) -> dict[str, int]:
        """The operators with state that ran, and the next instant at which each has work to do."""
        return {name: instant for result in self.results for name, instant in result.next_instants.items()}

    @property
    def rows_out(self) -> dict[str, int]:
        """The rows that each operator gave, where known."""
        return {port.node: rows for result in self.results for port, rows in result.rows_out.items()}

    def handed_on(self, plan: Plan) -> Iterator[tuple[Edge, pa.Table]]:
        """The tables that other units are to read, each with the queue it belongs in."""
        for result in self.results:
            for port, table in result.outputs.items():
                for edge in plan.consumers[port] if table.num_rows else ():
                    if edge.operator not in result.rows_in:
                        yield edge, table
        yield from self.stranded.items()


def row_count(tables: Mapping[Edge, pa.Table]) -> int:
    """Rows in all of these tables."""
    return sum(table.num_rows for table in tables.values())


def newest_arrival_us(inputs: Mapping[Edge, pa.Table], now: float) -> int:
    """The latest arrival stamp in a call's input, in microseconds; without input, now."""
    return max((pc.max(table.column(ARRIVAL)).as_py() for table in inputs.values()), default=round(now * 1e6))
