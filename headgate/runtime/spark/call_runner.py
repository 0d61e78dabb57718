"""Runs calls from start to end: Spark computes them, failures are narrowed down, results reach the sinks."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from pyspark import SparkContext

from headgate.connect.dead_letters import DeadLetters
from headgate.plan.model import Plan
from headgate.runtime.spark.calls.caller import Caller
from headgate.runtime.spark.calls.user_functions import took_too_long
from headgate.runtime.spark.failures.error_messages import essence
from headgate.runtime.spark.failures.rescue import Rescue
from headgate.runtime.spark.internals.job_names import name_jobs
from headgate.runtime.spark.launch.session import lost_spark
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.scheduling.calls import Call, Outcome
from headgate.scheduling.core import Core
from headgate.scheduling.reference import Reference, Rows

log = logging.getLogger("headgate.spark")

LOADED_ROWS = 10_000  # of a reference whose call fails: few enough to be brought to the driver and tried one by one

_runs = itertools.count(1)


class CallReport(NamedTuple):
    """The outcome of a call, and which results the sinks took; the fields of `events.CallEnded`."""

    outcome: Outcome
    written: dict[str, list[pa.Table]]
    refused: dict[str, Exception]


class CallRunner:
    """Runs the calls of all slots of a run, without the runtime's lock."""

    def __init__(
        self,
        context: SparkContext,
        caller: Caller,
        core: Core,
        sinks: QuerySinks,
        letters: DeadLetters,
        spark_lost: Callable[[Exception], None],
    ) -> None:
        self.group = f"headgate-{next(_runs)}"  # of its Spark jobs
        self.stopping = False  # the run is ending: calls that fail from now on were cut off
        self._context = context
        self._caller = caller
        self._core = core
        self._sinks = sinks
        self._letters = letters
        self._spark_lost = spark_lost

    def run(self, call: Call) -> CallReport:
        """Run a call. Whatever goes wrong in it is in the report; nothing is raised."""
        unit = call.unit
        name_jobs(self.group, f"{', '.join(unit.queries)}: {unit.id}")
        try:
            result = self._caller.run(call.operators, call.inputs, call.plan, call.bounds, call.now_us, call.suspect)
            outcome = Outcome([result])
        except Exception as error:
            outcome = self._rescued(call, error)
        return self._published(outcome)

    def cancel(self) -> None:
        """Cancel the Spark jobs that are still running."""
        self._context.cancelJobGroup(self.group)
        self._caller.interrupt("the run ends")

    def _rescued(self, call: Call, error: Exception) -> Outcome:
        """A call failed: run it again in parts, so that only the queries that must end do.

        The failure is logged once: here if the second attempt succeeds, otherwise when queries end.
        """
        if not self.stopping and (gone := lost_spark(error)):
            self.stopping = True
            self._spark_lost(gone)
        if self.stopping:  # cut off by the end of the run: its input stays in the queues
            return Outcome(unused=dict(call.inputs))
        if any(isinstance(rows, Reference) for rows in call.inputs.values()):
            return self._referred_again(call, error)
        rescue = Rescue(self._caller, call, call.suspect or took_too_long(error), lambda: self.stopping)
        outcome, bad = rescue.run()
        if not (outcome.failed or bad or outcome.unused or self.stopping):
            log.warning("a call of %s failed and succeeded at the second attempt: %s", call.unit.id, essence(error))
        for row in bad:
            row.put_aside(self._core.plan, self._letters)
        return outcome

    def _referred_again(self, call: Call, error: Exception) -> Outcome:
        """A call over references failed: repeat it once, for a worker may have been lost. If that is no help, ordinary
        calls take its tuples in halves, until they are few enough to be looked at in the driver."""
        if not call.suspect:
            try:
                found = self._caller.run(call.operators, call.inputs, call.plan, call.bounds, call.now_us, True)
            except Exception as again:
                error = again
            else:
                log.warning("a call of %s failed and succeeded at the second attempt: %s", call.unit.id, essence(error))
                return Outcome([replace(found, steady=False)])
        if self.stopping or call.rows > LOADED_ROWS:
            return Outcome(unused=dict(call.inputs))
        try:
            inputs = {edge: self._loaded(rows, call.plan) for edge, rows in call.inputs.items()}
        except Exception as problem:  # its tuples are gone: nobody can go on without them
            return Outcome(failed=dict.fromkeys(call.unit.queries, problem))
        return self._rescued(replace(call, inputs=inputs), error)

    def _loaded(self, rows: Rows, plan: Plan) -> pa.Table:
        return self._caller.load(rows, plan) if isinstance(rows, Reference) else rows

    def _published(self, outcome: Outcome) -> CallReport:
        """Hand results to the sinks of the queries that still run."""
        done = CallReport(outcome, {}, {})
        for result in outcome.results:
            for port, table in result.outputs.items():
                for query in self._core.plan.sinks.get(port, ()):
                    self._sinks.write(query, table, self._core.time, done.written, done.refused)
        return done
