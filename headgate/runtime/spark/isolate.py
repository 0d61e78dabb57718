"""After a failed call: which operator failed, and what can still be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from headgate.flow.progress import Bounds
from headgate.flow.queue import BatchQueue
from headgate.plan.model import Edge, Plan
from headgate.runtime.spark.calls import Caller
from headgate.runtime.spark.job import JobResult

Move = tuple[Edge, Callable[[BatchQueue, pa.Table], None], pa.Table]  # which queue, how, and what


@dataclass
class Outcome:
    """What a slot has to publish after a call."""

    results: list[JobResult] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)  # operator -> its error
    unused: dict[Edge, pa.Table] = field(default_factory=dict)  # input that goes back to its queue
    stranded: dict[Edge, pa.Table] = field(default_factory=dict)  # made for an operator that failed

    def moves(self, plan: Plan) -> list[Move]:
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


def run_apart(
    caller: Caller,
    plan: Plan,
    operators: Iterable[str],
    inputs: Mapping[Edge, pa.Table],
    bounds: Mapping[str, Bounds],
    now_us: int,
) -> Outcome:
    """Run each operator of a failed call as a job of its own: a passing fault is thereby tried once more, a lasting
    one is found. Called by a slot, without the lock.
    """
    members = [name for name in plan.operators if name in set(operators)]
    inside: dict[Edge, pa.Table] = {}
    outcome = Outcome()
    for name in members:
        queued = {edge: table for edge, table in inputs.items() if edge.operator == name}
        made = {edge: table for edge, table in inside.items() if edge.operator == name}
        if not queued and not made and name not in bounds:
            continue
        try:
            result = caller.run((name,), _merged(queued, made), plan, bounds, now_us)
        except Exception as error:
            outcome.failed[name] = error
            outcome.unused.update(queued)
            outcome.stranded.update(made)
            continue
        for port, table in result.outputs.items():
            inside.update({edge: table for edge in plan.consumers[port] if edge.operator in members})
        # Named as taken, the unit's operators get nothing through their queues.
        taken = dict.fromkeys(members, 0) | dict(result.taken)
        outcome.results.append(replace(result, taken=taken, steady=False))
    return outcome


def _merged(queued: Mapping[Edge, pa.Table], made: Mapping[Edge, pa.Table]) -> dict[Edge, pa.Table]:
    both = {edge: [t[edge] for t in (queued, made) if edge in t] for edge in {**queued, **made}}
    return {edge: tables[0] if len(tables) == 1 else pa.concat_tables(tables) for edge, tables in both.items()}
