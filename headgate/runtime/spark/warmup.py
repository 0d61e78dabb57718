"""Before the clock starts: plan every unit and let it pass its comparison on a sample of its input.

Otherwise the first seconds of a run would go to Spark's planner and to the JVM's compiler, and every latency with them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources import Source
from headgate.flow.entrance import Entrance
from headgate.flow.progress import BEGINNING, Bounds
from headgate.flow.units import Unit
from headgate.plan.errors import ApplicationError
from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Function
from headgate.plan.operators.base import Port
from headgate.plan.schema import TIME
from headgate.runtime.spark.calls import CHECKS, Caller

log = logging.getLogger("headgate.spark")

SAMPLE_ROWS = 600


def sample(plan: Plan, sources: Mapping[str, Source]) -> dict[str, pa.Table]:
    """The first rows of the sources of streams, which nobody else reads, if they have some.

    They should be quiet ones: the run will read, log and count malformed rows. ApplicationError: a file makes no sense.
    """
    found = {name: _sample(source, Entrance(plan.streams[name])) for name, source in sources.items()}
    return {name: table for name, table in found.items() if table is not None}


def _sample(source: Source, entrance: Entrance) -> pa.Table | None:
    """None when it has no rows, or fails: the run will find that."""
    with closing(source):
        try:
            rows = _first_rows(source)
        except ApplicationError:
            raise
        except Exception as error:
            log.debug("a source failed in the rehearsal: %s", error)
            return None
    return entrance.admit(pa.concat_tables(rows).slice(0, SAMPLE_ROWS)).table if rows else None


def _first_rows(source: Source) -> list[pa.Table]:
    rows: list[pa.Table] = []
    due = source.next_arrival()
    while due is not None and sum(t.num_rows for t in rows) < SAMPLE_ROWS and not source.exhausted:
        table = source.poll(due, SAMPLE_ROWS)
        if table is not None:
            rows.append(table)
        due = source.next_arrival()
    return rows


def warm_up(
    caller: Caller, plan: Plan, units: Sequence[Unit], samples: Mapping[str, pa.Table], threads: int = 2
) -> None:
    """Run each unit a few times on sampled tuples; the results are thrown away, a failure is left to the real run.

    Units whose input is known are rehearsed side by side: planning is slow, and one thread of the driver's.
    """
    waiting: dict[Edge, pa.Table] = {
        edge: table for stream, table in samples.items() for edge in plan.consumers[Port(stream)]
    }
    left = list(units)
    while left:
        ready = _apart([unit for unit in left if not _waits(plan, unit, left)] or left[:1])
        with ThreadPoolExecutor(threads, thread_name_prefix="headgate-rehearsal") as pool:
            results = list(pool.map(lambda unit: _rehearse(caller, plan, unit, dict(waiting)), ready))
        for unit, outputs in zip(ready, results, strict=True):
            for port, table in outputs.items():
                waiting.update({edge: table for edge in plan.consumers[port] if edge.operator not in unit.operators})
        left = [unit for unit in left if unit not in ready]
    caller.forget_calls()
    caller.states.forget()


def _apart(units: Sequence[Unit]) -> list[Unit]:
    """Those of the units, first come first served, that share no operator, and so no state."""
    found: list[Unit] = []
    for unit in units:
        if all(set(unit.operators).isdisjoint(other.operators) for other in found):
            found.append(unit)
    return found


def _waits(plan: Plan, unit: Unit, left: Sequence[Unit]) -> bool:
    """Does it read what another unit gives out that is still to be rehearsed?"""
    sources = {plan.operators[edge.operator].inputs[edge.input].node for edge in unit.edges} - set(unit.operators)
    return any(other is not unit and not sources.isdisjoint(other.operators) for other in left)


def _rehearse(caller: Caller, plan: Plan, unit: Unit, waiting: Mapping[Edge, pa.Table]) -> Mapping[Port, pa.Table]:
    """What a unit gives for its part of the sample; nothing when it has none, or fails.

    Units with a user function are passed over: a function may have effects that a rehearsal must not have.
    """
    inputs = {edge: waiting[edge] for edge in unit.edges if edge in waiting and not _inside(plan, unit, edge)}
    if not inputs or any(isinstance(plan.operators[name], Function) for name in unit.operators):
        return {}
    outputs: Mapping[Port, pa.Table] = {}
    try:
        for turn in range(CHECKS + 1):
            part = {edge: _part(table, turn) for edge, table in inputs.items()}
            outputs = caller.run(unit.operators, part, bounds=_bounds(plan, unit, part.values())).outputs
    except Exception as error:
        log.debug("the rehearsal of %s failed: %s", unit.id, error)
        return {}
    return outputs


def _bounds(plan: Plan, unit: Unit, tables: Iterable[pa.Table]) -> dict[str, Bounds]:
    """All instants of the sample, so that everything an operator with state does is rehearsed."""
    last = max((time for t in tables if (time := pc.max(t.column(TIME)).as_py()) is not None), default=BEGINNING)
    return {name: Bounds(BEGINNING, last) for name in unit.operators if plan.operators[name].stateful}


def _inside(plan: Plan, unit: Unit, edge: Edge) -> bool:
    return plan.operators[edge.operator].inputs[edge.input].node in unit.operators


def _part(table: pa.Table, turn: int) -> pa.Table:
    """Another part of the sample at each turn, so that comparisons are made on different batches."""
    size = max(1, table.num_rows // (CHECKS + 1))
    return table.slice(turn * size, size)
