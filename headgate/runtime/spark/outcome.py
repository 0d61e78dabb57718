"""What came of a call: its results, what it left, and where both go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from headgate.plan.model import Edge, Plan
from headgate.runtime.spark.calls.job import JobResult
from headgate.runtime.spark.failures.bad_rows import BadRow
from headgate.scheduling.queue import BatchQueue, SpillError

Move = tuple[Edge, Callable[[BatchQueue, pa.Table], None], pa.Table]  # which queue, how, and what


@dataclass
class Outcome:
    """What a slot has to publish after a call."""

    results: list[JobResult] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)  # query that must stop -> why
    bad: list[BadRow] = field(default_factory=list)  # rows that queries go on without
    unused: dict[Edge, pa.Table] = field(default_factory=dict)  # input that goes back to its queue
    stranded: dict[Edge, pa.Table] = field(default_factory=dict)  # made for an operator that failed

    @property
    def events(self) -> dict[str, int]:
        """The operators with state that ran, and when each has something to do next."""
        return {name: event for result in self.results for name, event in result.events.items()}

    @property
    def given(self) -> dict[str, int]:
        """The rows that each operator gave, where known."""
        return {port.node: rows for result in self.results for port, rows in result.given.items()}

    def hand_on(self, plan: Plan, queues: Mapping[Edge, BatchQueue], fed: Callable[[Edge], None]) -> SpillError | None:
        """Put what a call gave, and what it left, into the queues that are still there; the last error, if any.

        A queue has what it was given even when the disk fails, so the rest is queued all the same.
        """
        failed: SpillError | None = None
        for edge, move, table in self._moves(plan):
            if edge not in queues:  # its queries stopped during the call
                continue
            try:
                move(queues[edge], table)
            except SpillError as error:
                failed = error
            fed(edge)
        return failed

    def _moves(self, plan: Plan) -> list[Move]:
        """What goes into queues: what was made for other units, what was not used, and what is stranded."""
        made: list[Move] = [
            (edge, BatchQueue.put, table)
            for result in self.results
            for port, table in result.outputs.items()
            for edge in plan.consumers[port]
            if edge.operator not in result.taken and table.num_rows
        ]
        made += [(edge, BatchQueue.put_back, table) for edge, table in self.unused.items()]
        return made + [(edge, BatchQueue.put, table) for edge, table in self.stranded.items()]
