"""Runs calls of units: directly or as a prepared job where that is safe and worthwhile, else over partitions.

All ways give the same answer.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.plan.arrow_values import python_rows
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.plan.table_bytes import row_bytes, table_bytes
from headgate.runtime.spark.analysis.schemas import PlanSchemas
from headgate.runtime.spark.call_sizes import CallSizes
from headgate.runtime.spark.calls.changing_tables import ChangingTables
from headgate.runtime.spark.calls.composer import Composer, Tables
from headgate.runtime.spark.calls.job import JobShape, separate, shape_of
from headgate.runtime.spark.calls.likeness import likeness
from headgate.runtime.spark.calls.partitioned import partitions_for, run_partitioned
from headgate.runtime.spark.calls.prepared import LeafData, NotPreparable, PreparedJob
from headgate.runtime.spark.calls.spread_tables import SpreadTables
from headgate.runtime.spark.calls.ways import WAYS, RowCosts, Ways
from headgate.runtime.spark.direct.server import DirectServer
from headgate.runtime.spark.internals.guards import PlanFacts
from headgate.runtime.spark.internals.leaf import LeafError, conform
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.stateful.base import Instants
from headgate.runtime.spark.stateful.state import Chunk, Log, LogName, States
from headgate.scheduling.calls import CallResult
from headgate.scheduling.progress import Bounds
from headgate.scheduling.units import Unit

log = logging.getLogger("headgate.spark")

# A prepared plan is trusted after this many different batches. The first one it was planned with, as any query is; on
# later ones its answer is compared with that of a plan made for the call.
CHECKS = 2
SPARED = 100  # prepared plans of units that are gone

_Answer = tuple[pa.Table, dict[Port, int], str]  # rows, row counts of marked ports, and the way


@dataclass(frozen=True)
class _KnownShape:
    """What is the same in all calls of some operators, as long as the plan is."""

    shape: JobShape
    schemas: Mapping[Edge, pa.Schema]  # of what is read
    row_bytes: Mapping[Edge, float | None]  # see `plan.table_bytes`
    stateful: tuple[str, ...]


@dataclass
class _Prepared:
    """A prepared plan and how far it is trusted: `checked` holds digests of the batches on which it was correct.

    Plans of like queries are trusted together: what one has shown, the others (`proven`) need not show again.
    """

    job: PreparedJob
    kind: str  # see `likeness`
    proven: bool
    checked: set[bytes] = field(default_factory=set)
    costs: RowCosts = field(default_factory=RowCosts)
    ran: bool = False

    @property
    def trusted(self) -> bool:
        return self.proven or len(self.checked) >= CHECKS

    @property
    def steady(self) -> bool:
        """Does a call take its usual time? The first one may include planning."""
        return self.trusted and self.ran


class Caller:
    """Runs units on Spark. Shared by all slots, but no operator is run by two slots at once."""

    def __init__(
        self,
        session: SparkSession,
        plan: Plan,
        schemas: Mapping[Port, pa.Schema],
        single_tables: Tables,
        spread_tables: SpreadTables,
        markers: Markers,
        states: States,
        ways: Ways,
        direct: DirectServer | None = None,
        changing: ChangingTables | None = None,
    ) -> None:
        self._plan = plan
        self.ways = ways
        self.calls: Counter[str] = Counter()  # by way
        self._in_flight = 0  # calls, of all slots
        self._trains = CallSizes()
        self.fallbacks: dict[str, str] = {}  # unit -> why each of its calls is planned
        self.states = states
        self.session = session
        self._parallelism = session.sparkContext.defaultParallelism  # kept, because asking takes a trip to the JVM
        self._direct = direct
        self._schemas = dict(schemas)
        self._single_tables = dict(single_tables)
        self._spread_tables = spread_tables
        self.changing = changing or ChangingTables(spread_tables)
        self.markers = markers
        self._prepared: dict[JobShape, _Prepared | None] = {}
        self._facts: dict[str, PlanFacts] = {}  # by kind of query, see `likeness`
        self._proven: set[str] = set()  # kinds of which a prepared plan is trusted
        self._known: tuple[Plan, dict[Any, _KnownShape]] = (plan, {})  # for the plan of the latest call
        self._units: tuple[Unit, ...] | None = None
        self._kept: set[tuple[tuple[str, ...], tuple[Port, ...]]] | None = None  # see `keep`; None: all
        self._lock = threading.Lock()

    def run(
        self,
        operators: Iterable[str],
        inputs: Mapping[Edge, pa.Table],
        plan: Plan | None = None,
        bounds: Mapping[str, Bounds] | None = None,
        now_us: int = 0,
        once: bool = False,
    ) -> CallResult:
        """Run one call on Spark over `inputs`. Raises what Spark raises; a failed call leaves the state as it was.

        `plan` is the part of the plan whose queries still run: it says which outputs are still wanted. `bounds` are
        the instants that each operator with state evaluates; `now_us` is the arrival of results that no tuple caused.
        A call that is made `once`, after a failure, is not worth a prepared plan.
        """
        known = self._shape(plan or self._plan, tuple(operators), inputs)
        shape, schemas = known.shape, known.schemas
        tables = {e: conform(inputs[e], s) if e in inputs else s.empty_table() for e, s in schemas.items()}
        within = {name: (bounds or {})[name] for name in known.stateful}
        call = _JobData(known, tables, self.states.logs(shape.logs), within, now_us)
        rows = sum(table.num_rows for table in inputs.values())
        started = time.perf_counter()
        with self._counted_in_flight():
            prepared = None if once or not self.ways.fits_one_partition(call.rows, call.bytes) else self._prepare(call)
            steady = prepared is None or prepared.steady
            table, given, way = self._answer(prepared, call)
        with self._lock:
            self.calls[way] += 1
            self._trains.add(shape.operators, rows)
        outputs, grown = separate(table, shape, self._names)
        self.states.grow(within, grown | {name: tables[edge] for name, edge in shape.copies})
        seconds = time.perf_counter() - started
        events = {name: self.states.next_event(name) for name in within}
        return _result(self._plan, call, outputs, given, events, seconds, way, steady)

    def _answer(self, prepared: _Prepared | None, call: _JobData) -> _Answer:
        if prepared is None:
            return self._partitioned(call)
        if prepared.trusted:
            return self._run_cheapest(prepared, call)
        if not prepared.checked and not prepared.job.direct:
            return self._run_first(prepared, call)
        return self._run_and_compare(prepared, call)

    @contextmanager
    def _counted_in_flight(self) -> Iterator[None]:
        with self._lock:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def add(self, plan: Plan, found: PlanSchemas, single_tables: Tables, data: Mapping[str, pa.Table]) -> None:
        """Queries join: `plan` has their operators, which are new. Calls of others may be in flight."""
        self._schemas.update(found.schemas)
        self._single_tables.update(single_tables)
        self._spread_tables.add(data)
        self.states.add(found.single, found.spread)
        own = self._plan
        self._plan = replace(  # with all that ever ran: calls of queries that have stopped may be in flight
            plan,
            operators={**own.operators, **plan.operators},
            schemas={**own.schemas, **plan.schemas},
            flows={**own.flows, **plan.flows},
        )

    def forget_table(self, table: str) -> None:
        """A table was removed: another may take its name."""
        self._single_tables.pop(table, None)
        self.changing.forget(table)
        self._spread_tables.forget(table)

    def keep(self, plan: Plan, units: tuple[Unit, ...]) -> None:
        """From now on prepare plans for these units only. Other calls, made after a failure or still in flight when
        their unit went, are planned each time.

        The latest plans of units that are gone are spared for a while, because the next policy may have the same units
        again; the others are dropped, and those of queries that are gone, to free memory in the JVM.

        Called whenever the units may have changed, under the runtime's lock; if they have not, it costs nothing.
        """
        if units is self._units:
            return
        self._units = units
        shapes = [shape_of(plan, unit.operators, ()) for unit in units]
        with self._lock:
            self._kept = {(shape.operators, shape.outputs) for shape in shapes}
            spare = [shape for shape in self._prepared if not self._keeps(shape)]
            dead = [shape for shape in spare if not all(name in plan.operators for name in shape.operators)]
            alive = [shape for shape in spare if shape not in dead]
            gone = [self._prepared.pop(shape) for shape in [*dead, *alive[: max(0, len(alive) - SPARED)]]]
        for found in gone:
            if found is not None:
                found.job.release()

    def _keeps(self, shape: JobShape) -> bool:
        return self._kept is None or (shape.operators, shape.outputs) in self._kept

    @property
    def prepared_units(self) -> list[tuple[str, ...]]:
        """The operators of each prepared plan, also of those that are only spared."""
        with self._lock:
            return sorted(shape.operators for shape, found in self._prepared.items() if found is not None)

    def forget_calls(self) -> None:
        """Reset the counts of calls: those so far were the rehearsal."""
        self.calls.clear()
        self._trains = CallSizes()

    def report(self, plan: Plan) -> dict[str, Any]:
        """The report's sections on calls and state, by the plan's present classes."""
        with self._lock:
            trains = self._trains.by_class(plan)
        return {
            "calls": {way: self.calls[way] for way in WAYS},
            "trains": trains,
            "fallbacks": dict(self.fallbacks),
            "state": self.states.sizes(),
        }

    def table_rows(self, name: str) -> pa.Table | None:
        """The rows of a stored table as they were read for a query; None: no query reads it."""
        newest = self.changing.newest(name)
        return self._spread_tables.rows(name) if newest is None else newest

    def close(self) -> None:
        """Release cached tables and state; called when the run ends."""
        if self._direct is not None:
            self._direct.close()
        self._spread_tables.close()
        self.states.release()

    def interrupt(self, reason: str) -> None:
        """End direct calls in flight, as soon as Spark's code looks. Jobs are canceled by their group."""
        if self._direct is not None:
            self._direct.interrupt(reason)

    def _shape(self, plan: Plan, operators: tuple[str, ...], inputs: Iterable[Edge]) -> _KnownShape:
        """The shape of a call, worked out once for each plan: finding it takes as long as a small call."""
        of_plan, shapes = self._known
        if of_plan is not plan:
            of_plan, shapes = self._known = (plan, {})
        key = (operators, frozenset(inputs))
        known = shapes.get(key)
        if known is None:
            shape = shape_of(plan, operators, inputs, self.states)
            schemas = {edge: self._schema(edge) for edge in shape.edges}
            sizes = {edge: row_bytes(schema) for edge, schema in schemas.items()}
            stateful = tuple(name for name in shape.operators if name in self.states.names)
            known = shapes[key] = _KnownShape(shape, schemas, sizes, stateful)
        return known

    def _schema(self, edge: Edge) -> pa.Schema:
        """The schema of what a call reads at an edge."""
        read = self.states.reads.get(edge)
        return self._schemas[self._plan.operators[edge.operator].inputs[edge.input]] if read is None else read

    def _names(self, target: Port | LogName) -> list[str]:
        """The columns of an output or a log."""
        if isinstance(target, LogName):
            return self.states.logs((target,))[target].schema.names
        return self._schemas[target].names

    def _composer(self, single: bool, tables: Tables) -> Composer:
        stateful = self.states.stateful(single)
        return Composer(self.markers.mark, tables, self._plan.flows, stateful, single)

    def _prepare(self, call: _JobData) -> _Prepared | None:
        """The prepared plan for calls of this shape, made at first use with this call's data.

        None if it cannot be prepared or its unit is not kept.
        """
        shape = call.shape
        with self._lock:
            if shape in self._prepared or not self._keeps(shape):
                return self._prepared.get(shape)
        schemas = call.known.schemas
        kind = likeness(shape, self._plan, schemas)
        found: _Prepared | None = None
        try:
            job = self._prepared_job(call, self._facts.get(kind))
            self._facts[kind] = job.facts
            found = _Prepared(job, kind, kind in self._proven)
        except (NotPreparable, LeafError) as reason:
            self._note_fallback(shape, str(reason))
        with self._lock:
            if self._keeps(shape):  # it may have been dropped meanwhile
                self._prepared[shape] = found
        return found

    def _prepared_job(self, call: _JobData, facts: PlanFacts | None) -> PreparedJob:
        shape, schemas = call.shape, call.known.schemas
        logs = {name: log.schema for name, log in self.states.logs(shape.logs).items()}
        composer = self._composer(True, self._single_tables)
        return PreparedJob(
            self.session, self._plan, shape, schemas, logs, composer, self.markers, call.data, self._direct, facts
        )

    def _run_first(self, prepared: _Prepared, call: _JobData) -> _Answer:
        """The plan was just made with this data, so there is nothing to compare the answer with."""
        table, given, _ = self._run_prepared(prepared, call)
        prepared.checked.add(_digest(call.inputs))
        return table, given, "partitioned"

    def _run_cheapest(self, prepared: _Prepared, call: _JobData) -> _Answer:
        """Run a trusted plan in one partition, unless it is known to be quicker over several."""
        started = time.perf_counter()
        free = self._parallelism - (self._in_flight - 1)
        spread = prepared.costs.spread_pays(call.rows, min(free, partitions_for(call.rows, self._parallelism)))
        found = self._partitioned(call) if spread else self._run_prepared(prepared, call)
        prepared.costs.learn(call.rows, time.perf_counter() - started, spread)
        return found

    def _run_prepared(self, prepared: _Prepared, call: _JobData) -> _Answer:
        with self._dropped_on_failure(call.shape), self._direct_place(prepared) as directly:
            table, given = prepared.job.run(call.data, directly)
        prepared.ran = True
        return table, given, "direct" if directly else "prepared"

    @contextmanager
    def _direct_place(self, prepared: _Prepared) -> Iterator[bool]:
        """May the plan be run directly now? If so, it has a place among the direct calls of the driver."""
        if self._direct is None or not prepared.job.direct:
            yield False
            return
        with self._direct.place() as free:
            yield free

    @contextmanager
    def _dropped_on_failure(self, shape: JobShape) -> Iterator[None]:
        """Drop the prepared plan on failure: its job may still be reading the leaves, so they must not be reused."""
        try:
            yield
        except BaseException:
            with self._lock:
                gone = self._prepared.pop(shape, None)
            if gone is not None:
                gone.job.release()
            raise

    def _run_and_compare(self, prepared: _Prepared, call: _JobData) -> _Answer:
        """Run the prepared plan and a new plan, compare rows and counts, and return the new plan's answer.

        Both read the same leaves; that leaves return what was put in is checked once, when Spark is set up.
        """
        table, given, _ = self._run_prepared(prepared, call)
        with self._dropped_on_failure(call.shape):
            expected, counts = prepared.job.run_replanned()
        # A query planned on empty input may lose branches, and with them their counts.
        wrong = sorted(str(port) for port in counts if port in given and given[port] != counts[port])
        if wrong or not same_rows(table, expected):
            with self._lock:
                self._proven.discard(prepared.kind)
                if self._keeps(call.shape):
                    self._prepared[call.shape] = None
            difference = f"counts of {', '.join(wrong)}" if wrong else f"{table.num_rows} rows, not {expected.num_rows}"
            self._note_fallback(call.shape, f"its prepared answer differs from a newly planned one ({difference})")
        else:
            prepared.checked.add(_digest(call.inputs))
            if prepared.trusted:
                self._proven.add(prepared.kind)
        return expected, counts, "partitioned"

    def _partitioned(self, call: _JobData) -> _Answer:
        self._parallelism = self.session.sparkContext.defaultParallelism
        partitions = partitions_for(call.rows, self._parallelism)
        composer = self._composer(partitions == 1, self._spread_tables)
        session, plan, markers = self.session, self._plan, self.markers
        table, given = run_partitioned(
            session, plan, call.shape, call.inputs, call.logs, call.instants, composer, markers, partitions
        )
        return table, given, "partitioned"

    def _note_fallback(self, shape: JobShape, reason: str) -> None:
        name = " + ".join(shape.operators)
        with self._lock:
            self.fallbacks[name] = reason
        log.warning("%s is planned for each call: %s", name, reason)


