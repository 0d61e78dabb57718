"""The core of a running application: events in, instructions out.

It decides everything that is not computation: which tuples wait where, which units are ready, what a slot runs next and
how much input it takes, what a finished or failed call changes, when queries end and when the run is over. It has no
threads, no clock and no I/O of its own; queues may spill through the `SharedMemory` that they are given. The Spark
runtime drives it under one lock; tests drive it with a caller in plain Python; a recorded run can be replayed.
docs/core.md explains it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from headgate.errors import known_names
from headgate.metrics.learning import LearnedStats
from headgate.metrics.monitor import Monitor
from headgate.metrics.recent_rate import RecentRates
from headgate.plan.added_queries import merge_plans
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.plan.table_bytes import row_bytes, table_bytes
from headgate.scheduling.board import Board, Claim
from headgate.scheduling.boundary_wait import BoundaryWait
from headgate.scheduling.call_input import operators_to_run, take_input
from headgate.scheduling.call_profile import CallProfile
from headgate.scheduling.call_work import CallWork
from headgate.scheduling.calls import Call, CallResult, Outcome, latencies, newest_arrival_us, row_count
from headgate.scheduling.changes import Changes
from headgate.scheduling.core_settings import CoreSettings, MakePolicy
from headgate.scheduling.events import (
    CallEnded,
    Event,
    QueriesAdded,
    QueriesFailed,
    QueriesStopped,
    QueryRemoved,
    SlotFree,
    StreamEnded,
    TuplesArrived,
)
from headgate.scheduling.instructions import (
    ForgetState,
    Instruction,
    QueryEnded,
    RunFinished,
    StartCall,
    StreamRefused,
    UnitsChanged,
    WakeSlots,
)
from headgate.scheduling.queue import BatchQueue, SharedMemory, SpillError
from headgate.scheduling.shedder import as_read, shedders_of
from headgate.scheduling.suspect_rows import SuspectRows
from headgate.scheduling.timekeeper import Timekeeper
from headgate.scheduling.units import Unit

log = logging.getLogger("headgate.scheduling")

STATS_PERIOD_S = 1.0  # policies are shown new statistics this often
RECHECK_S = 1.0  # units that wait for a boundary are checked at least this often


class Core:
    """The state of one run. Not thread-safe; `handle` must be given events in the order of their times."""

    def __init__(
        self,
        settings: CoreSettings,
        make_policy: MakePolicy,
        memory: SharedMemory | None = None,
        monitor: Monitor | None = None,
        stats: LearnedStats | None = None,
        began: float = 0.0,
    ) -> None:
        plan = settings.plan
        self._settings = settings
        self.plan = plan  # as of now: queries come and go
        self.memory = memory or SharedMemory()
        self.monitor = monitor or Monitor(plan, began)
        self.stats = stats or LearnedStats(plan)
        self.profile = CallProfile()
        self.queues = {edge: self._queue(edge) for edge in plan.edges}
        self.time = Timekeeper(plan, self.queues)
        self.changes = Changes(self, settings, make_policy)
        self._seed = settings.seed
        self.shedders = shedders_of(plan, settings.seed)
        self.recent = RecentRates()  # of the streams
        most_bytes = (self.memory.limit_bytes or 0) / 4 / max(1, len(plan.queries)) or float("inf")
        self.work = CallWork()
        waits = (self.time.reaches, self._is_due, most_bytes, self._is_pressed, self.work.per_tuple)
        self.boundary_wait = BoundaryWait(*waits)
        self.board = Board(
            plan,
            self.queues,
            self.changes.first_policy(),
            self.stats,
            settings.slots,
            call_fixed_s=self.stats.call_fixed_s,
            latency=self.monitor.recent,
            results=self.monitor.results_so_far,
            inputs=self.monitor.inputs_so_far,
            seed=settings.seed,
            boundary_wait=self.boundary_wait,
            linger_s=settings.linger_s,
            is_due=self._is_due,
            now=began,
        )
        self._calls: dict[int, tuple[Claim, Call]] = {}  # in flight, by slot
        self._suspects = SuspectRows()
        self._row_bytes: dict[Port, float | None] = {}  # see `plan.table_bytes`
        self._due: set[Edge] = set()  # inputs of operators that have something to do although no tuple waits
        self._stats_due = self._recheck_due = 0.0
        self._instructions: list[Instruction] = []

    # For runtimes -----------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Instruction]:
        """Process an event; returns what to do now, in order.

        ValueError: a change is refused, and nothing has changed. PolicyError, InvariantError: the policy or the core
        has broken a rule, and the run must end.
        """
        self.board.now = event.at
        self._instructions = []
        match event:
            case SlotFree():
                self._slot_free(event)
            case CallEnded():
                self._call_ended(event)
            case TuplesArrived():
                self._tuples_arrived(event)
            case StreamEnded():
                self._stream_ended(event)
            case QueriesFailed(errors=errors):
                self._end_queries(errors)
                self._wake()
            case QueriesStopped(queries=queries):
                self._end_queries(dict.fromkeys(queries))
                self._wake()
            case QueryRemoved(query=query):
                self._remove_query(query)
            case QueriesAdded():
                self._add_queries(event)
            case _:
                self.changes.apply(event)
        if event.at >= self.board.policy.review_at and self.board.review():
            self._units_changed()
            self._wake()
        return self._instructions

    @property
    def policy(self) -> str:
        """The name of the application's policy."""
        return self.changes.policy

    @property
    def settings(self) -> CoreSettings:
        """Enough to make a core that goes on from here with the same plan and policy."""
        return replace(self._settings, plan=self.plan, policy=self.policy, parameters=self.changes.parameters)

    @property
    def memory_short(self) -> bool:
        """Should sources that can be replayed wait? They do once half of the limit is used."""
        limit = self.memory.limit_bytes
        return self.memory.short or (limit is not None and self.memory.used > limit // 2)

    def may_read(self, replayable: bool) -> bool:
        """May a source be read now? One that can be replayed waits as soon as memory is short, so that others need
        not; these wait when the disk is full, too. Needs no lock."""
        return not (self.memory_short if replayable else self.memory.full)

    @property
    def idle(self) -> bool:
        """Is there nothing left to do, now or later?"""
        return not self.plan.queries or not (self._due or self.time.open or self._calls or self.memory.waiting)

    def next_boundary(self, now: float) -> float:
        """When a window will next reach a boundary only because time passes; inf: never. Needs no lock."""
        return self.boundary_wait.next_boundary(now)

    def up_to_last_event(self, query: str, table: pa.Table) -> pa.Table:
        """The results of a query up to the last event of its streams; later ones are dropped. Needs no lock."""
        return self.time.up_to_last_event(query, table)

    def in_flight(self, query: str) -> bool:
        """Does a call in flight work for a query, perhaps one that has ended?"""
        return any(query in call.unit.queries for _, call in self._calls.values())

    @property
    def occupied(self) -> set[str]:
        """The operators that a call in flight runs, or that have something to do although no tuple waits."""
        return {name for _, call in self._calls.values() for name in call.operators} | self.due

    @property
    def due(self) -> set[str]:
        """The operators that have something to do although no tuple waits: time has passed."""
        return {edge.operator for edge in self._due}

    def is_complete(self, query: str) -> bool:
        """Have all streams of a query that runs ended, and is everything that came processed?"""
        if not self.time.open.isdisjoint(self.plan.reads[query]):
            return False
        mine = set(self.plan.queries[query].operators)
        edges = (Edge(name, at) for name in mine for at in range(len(self.plan.operators[name].inputs)))
        return mine.isdisjoint(self.occupied) and not any(self.queues[edge].count for edge in edges)

    def unfinished(self) -> dict[str, int]:
        """By query, the tuples that wait in its queues or that calls in flight have taken."""
        held: Counter[str] = Counter()
        for edge, queue in self.queues.items():
            held[edge.operator] += queue.count
        for _, call in self._calls.values():
            for edge, table in call.inputs.items():
                held[edge.operator] += table.num_rows
        return {query.name: sum(held[name] for name in query.operators) for query in self.plan.queries.values()}

    def rates(self) -> dict[str, float]:
        """Tuples per second that came lately, by stream, as far as known."""
        return self.recent.rates(self.board.now)

    def check(self) -> None:
        """Raise InvariantError if a queue has lost or doubled a tuple."""
        for queue in self.queues.values():
            queue.check()

    # Tuples and time come in -------------------------------------------------------------------------------------

    def _tuples_arrived(self, event: TuplesArrived) -> None:
        now_us, refused, idle = round(event.upto * 1e6), set(), not self.board.ready_units
        self.profile.came_round(event.at, event.upto)
        for stream, table in event.tables.items():
            try:
                self._admit(stream, table)
            except Exception as error:  # a source that breaks its promises, or a full disk
                refused.add(stream)
                self._instructions.append(StreamRefused(stream, error))
                self._end_queries(dict.fromkeys(self.plan.readers(stream), error))  # makes room for the others
        ticking = [stream for stream in event.complete if stream not in refused and self.time.ticks(stream)]
        due = [name for stream in ticking for name in self.time.tick(stream, now_us)]
        crossed = [stream for stream in ticking if self.boundary_wait.crosses(stream, now_us)]
        self.mark_due(due)
        if due or crossed:
            self.board.recheck_waiting()
        if event.tables or due or crossed:
            if idle and self.board.ready_units:
                self.profile.ready(event.at)
            self._note_memory()
            self._wake()

    def _admit(self, stream: str, table: pa.Table) -> None:
        """Queue tuples for every operator that reads their stream."""
        edges = self.plan.entrances(stream) if stream in self.plan.streams else ()
        if not edges:  # its queries have stopped since it was read
            return
        self.board.arrived += table.num_rows
        self.recent.add(stream, self.board.now, table.num_rows)
        came = self.time.admit(stream, table)
        self.stats.arrived(stream, came.table.num_rows, self._bytes(Port(stream), came.table))
        if self.plan.streams[stream].time is not None and came.table.num_rows:
            self.profile.arrived(stream, came.table)
        for edge in edges:
            self._enter(edge, came.table)
        due = self.time.advance(stream, came)
        for edge in edges:
            if self.queues[edge].oldest is not None:  # else all that came was dropped, and there is nothing to do
                self.board.fed(edge)
        for query in self.plan.readers(stream):
            self.monitor.arrived(query, table.num_rows)
        self.mark_due(due)

    def _enter(self, edge: Edge, table: pa.Table) -> None:
        """Queue tuples that arrived for one operator, or what its shedder leaves of them."""
        shedder = self.shedders.get(edge)
        if shedder is None:
            self.queues[edge].put(as_read(self.plan, edge, table))
            return
        kept = shedder.kept(table)
        dropped = table.num_rows - kept.num_rows
        if dropped:
            self.monitor.shed(shedder.query, edge.operator, dropped)
        self.queues[edge].put(kept, dropped)

    def _stream_ended(self, event: StreamEnded) -> None:
        if event.error is not None:
            self._end_queries(dict.fromkeys(self.plan.readers(event.stream), event.error))
        self.mark_due(self.time.end(event.stream))
        self.board.recheck_waiting()
        self._wake()

    def mark_due(self, operators: Iterable[str]) -> None:
        """These operators with state have something to do because time has passed."""
        for name in operators:
            edge = Edge(name, 0)
            if edge not in self._due:
                self._due.add(edge)
                self.queues[edge].due = self.board.now
                self.board.fed(edge)

    def _is_due(self, unit: Unit) -> bool:
        return not self._due.isdisjoint(unit.edges)

    def _is_pressed(self) -> bool:
        """Do sources wait for memory while no unit is ready that could free some?"""
        return self.memory_short and not self.board.ready_units

    # Calls -------------------------------------------------------------------------------------------------------

    def _slot_free(self, event: SlotFree) -> None:
        board = self.board
        if board.now >= self._recheck_due or self._is_pressed():  # no event says that a unit has waited long enough
            self._recheck_due = board.now + RECHECK_S
            board.recheck_waiting()
        if board.now >= board.linger.next:
            if not board.ready_units:
                self.profile.ready(board.linger.next)
            board.end_lingers()
        claim = board.claim(event.slot)
        if claim is None:
            self._note_idle()
            return
        unit = claim.decision.unit
        operators = operators_to_run(unit, self.plan)
        try:
            inputs = take_input(claim.decision, operators, board, self._suspects)
        except SpillError as error:
            board.release(claim, 0, 0)
            self._end_queries(dict.fromkeys(unit.queries, error))
            self._wake()
            return
        for edge in [one for one in self._due.intersection(unit.edges) if one.operator in operators]:
            self._due.discard(edge)
            self.queues[edge].due = None
        bounds = self.time.begin(operators)
        now_us = newest_arrival_us(inputs, board.now) if bounds else 0
        suspect = self._suspects.among(unit.edges)
        call = Call(event.slot, unit, operators, self.plan, inputs, bounds, now_us, suspect)
        self._calls[event.slot] = (claim, call)
        self.profile.starts(event.slot, board.now)
        self.work.began(board.now, call)
        self._instructions.append(StartCall(call))

    def _call_ended(self, event: CallEnded) -> None:
        """Queue the results of a call, learn from it, free its unit."""
        claim, call = self._calls.pop(event.slot)
        board, outcome = self.board, event.outcome
        outputs = 0
        for query, tables in event.written.items():
            for table in tables if query in self.monitor.queries else ():  # else it was removed during the call
                self.monitor.handed_out(query, board.now, latencies(table, board.now))
                outputs += table.num_rows
        for result in outcome.results:
            self._learn(result)
        self.work.ended(board.now, event.slot, outcome.is_typical)
        failed = {**event.refused, **outcome.failed}
        if (full := self._queue_results(outcome)) is not None:
            failed.update(dict.fromkeys(call.unit.queries, full))
        self._note_progress(call, outcome)
        seconds = board.now - claim.started
        board.release(claim, call.rows - row_count(outcome.unused), outputs)
        self.profile.ended(call, seconds, board.now, outcome, event.written, board.ready_units > 0)
        self._note_memory()
        self._suspects.clear(call.inputs)
        self._suspects.failed(outcome.unused)
        self._end_queries(failed)
        self._wake()

    def _queue_results(self, outcome: Outcome) -> SpillError | None:
        """Queue what other units read, and put unused input back, wherever the queue still exists.

        A queue keeps what it is given even if the disk fails, so everything is queued in any case. Returns the error.
        """
        problem: SpillError | None = None
        for edge, table in outcome.handed_on(self.plan):
            problem = self._put(edge, table, BatchQueue.put) or problem
        for edge, table in outcome.unused.items():
            problem = self._put(edge, table, BatchQueue.put_back) or problem
        return problem

    def _put(self, edge: Edge, table: pa.Table, put: Callable[[BatchQueue, pa.Table], None]) -> SpillError | None:
        queue = self.queues.get(edge)
        if queue is None:  # its queries stopped during the call
            return None
        problem = None
        try:
            put(queue, table)
        except SpillError as error:
            problem = error
        self.board.fed(edge)
        return problem

    def _note_progress(self, call: Call, outcome: Outcome) -> None:
        """Operators with state that ran have evaluated their instants; those that failed have not."""
        evaluated = {name: call.bounds[name] for name in outcome.next_instants}
        settled = self.time.finish(call.operators, evaluated, outcome.next_instants, outcome.rows_out)
        self.mark_due(settled.due)
        self.board.recheck_waiting(settled.moved)  # only there can a boundary have been reached

    def _learn(self, result: CallResult) -> None:
        if not result.steady or not all(name in self.stats.operators for name in result.rows_in):
            return  # its time is not typical, or a query was removed during the call, and its statistics with it
        sizes = {port: self._bytes(port, table) for port, table in result.outputs.items()}
        self.stats.learn(result.rows_in, result.rows_out, result.seconds, sizes, entered=result.rows_by_input)
        self.board.call_fixed_s = self.stats.call_fixed_s
        if self.board.now >= self._stats_due:
            self._stats_due = self.board.now + STATS_PERIOD_S
            self.board.learned()
            self._units_changed()

    # Queries come and go -----------------------------------------------------------------------------------------

    def _end_queries(self, errors: Mapping[str, Exception | None]) -> None:
        """Take queries out of the plan, and drop the tuples that wait for them alone."""
        known = {name: error for name, error in errors.items() if name in self.plan.queries}
        if not known:
            return
        plan = self.plan.without(known)
        gone = {edge: queue for edge, queue in self.queues.items() if edge.operator not in plan.operators}
        for name, error in known.items():
            mine = set(self.plan.queries[name].operators)
            waiting = sum(queue.count for edge, queue in gone.items() if edge.operator in mine)
            self._instructions.append(QueryEnded(name, error, waiting))
        self._due.difference_update(gone)
        self._set_plan(plan, {edge: queue for edge, queue in self.queues.items() if edge not in gone})
        self._instructions.append(ForgetState(frozenset(edge.operator for edge in gone)))
        for queue in gone.values():
            queue.close()

    def _remove_query(self, query: str) -> None:
        if query not in self.monitor.queries:
            raise ValueError(f"there is no query '{query}'; {known_names('queries', self.monitor.queries, query)}")
        self._end_queries({query: None})
        self.monitor.remove(query)
        self.work.forget(query)
        self.stats.remove([name for name in self.stats.operators if name not in self.plan.operators])
        self._wake()

    def _add_queries(self, event: QueriesAdded) -> None:
        """Add queries to the plan. The others keep their operators, classes and priorities."""
        if taken := [name for name in event.plan.queries if name in self.monitor.queries]:
            raise ValueError(f"there has been a query {', '.join(taken)} in this run: remove it first")
        plan = merge_plans(self.plan, event.plan)
        fresh = {edge: self._queue(edge) for edge in plan.edges if edge not in self.queues}
        self.stats.add(plan)
        self.monitor.set_plan(event.at, plan)
        self.board.add_queues(fresh)
        self._set_plan(plan, {**self.queues, **fresh})
        self._wake()

    def _set_plan(self, plan: Plan, queues: dict[Edge, BatchQueue]) -> None:
        """Continue with a plan that has more queries, or fewer."""
        self.plan, self.queues = plan, queues
        self._row_bytes.clear()  # another query may have the name of one that was removed
        self.profile.forget(plan)
        self.time.set_plan(plan, queues)
        kept = {edge: one for edge, one in self.shedders.items() if edge in queues}
        self.shedders = {**shedders_of(plan, self._seed), **kept}
        self.board.install(self.changes.policy_for(plan), plan)
        self._units_changed()

    def _queue(self, edge: Edge) -> BatchQueue:
        return BatchQueue(self.memory, f"{edge.operator}:{edge.input}")

    # What is changed from outside --------------------------------------------------------------------------------

    def go_on(self, plan: Plan) -> None:
        """Continue with a changed plan, whose operators are the same; the board has been told."""
        self.plan = plan
        self._row_bytes.clear()  # another stream may have the name of one that was removed
        self._units_changed()
        self._wake()

    # Inside ------------------------------------------------------------------------------------------------------

    def _bytes(self, port: Port, table: pa.Table) -> int:
        """The size of a table that came out of a port."""
        if port not in self._row_bytes:
            self._row_bytes[port] = row_bytes(table.schema)
        return table_bytes(table, self._row_bytes[port])

    def _units_changed(self) -> None:
        self._instructions.append(UnitsChanged(self.board.plan, self.board.units))

    def _note_memory(self) -> None:
        self.monitor.memory(self.board.now, self.memory.used + self.memory.spilled_bytes)

    def _wake(self) -> None:
        """Something has changed: idle slots should ask again. If nothing is left to do, say so."""
        self._instructions.append(WakeSlots())
        self._note_idle()

    def _note_idle(self) -> None:
        if self.idle:
            self._instructions.append(RunFinished())
