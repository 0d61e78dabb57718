"""The Spark runtime: connects sources, core, slots, Spark and sinks, and runs them in real time."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication, PolicySettings, RunLimits
from headgate.application.overload import refuse_overload
from headgate.connect.dead_letters import DeadLetters
from headgate.connect.sources import Source
from headgate.connect.sources.base import ENDED, position_of
from headgate.metrics.latency import LatencyTotal
from headgate.metrics.monitor import Monitor
from headgate.plan.model import Plan
from headgate.policies.parameters import whole
from headgate.policies.registry import make_policy
from headgate.qos.settings import make_optimizer
from headgate.runtime.spark.between_calls import PATIENCE_S, BetweenCalls
from headgate.runtime.spark.call_runner import CallRunner
from headgate.runtime.spark.caller_setup import make_caller
from headgate.runtime.spark.calls.rehearsal import rehearsal_s, rehearses, sample, warm_up
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.checkpoint.cut import Cut, take_cut
from headgate.runtime.spark.checkpoint.run_checkpoints import RunCheckpoints
from headgate.runtime.spark.clock import RunClock
from headgate.runtime.spark.failures.error_messages import essence
from headgate.runtime.spark.joining import Joining
from headgate.runtime.spark.launch.session import goes_with_spark, own_session, spark_runs, start_spark, stop_spark
from headgate.runtime.spark.overview import Sight, look, look_at_query, overview, query_overview
from headgate.runtime.spark.promises import promised, shedding_steps
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.runtime.spark.run_report import run_report
from headgate.runtime.spark.slots import SlotThreads
from headgate.runtime.spark.source_thread import Opening, open_sources
from headgate.runtime.spark.source_threads import SourceThreads
from headgate.runtime.spark.spill import SpillFolder
from headgate.runtime.spark.table_reloads import TableReloads
from headgate.scheduling.calls import Call
from headgate.scheduling.core import Core
from headgate.scheduling.core_settings import CoreSettings
from headgate.scheduling.event_log import EventLog
from headgate.scheduling.events import (
    CallEnded,
    Event,
    PolicyReplaced,
    PriorityChanged,
    QueriesAdded,
    QueriesFailed,
    QueriesStopped,
    QueryClassChanged,
    QueryPolicyChanged,
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
from headgate.scheduling.queue import SharedMemory
from headgate.twin.background import BackgroundForecasts
from headgate.twin.snapshot import take_snapshot

log = logging.getLogger("headgate.spark")

LINGER_S = 0.005  # of classes and queries that do not say: as long as a round of the sources takes
GRACE_S = 10.0  # how long calls in flight may take to end when a run stops


class SparkRuntime:
    """One run of an application on Spark. It has the lock, the clock and the threads; `core` decides (docs/core.md).

    `start` begins the run, `wait` returns at its limits, `stop` ends it cleanly and returns the report. A query whose
    call fails ends with its error in the report; the others go on. `record` is a file for the events of the run (see
    `scheduling.event_log`).
    """

    def __init__(
        self,
        app: CheckedApplication,
        spark: SparkSession | None = None,
        ways: Ways | None = None,
        monitor: Monitor | None = None,
        announce: Callable[[str], None] = lambda doing: None,
        record: Path | None = None,
        force: bool = False,
        fresh: bool = False,
    ) -> None:
        if not force:
            refuse_overload(app)
        self._app = app
        self._announce = announce  # called with the current step until the run begins
        self._opened = ExitStack()  # what to close at the end, besides sinks and threads
        owns_spark = spark is None and not spark_runs()
        announce("starting Spark")
        self._spark = spark or start_spark(app.spark)
        if owns_spark:
            self._opened.callback(stop_spark, self._spark)
        try:
            self.checkpoints = RunCheckpoints(app, self._spark, fresh)
            self._opened.callback(self.checkpoints.close)
            self.checkpoints.announce_to(announce)
            self._set_up(ways, monitor, record)
        except BaseException:
            self._opened.close()
            raise

    def _set_up(self, ways: Ways | None, monitor: Monitor | None, record: Path | None) -> None:
        app = self._app = self.checkpoints.app
        beginning = self.checkpoints.beginning
        self.clock = RunClock(beginning.epoch_us, beginning.at)
        self._announce(f"letting Spark check {len(app.plan.queries)} queries")
        self.caller = self._opened.enter_context(closing(make_caller(own_session(self._spark), app, ways)))
        queues = app.queues
        spill = self._opened.enter_context(closing(SpillFolder(queues.folder)))
        goes_with_spark(self._spark, spill.path)
        settings = CoreSettings(app.plan, app.policy.name, app.policy.parameters, app.slots, app.seed, LINGER_S)
        if record is not None:
            self.checkpoints.refuse_recording()
        recorded = None if record is None else closing(EventLog(record, settings, queues.memory_bytes))
        self._log = None if recorded is None else self._opened.enter_context(recorded)
        memory = SharedMemory(queues.memory_bytes, spill, disk_bytes=queues.disk_bytes)
        self.core = Core(settings, make_policy, memory, monitor, began=self.clock.start_now)
        forecasts = BackgroundForecasts(self.snapshot, app.optimizer.candidates, lambda: promised(self.core), self.now)
        self._opened.callback(forecasts.close)
        board, name, sheds = self.core.board, app.policy.name, partial(shedding_steps, self.core, app.slots)
        self.optimizer = make_optimizer(board, app.optimizer, name, app.seed, sheds, LINGER_S, forecasts)
        self.caller.keep(app.plan, self.core.board.units)
        self._changed = threading.Condition()  # guards the core
        self._done = threading.Event()
        self._fatal: Exception | None = None
        self._over = False  # the report is made: calls that end later are ignored
        reloads = TableReloads(self.caller.changing, self.core, self._changed, self.now)
        self._reloads = self._opened.enter_context(closing(reloads))
        self.sinks = QuerySinks(beginning.sinks, app.checkpoint is not None)
        self.sources = SourceThreads(self.core, self.sinks, self.now, self.deliver, self.ended, self._break)
        # Stream -> where its source goes on after what was delivered, or ENDED.
        self.positions: dict[str, Any] = dict(beginning.sources)
        self.errors: dict[str, str] = {}  # query -> why it ended
        self.unprocessed: dict[str, int] = {}  # query that ended -> tuples that waited for it
        self.dead_letters = DeadLetters(app.dead_letters, app.name)
        context = self._spark.sparkContext
        self.call_runner = CallRunner(context, self.caller, self.core, self.sinks, self.dead_letters, self._break)
        self._slots = SlotThreads(app.slots, self.step, self._break)
        self._between_calls = BetweenCalls(self._changed, self.core)
        self.joining = Joining(self, self._changed)

    # A run, from outside -----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the sinks and start the clock. `step` and `deliver` work from here on."""
        self.checkpoints.begin()
        self.sinks.open(self._app.plan, self._app.folder, self._app.name)
        self.dead_letters.begin(self.checkpoints.goes_on)
        self.clock.start()

    def start(self) -> None:
        """Open everything, rehearse on a sample, and start the source and slot threads.

        If that fails or is interrupted, everything that was opened is closed, and the error is raised.
        """
        try:
            self._start()
        except BaseException:
            self._end_threads()
            self._close_sinks()
            self._opened.close()
            raise

    def _start(self) -> None:
        app = self._app
        self.open()
        samples = sample(app.plan, open_sources(app, quiet=True))
        if rehearses(app):
            warm_up(self.caller, app.plan, self.core.board.units, samples, rehearsal_s(app), self._announce)
        self.clock.start()
        self.checkpoints.restore(self.core, self.now(), self.caller.states, self.joining)
        opening = Opening(app, self.dead_letters, epoch_us=self.clock.epoch_us)
        self.read(opening.sources(resume=self.positions), opening)
        self._slots.start()
        if (more := self.checkpoints.queries_to_add) is not None:
            self.joining.add(more, app.slots, True, self.positions)
        self.checkpoints.start(self.sinks, self._cut, self.sources.forget, self._fail, self._break)

    def read(self, sources: Mapping[str, Source], opening: Opening) -> None:
        """Read these sources from now on, in a thread of their own; those that fail are opened again."""
        with self._changed:
            self.positions.update({name: position_of(source) for name, source in sources.items()})
        self.sources.read(sources, opening.again)

    def now(self) -> float:
        """Seconds since time 0 of the run, see `RunClock`; 0 before it began."""
        return self.clock.now()

    def wait(self, limits: RunLimits, tick: Callable[[], None] | None = None, tick_s: float = 0.5) -> None:
        """Return when the limits are reached or no query is left; calls `tick` about every `tick_s` seconds.

        If the scheduler itself fails in another thread, its error is raised here.
        """
        while limits.seconds is None or self.clock.lasted < limits.seconds:
            left = tick_s if limits.seconds is None else min(tick_s, max(0.0, limits.seconds - self.clock.lasted))
            if self._done.wait(left):
                if self._fatal is not None:
                    raise self._fatal
                by_itself = limits.until_idle or limits.seconds is None or not self.core.plan.queries
                if by_itself and not limits.stay_open:
                    return
                time.sleep(left)  # nothing happens now, but the run must go on
            self._fail(self.sinks.refresh(self.core.plan.queries))
            if tick is not None:
                tick()

    def stop(self) -> dict[str, Any]:
        """End the run and return the report. Calls in flight may finish; what waits stays unprocessed."""
        with self._opened:
            seconds = self.clock.lasted
            self._end_threads()
            self.checkpoints.end(last=self._fatal is None)
            self._close_sinks()
            with self._changed:
                self._over = True
                self.core.check()
                self.core.memory.close()
                return self._report(seconds)

    def report(self) -> dict[str, Any]:
        """The report as of now, while running."""
        with self._changed:
            return self._report(self.clock.lasted)

    def results_so_far(self, queries: Collection[str]) -> LatencyTotal:
        """The results that these queries have had, and the sum of their latencies."""
        with self._changed:
            return self.core.monitor.results_so_far(queries)

    def snapshot(self) -> bytes:
        """The run as of now, pickled, to be forecast from (see `headgate.twin`)."""
        with self._changed:
            self.core.board.now = self.now()
            return pickle.dumps(take_snapshot(self.core, self._app.optimizer))

    @property
    def streams_read(self) -> Collection[str]:
        """The streams that queries read now."""
        return frozenset(self.core.time.open)

    def runs(self, query: str) -> bool:
        """Does a query still run, or has it nothing more to do?"""
        return query in self.core.plan.queries

    def is_complete(self, query: str) -> bool:
        """Have the streams of a query ended, and is all of them processed?"""
        with self._changed:
            return self.core.is_complete(query)

    def overview(self, over_time: bool = False) -> dict[str, Any]:
        """What people see of the run; see `Run.overview`."""
        with self._changed:
            seen = self._look(over_time)
        more = {"dead_letters": self.dead_letters.rows, "checkpoint": self.checkpoints.report()}
        return overview(seen, self.sources.states) | more

    def query_overview(self, query: str) -> dict[str, Any]:
        """What people see of a query, running or ended; see `Run.query_overview`."""
        with self._changed:
            own = look_at_query(self.core, self._look(), query, self.optimizer, LINGER_S)
        return query_overview(own, self.unprocessed.get(query, 0))

    def _look(self, over_time: bool = False) -> Sight:
        return look(self.core, self.now(), self._app.slots, self.errors, over_time)

    def unfinished(self) -> dict[str, int]:
        """By query, the tuples that wait in its queues or that calls in flight have taken."""
        with self._changed:
            return self.core.unfinished()

    # Changes while it runs ---------------------------------------------------------------------------------------

    def change(self, event_at: Callable[[float], Event]) -> None:
        """Give the core an event of the administrator. ValueError: it is refused, and nothing has changed."""
        self._handle(event_at)

    def set_policy(self, policy: PolicySettings, reason: str = "asked for") -> None:
        """Replace the application's policy; queries that have one of their own keep it."""
        self._handle(lambda at: PolicyReplaced(at, policy.name, policy.parameters, reason))
        self.optimizer.default_policy = policy.name

    def set_query_policy(self, query: str, policy: PolicySettings | None, reason: str = "asked for") -> None:
        """Schedule a query by a policy of its own; None: by the application's."""
        self._handle(lambda at: QueryPolicyChanged(at, query, policy, reason))

    def restart_comparison(self) -> None:
        """Leave what was measured so far out of the latencies by policy, as a warm-up."""
        with self._changed:
            self.core.monitor.restart_comparison(self.now())

    def set_priority(self, class_name: str, priority: int) -> None:
        """Give a class another priority; what a policy makes of it is in docs/operations.md."""
        whole("priority", priority)
        self._handle(lambda at: PriorityChanged(at, class_name, priority))

    def set_class(self, query: str, class_name: str) -> None:
        """Move a query to another class. In the report, its earlier results count for the new class, too."""
        self._handle(lambda at: QueryClassChanged(at, query, class_name))

    def add_queries(self, app: CheckedApplication, force: bool = False) -> None:
        """Add the queries of `app` that this run does not have. They read what arrives from now on.

        ApplicationError: one of them cannot run. ValueError: there is no room for them beside queries with a
        must-promise, unless they are added by `force`. Nothing has changed then.
        """
        self.joining.add(app, self._app.slots, force)

    def join(self, plan: Plan) -> None:
        """Run these queries, too, for which everything is ready. The caller holds the lock."""
        self._done.clear()  # an idle slot must not say in between that all is done
        self._handle_locked(QueriesAdded(self.now(), plan))

    def stop_queries(self, queries: Collection[str]) -> None:
        """End some queries; the others go on. Tuples that wait for them alone are given up, and counted."""
        self._handle(lambda at: QueriesStopped(at, tuple(queries)))

    def remove_query(self, query: str) -> None:
        """End a query if it still runs, and remove it from the report; its name may be used again.

        Waits for a call of it to end: what that gives must not get to another query of the same name.
        """
        self.joining.remove_query(query)

    def remove_stream(self, stream: str) -> None:
        """Forget a stream that no query reads, once its source is closed; ValueError names the queries that read it."""
        self.joining.remove_stream(stream)

    def remove_table(self, table: str) -> None:
        """Forget a table that no query reads; ValueError names the queries that do."""
        self.joining.remove_table(table)

    # Data comes in -----------------------------------------------------------------------------------------------

    def deliver(
        self,
        came: Mapping[str, pa.Table],
        complete: Collection[str] = (),
        upto: float = 0.0,
        positions: Mapping[str, Any] | None = None,
    ) -> dict[str, Exception]:
        """Tuples arrived; on the `complete` streams, these are all up to the time `upto`. Slots see them in one step.

        `positions` says where the sources of these tuples go on; who holds the lock sees them together with the tuples.
        Returns the streams whose tuples could not be queued, and why.
        """
        with self._changed:
            instructions = self._handle_locked(TuplesArrived(self.now(), came, complete, upto))
            refused = {one.stream: one.error for one in instructions if isinstance(one, StreamRefused)}
            self._reloads.delivered(complete, upto)
            self.positions.update({name: at for name, at in (positions or {}).items() if name not in refused})
        return refused

    def ended(self, stream: str, error: Exception | None = None) -> None:
        """No more tuples will arrive on a stream. With an error, the queries that read it end."""
        with self._changed:
            self._handle_locked(StreamEnded(self.now(), stream, error))
            self.positions |= {} if error else {stream: ENDED}

    # Slots run units ---------------------------------------------------------------------------------------------

    def step(self, slot: int, wait_s: float = 0.0) -> bool:
        """Run one call in a slot: ask the core for it, run it, report it.

        Returns False if there is nothing to run now, after waiting up to `wait_s` for something to change.
        """
        with self._changed:
            if self._between_calls.held:
                self._changed.wait(wait_s)
                return False
            instructions = self._handle_locked(SlotFree(self.now(), slot))
            call = next((one.call for one in instructions if isinstance(one, StartCall)), None)
            if call is None:
                changed = any(isinstance(one, WakeSlots) for one in instructions)
                if not changed and wait_s and not self.call_runner.stopping:
                    self._changed.wait(min(wait_s, max(0.0, self._next_change - self.now())))
                return changed
        self._run_call(call)
        return True

    @property
    def _next_change(self) -> float:
        """When something is to be done even if nothing happens."""
        board = self.core.board
        return min(board.linger.next, board.policy.review_at, self.optimizer.next)

    def _run_call(self, call: Call) -> None:
        report = self.call_runner.run(call)
        with self._changed:
            if not self._over:
                self._handle_locked(CallEnded(self.now(), call.slot, *report))

    def _cut(self) -> Cut:
        with self._between_calls.hold(0.0 if self.call_runner.stopping else PATIENCE_S):
            app, states = self._app, self.caller.states
            return take_cut(app, self.core, states, self.sinks, self.positions, self.clock, self.joining)

    # The core ----------------------------------------------------------------------------------------------------

    def _handle(self, event_at: Callable[[float], Event]) -> list[Instruction]:
        """Give the core an event that happens now, and carry out its instructions."""
        with self._changed:
            return self._handle_locked(event_at(self.now()))

    def _handle_locked(self, event: Event) -> list[Instruction]:
        """As `_handle`, with the lock held. Leaves StartCall to the caller."""
        instructions = self._carry_out(event)
        if event.at >= self.optimizer.next:
            for change in self.optimizer.review():
                instructions += self._carry_out(change)
        return instructions

    def _carry_out(self, event: Event) -> list[Instruction]:
        """Let the core process an event, and do what it answers."""
        if self._log is not None:
            self._log.record(event)
        instructions = self.core.handle(event)
        for instruction in instructions:
            match instruction:
                case WakeSlots():
                    self._changed.notify_all()
                case UnitsChanged(plan=plan, units=units):
                    self.caller.keep(plan, units)
                    self.optimizer.set_plan()
                case ForgetState(operators=operators):
                    self.caller.states.forget(operators)
                case QueryEnded(query=query, error=error, waiting=waiting):
                    self._note_ended(query, error, waiting)
                case RunFinished():
                    self._done.set()
        return instructions

    def _fail(self, errors: Mapping[str, Exception]) -> None:
        """These queries cannot go on."""
        if errors:
            self._handle(lambda at: QueriesFailed(at, errors))

    def _note_ended(self, query: str, error: Exception | None, waiting: int = 0) -> None:
        given_up = f" ({waiting} waiting tuples are given up)" if waiting else ""
        self.unprocessed[query] = waiting
        if error is None:
            log.info("query %s was stopped%s", query, given_up)
            return
        self.errors[query] = essence(error)
        log.error("query %s stopped: %s%s", query, self.errors[query], given_up, extra={"query": query})

    # The end -----------------------------------------------------------------------------------------------------

    def _break(self, error: Exception) -> None:
        self._fatal = error  # `wait` raises it
        self._done.set()

    def _end_threads(self) -> None:
        """Stop reading sources, let calls in flight finish, and cancel those that take too long."""
        self.sources.stop()
        with self._changed:
            self.call_runner.stopping = True
            self._slots.stop()
            self._changed.notify_all()
        self.sources.join(GRACE_S)
        if not self._slots.join(GRACE_S):
            log.warning("calls in flight take too long and are cancelled")
            self.call_runner.cancel()
            self._slots.join(GRACE_S)

    def _close_sinks(self) -> None:
        """Close all sinks. If one fails, that is an error of its query."""
        for name, error in self.sinks.close().items():
            if name not in self.errors:  # a sink that failed before is likely to fail again, for the same reason
                self._note_ended(name, error)
        self.dead_letters.close()

    def _report(self, seconds: float) -> dict[str, Any]:
        found = run_report(self.core, self._app.slots, seconds, self.optimizer, self.sources)
        found |= {"dead_letters": self.dead_letters.report(), "checkpoints": self.checkpoints.report()}
        found |= {"errors": dict(self.errors), "unprocessed": dict(self.unprocessed)}
        return found | self.sinks.report(self.errors) | self.caller.report(self.core.plan)
