"""The Spark runtime: wires sources, queues, board, slots and sinks together and runs them on wall time."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.connect.dead_letters import DeadLetters
from headgate.metrics.learning import LearnedStats
from headgate.metrics.monitor import Monitor
from headgate.plan.model import Edge
from headgate.plan.operators.base import Port
from headgate.policies.registry import make_policy
from headgate.runtime.spark.administration import Administered
from headgate.runtime.spark.budget import take
from headgate.runtime.spark.calls.caller import Caller
from headgate.runtime.spark.calls.job import JobResult
from headgate.runtime.spark.calls.rehearsal import rehearsal_s, rehearses, sample, warm_up
from headgate.runtime.spark.calls.user_functions import took_too_long
from headgate.runtime.spark.failures.error_messages import essence
from headgate.runtime.spark.failures.isolate import Apart
from headgate.runtime.spark.feed import Feed, open_sources
from headgate.runtime.spark.flight import Call, join_all, latencies, newest, rows_of, unfinished
from headgate.runtime.spark.launch.session import (
    goes_with_spark,
    lost_spark,
    own_session,
    spark_runs,
    start_spark,
    stop_spark,
)
from headgate.runtime.spark.outcome import Outcome
from headgate.runtime.spark.outputs import Outputs
from headgate.runtime.spark.setup import make_caller
from headgate.runtime.spark.spill import SpillFolder
from headgate.runtime.spark.suspects import Suspects
from headgate.scheduling.board import Board
from headgate.scheduling.patience import Patience
from headgate.scheduling.queue import BatchQueue, Memory, SpillError
from headgate.scheduling.timekeeper import Timekeeper
from headgate.scheduling.units import Unit

log = logging.getLogger("headgate.spark")

QUEUE_BYTES = 512 * 2**20  # queues in memory; above it they spill, and replayable sources wait at half of it
STATS_PERIOD_S = 1.0  # how often policies learn of changed statistics
LOOK_S = 1.0  # how often units that wait for a boundary are looked at, whatever happens
GRACE_S = 10.0  # how long calls in flight may take to end when a run stops
_runs = itertools.count(1)


class SparkRuntime(Administered):
    """One run of an application on Spark.

    `start` begins it, `wait` lasts until its limits, `stop` ends it cleanly and returns the report. A query whose
    call fails stops with its error in the report; the others go on.
    """

    def __init__(
        self,
        app: CheckedApplication,
        spark: SparkSession | None = None,
        queue_bytes: int = QUEUE_BYTES,
        partitioned_rows: int | None = None,
        monitor: Monitor | None = None,
        tell: Callable[[str], None] = lambda doing: None,
    ) -> None:
        self._app = app
        self._tell = tell  # is called with what is being done, until the run begins
        self._monitor = monitor or Monitor(app.plan)
        self._opened = ExitStack()  # what the run holds besides sinks and threads; let go of when it ends
        owns_spark = spark is None and not spark_runs()
        tell("starting Spark")
        self._spark = spark or start_spark(app.spark)
        if owns_spark:
            self._opened.callback(stop_spark, self._spark)
        try:
            self._set_up(queue_bytes, partitioned_rows)
        except BaseException:
            self._opened.close()
            raise

    def _set_up(self, queue_bytes: int, partitioned_rows: int | None) -> None:
        app = self._app
        self._began: float | None = None
        self._tell(f"letting Spark check {len(app.plan.queries)} queries")
        self._session = own_session(self._spark)
        self._caller: Caller = make_caller(self._session, app, partitioned_rows)
        self._opened.callback(self._caller.close)
        self._plan, self._policy = app.plan, app.policy
        self._spill = SpillFolder()
        self._opened.callback(self._spill.close)
        goes_with_spark(self._spark, self._spill.path)
        self._memory = Memory(queue_bytes, self._spill)
        self._wait_bytes = queue_bytes // 2  # from here on replayable sources wait
        self._queues = {edge: BatchQueue(self._memory, f"{edge.operator}:{edge.input}") for edge in app.plan.edges}
        self._time = Timekeeper(app.plan, self._queues)
        self._stats = LearnedStats(app.plan)
        policy, latency = make_policy(app.policy.name, app.policy.parameters), self._monitor.recent
        most_bytes = queue_bytes / 4 / max(1, len(app.plan.queries))
        self._patience = Patience(self._time.reaches, self._is_due, most_bytes, self._is_pressed)
        parts = (app.plan, self._queues, policy, self._stats, app.slots)
        self._board = Board(*parts, call_fixed_s=None, latency=latency, seed=app.seed, patience=self._patience)
        self._caller.keep(self._board.plan, self._board.units)
        self._changed = threading.Condition()  # guards board, queues, stats and monitor
        self._done = threading.Event()
        self._fatal: Exception | None = None
        self._stopping = False
        self._group = f"headgate-{next(_runs)}"
        self._stats_due = self._look_due = 0.0
        self._feed: Feed | None = None
        self._slots: list[InheritableThread] = []
        self._flying: dict[int, Call] = {}  # by slot
        self._suspects = Suspects()
        self._described: dict[int, str] = {}  # slot -> the unit its Spark jobs are named after
        self.errors: dict[str, str] = {}  # query -> why it stopped
        self.unprocessed: dict[str, int] = {}  # query that stopped -> tuples that waited for it
        self.sinks = Outputs()
        self.dead_letters = DeadLetters(app.dead_letters, app.name)

    # A run, from outside -----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the sinks and start the clock. `step` and `deliver` work from here on."""
        self.sinks.open(self._app.plan, self._app.folder, self._app.name)
        self.dead_letters.begin()
        self._began = time.monotonic()

    def start(self) -> None:
        """Open everything, rehearse on a sample, and let source and slot threads go.

        When that fails or is interrupted, nothing stays behind: what was opened is closed, then the error goes on.
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
            warm_up(self._caller, self._plan, self._board.units, samples, rehearsal_s(app), self._tell)
        sources = open_sources(app, letters=self.dead_letters)
        self._began = time.monotonic()
        told = (self.deliver, self.ended, self._break)
        asked = (self._memory_short, self._patience.next_boundary, lambda: self._time.open)
        self._feed = Feed(sources, self.now, *told, *asked)
        self._slots = [
            InheritableThread(target=self._slot, args=(number,), name=f"headgate-slot-{number}", daemon=True)
            for number in range(app.slots)
        ]
        self._feed.start()
        for slot in self._slots:
            slot.start()

    def now(self) -> float:
        """Seconds since the run began; 0 before."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def wait(self, limits: RunLimits, tick: Callable[[], None] | None = None, tick_s: float = 0.5) -> None:
        """Return when the limits are reached or no query is left; `tick` is called now and then.

        Raises what a slot raised when the scheduler itself failed.
        """
        while limits.seconds is None or self.now() < limits.seconds:
            left = tick_s if limits.seconds is None else min(tick_s, max(0.0, limits.seconds - self.now()))
            if self._done.wait(left):
                if self._fatal is not None:
                    raise self._fatal
                if limits.until_idle or limits.seconds is None or not self._plan.queries:
                    return
                time.sleep(left)  # nothing more will happen, but so many seconds were asked for
            failed = self.sinks.refresh(self._plan.queries)
            with self._changed:
                self._stop_queries(failed)
            if tick is not None:
                tick()

    def stop(self) -> dict[str, Any]:
        """End the run: calls in flight may finish, the rest stays in the queues. Returns the report."""
        with self._opened:
            seconds = self.now()
            self._end_threads()
            self._close_sinks()
            with self._changed:
                for queue in self._queues.values():
                    queue.check()
                self._memory.close()
                return self._report(seconds)

    def report(self) -> dict[str, Any]:
        """The report as of now, while running."""
        with self._changed:
            return self._report(self.now())

    def unfinished(self) -> dict[str, int]:
        """Tuples that wait in the queues of each query or that a call has in hand."""
        with self._changed:
            held = unfinished(self._queues, self._flying.values())
            return {query.name: sum(held[name] for name in query.operators) for query in self._plan.queries.values()}

    # Data comes in -----------------------------------------------------------------------------------------------

    def deliver(
        self, came: Mapping[str, pa.Table], complete: Collection[str] = (), now: float = 0.0
    ) -> dict[str, Exception]:
        """Tuples arrived on streams, all up to `now` on the `complete` ones; slots see them in one step.
        Returns the streams whose tuples could not be taken in, and why."""
        failed: dict[str, Exception] = {}
        with self._changed:
            board, now_us = self._board, round(now * 1e6)
            board.now = self.now()
            for stream, table in came.items():
                try:
                    self._admit(stream, table)
                except Exception as error:
                    failed[stream] = error
                    self._stop_queries(dict.fromkeys(self._plan.readers(stream), error))  # makes room for the others
            ticking = [stream for stream in complete if stream not in failed and self._time.ticks(stream)]
            due = [name for stream in ticking for name in self._time.tick(stream, now_us)]
            crossed = [stream for stream in ticking if self._patience.crosses(stream, now_us)]
            self._announce(due)
            if due or crossed:
                board.look_again()
            if came or due or crossed:
                self._monitor.memory(board.now, board.memory)
                self._changed.notify_all()
        return failed

    def _admit(self, stream: str, table: pa.Table) -> None:
        """Put tuples in front of every operator that reads their stream. Lock held."""
        edges = self._plan.consumers[Port(stream)]
        if not edges:  # its queries have stopped since it was read
            return
        self._board.arrived += table.num_rows
        came = self._time.admit(stream, table)
        self._stats.arrived(stream, came.table.num_rows, came.table.nbytes)
        for edge in edges:
            self._queues[edge].put(came.table)
        due = self._time.advance(stream, came)
        for edge in edges:
            self._board.fed(edge)
        for query in self._plan.readers(stream):
            self._monitor.arrived(query, table.num_rows)
        self._announce(due)

    def ended(self, stream: str, error: Exception | None = None) -> None:
        """No more tuples will arrive on a stream; with an error, the queries that read it stop."""
        with self._changed:
            if error is not None:
                self._stop_queries(dict.fromkeys(self._plan.readers(stream), error))
            self._announce(self._time.end(stream))
            self._board.look_again()
            self._note_idle()
            self._changed.notify_all()

    def _announce(self, due: Iterable[str]) -> None:
        """Operators with state have something to do because time has passed. Lock held."""
        for name in due:
            edge = Edge(name, 0)
            if self._queues[edge].due is None:
                self._queues[edge].due = self.now()
                self._board.fed(edge)

    def _is_due(self, unit: Unit) -> bool:
        return any(self._queues[edge].due is not None for edge in unit.edges)

    def _memory_short(self) -> bool:
        return self._memory.used > self._wait_bytes or self._memory.short

    def _is_pressed(self) -> bool:
        """Do sources wait for memory, and no unit is ready that would free some?"""
        return self._memory_short() and not self._board.ready_units

    # Slots run units ---------------------------------------------------------------------------------------------

    def _slot(self, slot: int) -> None:
        """What a slot thread does until the run stops. A policy that breaks the rules ends the run, loudly."""
        try:
            while not self._stopping:
                self.step(slot, patience_s=0.1)
        except Exception as error:
            log.exception("slot %d failed", slot)
            self._break(error)

    def _break(self, error: Exception) -> None:
        self._fatal = error  # `wait` raises it
        self._done.set()

    def step(self, slot: int, patience_s: float = 0.0) -> bool:
        """Make one call: claim, run, publish. False when the policy has nothing for this slot now; then it waits
        up to `patience_s` for something to change."""
        with self._changed:
            self._board.now = self.now()
            self._look_at_patient()
            claim = self._board.claim(slot)
            if claim is None:
                self._note_idle()
                if patience_s and not self._stopping:
                    self._changed.wait(patience_s)
                return False
            unit, plan = claim.decision.unit, self._plan
            try:
                inputs = take(claim.decision, self._board, self._suspects)
            except SpillError as error:
                self._board.release(claim, 0, 0)
                self._stop_queries(dict.fromkeys(unit.queries, error))
                self._note_idle()
                self._changed.notify_all()
                return True
            for edge in unit.edges:
                self._queues[edge].due = None
            call = Call(claim, plan, inputs, self._time.begin(unit.operators), newest(inputs, self._board.now))
            self._flying[slot] = call
            once = self._suspects.among(unit.edges)
        if self._described.get(slot) != unit.id:
            self._described[slot] = unit.id
            self._spark.sparkContext.setJobGroup(self._group, f"{', '.join(unit.queries)}: {unit.id}", True)
        try:
            result = self._caller.run(unit.operators, inputs, plan, call.bounds, call.now_us, once)
        except Exception as error:
            self._rescue(call, error, once)
        else:
            self._publish(call, Outcome([result]))
        return True

    def _look_at_patient(self) -> None:
        """Nothing else tells a unit that it has waited long enough, or that sources wait for its memory. Lock held."""
        if self._board.now >= self._look_due or self._is_pressed():
            self._look_due = self._board.now + LOOK_S
            self._board.look_again()

    def _publish(self, call: Call, outcome: Outcome) -> None:
        """Hand results to sinks and queues, learn from the call, free the unit."""
        written: dict[str, list[pa.Table]] = {}
        failed: dict[str, Exception] = {}  # query -> its error
        for row in outcome.bad:
            row.put_aside(self._plan, self.dead_letters)
        for result in outcome.results:
            for port, table in result.outputs.items():
                for query in self._plan.sinks.get(port, ()):
                    self.sinks.write(query, table, self._time, written, failed)
        with self._changed:
            board = self._board
            board.now = self.now()
            for query, tables in written.items():
                for table in tables:
                    self._monitor.results(query, board.now, latencies(table, board.now))
            for result in outcome.results:
                self._learn(result)
            if (spill_error := outcome.hand_on(self._plan, self._queues, board.fed)) is not None:
                failed.update(dict.fromkeys(call.claim.decision.unit.queries, spill_error))
            self._note_progress(call, outcome)
            rows = rows_of(call.inputs) - rows_of(outcome.unused)
            del self._flying[call.claim.slot]
            board.release(call.claim, rows, sum(t.num_rows for tables in written.values() for t in tables))
            self._monitor.memory(board.now, board.memory)
            self._suspects.clear(call.inputs)
            self._suspects.failed(outcome.unused)
            self._stop_queries({**failed, **outcome.failed})
            self._note_idle()
            self._changed.notify_all()

    def _note_progress(self, call: Call, outcome: Outcome) -> None:
        """Operators with state that ran have evaluated their instants; the rest of the call has not. Lock held."""
        evaluated = {name: call.bounds[name] for name in outcome.events}
        settled = self._time.finish(call.claim.decision.unit.operators, evaluated, outcome.events, outcome.given)
        self._announce(settled.due)
        self._board.look_again(settled.moved)  # only there can a boundary have been reached

    def _learn(self, result: JobResult) -> None:
        if not result.steady:
            return
        sizes = {port: table.nbytes for port, table in result.outputs.items()}
        self._stats.learn(result.taken, result.given, result.seconds, sizes, entered=result.taken_by)
        self._board.call_fixed_s = self._stats.call_fixed_s
        if self._board.now >= self._stats_due:
            self._stats_due = self._board.now + STATS_PERIOD_S
            self._board.learned()
            self._caller.keep(self._board.plan, self._board.units)

    # When something fails ----------------------------------------------------------------------------------------

    def _rescue(self, call: Call, error: Exception, suspect: bool) -> None:
        """A call failed: run it again in parts, so that only the queries that must stop do.

        It is told once: here when the fault has passed, else when queries stop.
        """
        unit = call.claim.decision.unit
        if not self._stopping and (gone := lost_spark(error)):
            self._stopping = True
            self._break(gone)
        if self._stopping:  # cut off by the end of the run: its input stays in the queues
            self._publish(call, Outcome(unused=dict(call.inputs)))
            return
        outcome = Apart(self._caller, call, suspect or took_too_long(error), lambda: self._stopping).run()
        if not (outcome.failed or outcome.bad or outcome.unused or self._stopping):
            log.warning("a call of %s failed and went well at the second attempt: %s", unit.id, essence(error))
        self._publish(call, outcome)

    def _stop_queries(self, failed: Mapping[str, Exception]) -> None:
        """Take queries out of the plan and give up what waits for them alone. Lock held."""
        known = {name: error for name, error in failed.items() if name in self._plan.queries}
        if not known:
            return
        plan = self._plan.without(known)
        gone = {edge: queue for edge, queue in self._queues.items() if edge.operator not in plan.operators}
        for name, error in known.items():
            mine = self._plan.queries[name].operators
            self._say_stopped(name, error, sum(queue.count for edge, queue in gone.items() if edge.operator in mine))
        self._plan, self._queues = plan, {edge: queue for edge, queue in self._queues.items() if edge not in gone}
        self._time.use(plan, self._queues)
        self._caller.states.forget({edge.operator for edge in gone})
        self._board.now = self.now()
        self._board.install(self._board.policy, plan)
        self._caller.keep(self._board.plan, self._board.units)
        for queue in gone.values():
            queue.close()
        if not self._plan.queries:
            self._done.set()

    def _say_stopped(self, query: str, error: Exception, waiting: int = 0) -> None:
        self.errors[query], self.unprocessed[query] = essence(error), waiting
        given_up = f" ({waiting} waiting tuples are given up)" if waiting else ""
        log.error("query %s stopped: %s%s", query, self.errors[query], given_up)

    # The end -----------------------------------------------------------------------------------------------------

    def _note_idle(self) -> None:
        """Set `done` when nothing can happen any more. Lock held."""
        due = any(queue.due is not None for queue in self._queues.values())
        if not (due or self._time.open or self._board.flying or any(self.unfinished().values())):
            self._done.set()

    def _end_threads(self) -> None:
        """Stop reading sources, let calls in flight finish, cancel those that take too long."""
        if self._feed is not None:
            self._feed.stop()
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._feed is not None and self._feed.is_alive():
            self._feed.join(GRACE_S)
        if not join_all(self._slots, GRACE_S):
            log.warning("calls in flight take too long and are cancelled")
            self._spark.sparkContext.cancelJobGroup(self._group)
            join_all(self._slots, GRACE_S)

    def _close_sinks(self) -> None:
        """Results that cannot be brought to an end count as an error of their query."""
        for name, error in self.sinks.close().items():
            if name not in self.errors:  # a sink that failed before is likely to fail again, for the same reason
                self._say_stopped(name, error)
        self.dead_letters.close()

    def _report(self, seconds: float) -> dict[str, Any]:
        report = self._monitor.report("spark", self._policy.name, self._app.slots, seconds, self._board.policy)
        rejected = dict(self._feed.rejected) if self._feed else {}
        told = {"rounds": self._board.rounds, "stats": self._stats.summary(), "late": self._time.late}
        told |= {"rejected": rejected, "dead_letters": self.dead_letters.told()}
        told |= {"errors": dict(self.errors), "unprocessed": dict(self.unprocessed)}
        return report | told | self._caller.told(self._plan)


def run(
    app: CheckedApplication,
    limits: RunLimits,
    spark: SparkSession | None = None,
    tick: Callable[[SparkRuntime], None] | None = None,
) -> dict[str, Any]:
    """Run an application on Spark until its limits or Ctrl-C; returns the report."""
    runtime = SparkRuntime(app, spark)
    runtime.start()
    try:
        runtime.wait(limits, None if tick is None else lambda: tick(runtime))
    except KeyboardInterrupt:
        log.info("stopping")
    except BaseException:
        runtime.stop()
        raise
    return runtime.stop()
