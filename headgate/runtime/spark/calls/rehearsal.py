"""The rehearsal: before the clock starts, plan and check the prepared plan of every unit on a sample of its input.

Without it, Spark's planner and the JVM's compiler would take up the first seconds of a run and spoil its latencies.
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from headgate.application.checked import CheckedApplication
from headgate.connect.sources import Source, source_of
from headgate.errors import ApplicationError
from headgate.plan.boundaries import boundary_steps
from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Function
from headgate.plan.operators.base import Port
from headgate.runtime.spark.calls.caller import CHECKS, Caller
from headgate.scheduling.boundary_budget import BoundaryBudget
from headgate.scheduling.progress import BEGINNING, Bounds
from headgate.scheduling.shedder import as_read
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.scheduling.units import Unit
from headgate.sql.schema import TIME

log = logging.getLogger("headgate.spark")

SAMPLE_ROWS = 600
REHEARSAL_S = 5.0  # the most important units come first; units left over are planned by their first calls
THREADS = 2


def rehearses(app: CheckedApplication) -> bool:
    """Does a run begin with a rehearsal?

    As the application says; by default, if tuples arrive over time. Files that are read as fast as possible have no
    latencies worth a rehearsal.
    """
    if app.rehearse is not None:
        return app.rehearse
    return any(source_of(stream).in_time for stream in app.plan.streams.values())


def rehearsal_s(app: CheckedApplication) -> float | None:
    """How long the rehearsal may take; None, no limit, if the application asks for one."""
    return None if app.rehearse else REHEARSAL_S


def sample(plan: Plan, sources: Mapping[str, Source]) -> dict[str, pa.Table]:
    """The first rows of each source that has any. The sources are read for this alone and then closed.

    Pass quiet sources: the run itself will log and count malformed rows. ApplicationError: a file cannot be understood.
    """
    found = {name: _sample(source, StreamEntrance(plan.streams[name])) for name, source in sources.items()}
    return {name: table for name, table in found.items() if table is not None}


def _sample(source: Source, entrance: StreamEntrance) -> pa.Table | None:
    """None if the source has no rows or fails; a failure is left for the run to find."""
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
    announce: Callable[[str], None] = lambda doing: None,
) -> None:
    """Run each unit on parts of the sample. Results are thrown away, and failures are left for the run to find.

    A unit's first call plans it, and the others compare; the most important units come first. After `seconds`, only the
    units of the most important class are still planned; others are planned by their first calls. Units whose input is
    known are rehearsed in parallel, since planning is slow and takes one thread of the driver.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    ranks = {unit.id: _rank(plan, unit) for unit in units}
    highest = max(ranks.values(), default=0)
    calls = itertools.count(1)
    waiting = [
        {
            edge: as_read(plan, edge, _part(rows, turn))
            for stream, rows in samples.items()
            for edge in plan.entrances(stream)
        }
        for turn in range(CHECKS)
    ]

    def call(unit: Unit, turn: int) -> Mapping[Port, pa.Table]:
        if time.monotonic() > until and (turn or ranks[unit.id] < highest):
            return {}
        announce(f"rehearsing: call {next(calls)} of {CHECKS * len(units)}, {unit.id}")
        return _rehearse(caller, plan, unit, waiting[turn])

    def rehearse(unit: Unit) -> list[Mapping[Port, pa.Table]]:
        return [call(unit, turn) for turn in range(CHECKS)]

    with ThreadPoolExecutor(THREADS, thread_name_prefix="headgate-rehearsal") as pool:
        left = sorted(units, key=lambda unit: -ranks[unit.id])
        while left:
            ready = _disjoint([unit for unit in left if not _reads_unrehearsed(plan, unit, left)] or left[:1])
            for unit, results in zip(ready, list(pool.map(rehearse, ready)), strict=True):
                inside = set(unit.operators)
                for inputs, outputs in zip(waiting, results, strict=True):
                    inputs |= {
                        edge: table
                        for port, table in outputs.items()
                        for edge in plan.consumers[port]
                        if edge.operator not in inside
                    }
            left = [unit for unit in left if unit not in ready]
    caller.forget_calls()
    caller.states.forget()


def _rank(plan: Plan, unit: Unit) -> int:
    """The priority of the unit's most important query."""
    return max((plan.priorities[plan.queries[name].class_name] for name in unit.queries), default=0)


def _disjoint(units: Sequence[Unit]) -> list[Unit]:
    """As many of the units, in order, as share no operator and so no state."""
    found: list[Unit] = []
    for unit in units:
        if all(set(unit.operators).isdisjoint(other.operators) for other in found):
            found.append(unit)
    return found


def _reads_unrehearsed(plan: Plan, unit: Unit, left: Sequence[Unit]) -> bool:
    """Does the unit read the output of another one that has not been rehearsed yet?"""
    sources = {plan.operators[edge.operator].inputs[edge.input].node for edge in unit.edges} - set(unit.operators)
    return any(other is not unit and not sources.isdisjoint(other.operators) for other in left)


def _rehearse(caller: Caller, plan: Plan, unit: Unit, waiting: Mapping[Edge, pa.Table]) -> Mapping[Port, pa.Table]:
    """A unit's outputs for its part of the sample; none if it has no input or fails.

    Units with a user function are skipped: a function may have side effects, which a rehearsal must not cause.
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
    """Bounds that cover the sample, so that all the work of operators with state is rehearsed, but within the budget
    of boundaries: a sample may span years."""
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
    """A different part of the sample for each call, so that plans are compared on different batches."""
    size = max(1, table.num_rows // CHECKS)
    return table.slice(turn * size, size)
