"""Before the clock starts: plan every unit and let it pass its comparison on a sample of its input.

Otherwise the first seconds of a run would go to Spark's planner and to the JVM's compiler, and every latency with them.
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from headgate.application.checked import CheckedApplication
from headgate.connect.sources import Source
from headgate.errors import ApplicationError
from headgate.plan.boundaries import boundary_steps
from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Function
from headgate.plan.operators.base import Port
from headgate.runtime.spark.calls.caller import CHECKS, Caller
from headgate.scheduling.boundary_budget import BoundaryBudget
from headgate.scheduling.entrance import Entrance
from headgate.scheduling.progress import BEGINNING, Bounds
from headgate.scheduling.units import Unit
from headgate.sql.schema import TIME

log = logging.getLogger("headgate.spark")

SAMPLE_ROWS = 600
REHEARSAL_S = 5.0  # what the first seconds need most comes first; the rest is planned by its first calls
THREADS = 2


def rehearses(app: CheckedApplication) -> bool:
    """Does a run begin with a rehearsal? Unless the application says: when tuples arrive in the course of time. Files
    that are read as fast as they can be have no latency worth it."""
    if app.rehearse is not None:
        return app.rehearse
    return any(
        stream.source.get("kind") == "feeder" or stream.source.get("replay", "fast") != "fast"
        for stream in app.plan.streams.values()
    )


def rehearsal_s(app: CheckedApplication) -> float | None:
    """How long it may take: as long as it takes where it is asked for."""
    return None if app.rehearse else REHEARSAL_S


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
    caller: Caller,
    plan: Plan,
    units: Sequence[Unit],
    samples: Mapping[str, pa.Table],
    seconds: float | None = None,
    tell: Callable[[str], None] = lambda doing: None,
) -> None:
    """Run each unit on parts of the sampled tuples; the results are thrown away, a failure is left to the real run.

    First every unit once, which plans it, the most important ones first; then all again, which compares. After
    `seconds` only the most important class is planned to its end: others are planned by their first calls. Units whose
    input is known are rehearsed side by side: planning is slow, and one thread of the driver's.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    ranks = {unit.id: _rank(plan, unit) for unit in units}
    highest = max(ranks.values(), default=0)
    calls = itertools.count(1)

    def call(unit: Unit, turn: int, waiting: Mapping[Edge, pa.Table]) -> Mapping[Port, pa.Table]:
        if time.monotonic() > until and (turn or ranks[unit.id] < highest):
            return {}
        tell(f"rehearsing: call {next(calls)} of {CHECKS * len(units)}, {unit.id}")
        return _rehearse(caller, plan, unit, waiting)

    with ThreadPoolExecutor(THREADS, thread_name_prefix="headgate-rehearsal") as pool:
        for turn in range(CHECKS):
            waiting = {e: _part(rows, turn) for stream, rows in samples.items() for e in plan.consumers[Port(stream)]}
            left = sorted(units, key=lambda unit: -ranks[unit.id])
            while left:
                ready = _disjoint([unit for unit in left if not _reads_unrehearsed(plan, unit, left)] or left[:1])
                results = list(pool.map(call, ready, repeat(turn), repeat(dict(waiting))))
                for unit, outputs in zip(ready, results, strict=True):
                    inside = set(unit.operators)
                    waiting |= {
                        edge: table
                        for port, table in outputs.items()
                        for edge in plan.consumers[port]
                        if edge.operator not in inside
                    }
                left = [unit for unit in left if unit not in ready]
    caller.forget_calls()
    caller.states.forget()


def _rank(plan: Plan, unit: Unit) -> int:
    """The priority of the most important query that it works for."""
    return max((plan.priorities[plan.queries[name].class_name] for name in unit.queries), default=0)


def _disjoint(units: Sequence[Unit]) -> list[Unit]:
    """Those of the units, first come first served, that share no operator, and so no state."""
    found: list[Unit] = []
    for unit in units:
        if all(set(unit.operators).isdisjoint(other.operators) for other in found):
            found.append(unit)
    return found


def _reads_unrehearsed(plan: Plan, unit: Unit, left: Sequence[Unit]) -> bool:
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
    try:
        return caller.run(unit.operators, inputs, bounds=_bounds(plan, unit, inputs.values())).outputs
    except Exception as error:
        log.debug("the rehearsal of %s failed: %s", unit.id, error)
        return {}


def _bounds(plan: Plan, unit: Unit, tables: Iterable[pa.Table]) -> dict[str, Bounds]:
    """All instants of the sample, so that everything an operator with state does is rehearsed; not years of them."""
    ends = [pc.min_max(table.column(TIME)).as_py() for table in tables]
    first = min((end["min"] for end in ends if end["min"] is not None), default=BEGINNING)
    last = max((end["max"] for end in ends if end["max"] is not None), default=BEGINNING)
    budget = BoundaryBudget(boundary_steps(plan))
    return {
        name: Bounds(BEGINNING, budget.end(name, first, last))
        for name in unit.operators
        if plan.operators[name].stateful
    }


def _inside(plan: Plan, unit: Unit, edge: Edge) -> bool:
    return plan.operators[edge.operator].inputs[edge.input].node in unit.operators


def _part(table: pa.Table, turn: int) -> pa.Table:
    """Another part of the sample at each turn, so that comparisons are made on different batches."""
    size = max(1, table.num_rows // CHECKS)
    return table.slice(turn * size, size)