@dataclass(frozen=True)
class _JobData:
    """What one call reads: its input, the logs, the instants to evaluate."""

    known: _KnownShape
    inputs: Mapping[Edge, pa.Table]
    logs: Mapping[LogName, Log]
    bounds: Mapping[str, Bounds]
    now_us: int

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
        return kept + sum(table_bytes(table, sizes[edge]) for edge, table in self.inputs.items())

    @cached_property
    def chunks(self) -> dict[LogName, list[Chunk]]:
        """The chunks of each log that the call needs."""
        return {name: log.chunks_for(self.bounds[name.operator]) for name, log in self.logs.items()}

    @property
    def data(self) -> LeafData:
        return LeafData(self.inputs, self.chunks, self.instants, self.rows)

    @cached_property
    def instants(self) -> dict[str, Instants]:
        """The instants that each operator with state evaluates."""
        return {name: Instants(*within, self.now_us) for name, within in self.bounds.items()}


def _result(
    plan: Plan,
    call: _JobData,
    outputs: Mapping[Port, pa.Table],
    given: Mapping[Port, int],
    events: Mapping[str, int],
    seconds: float,
    way: str,
    steady: bool,
) -> CallResult:
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


def same_rows(left: pa.Table, right: pa.Table) -> bool:
    """Do two tables hold the same multiset of rows?"""
    if left.num_rows != right.num_rows or left.schema.names != right.schema.names:
        return False
    if left.equals(right):
        return True
    return Counter(map(repr, python_rows(left))) == Counter(map(repr, python_rows(right)))


def _digest(inputs: Mapping[Edge, pa.Table]) -> bytes:
    digest = hashlib.sha256()
    for edge in sorted(inputs):
        for batch in inputs[edge].to_batches():
            digest.update(batch.serialize())
    return digest.digest()
