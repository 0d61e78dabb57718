"""What a slot publishes after a call, and after one that failed: which operator it was, and what can be saved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from headgate.flow.queue import BatchQueue, SpillError
from headgate.plan.model import Edge, Plan
from headgate.runtime.spark.calls import Caller
from headgate.runtime.spark.flight import Call
from headgate.runtime.spark.job import JobResult

Move = tuple[Edge, Callable[[BatchQueue, pa.Table], None], pa.Table]  # which queue, how, and what
Run = Callable[[Collection[str], Mapping[Edge, pa.Table]], JobResult]  # some operators on some input


@dataclass
class Outcome:
    """What a slot has to publish after a call."""

    results: list[JobResult] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)  # operator -> its error
    unused: dict[Edge, pa.Table] = field(default_factory=dict)  # input that goes back to its queue
    stranded: dict[Edge, pa.Table] = field(default_factory=dict)  # made for an operator that failed

    @property
    def events(self) -> dict[str, int]:
        """The operators with state that ran, and when each has something to do next."""
        return {name: event for result in self.results for name, event in result.events.items()}

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


def run_apart(caller: Caller, call: Call, stopping: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a failed call again in parts: a passing fault is thereby tried once more, a lasting one is found. Called by a
    slot, without the lock.

    Queries of the unit that share nothing are tried one by one, then the operators of those that fail. Once `stopping`,
    nothing more is run, and what was cut off is no failure.
    """
    members = set(call.claim.decision.unit.operators)

    def run(names: Collection[str], given: Mapping[Edge, pa.Table]) -> JobResult:
        result = caller.run(names, given, call.plan, call.bounds, call.now_us)
        # Named as taken, the unit's operators get nothing through their queues.
        return replace(result, taken=dict.fromkeys(members, 0) | dict(result.taken), steady=False)

    outcome = Outcome()
    parts = _connected(call.plan, [name for name in call.plan.operators if name in members])
    for part in parts:
        result = _tried(run, call, part) if len(parts) > 1 and not stopping() else None
        if result is None:
            _run_one_by_one(run, call, part, stopping, outcome)
        else:
            outcome.results.append(result)
    return outcome


def _tried(run: Run, call: Call, part: Sequence[str]) -> JobResult | None:
    """What a part of the unit gives; None when it has nothing to do, or fails: its operators will say why."""
    given = {edge: table for edge, table in call.inputs.items() if edge.operator in part}
    if not given and call.bounds.keys().isdisjoint(part):
        return None
    try:
        return run(part, given)
    except Exception:
        return None


def _run_one_by_one(run: Run, call: Call, part: Sequence[str], stopping: Callable[[], bool], outcome: Outcome) -> None:
    inside: dict[Edge, pa.Table] = {}
    for name in part:
        queued = {edge: table for edge, table in call.inputs.items() if edge.operator == name}
        made = {edge: table for edge, table in inside.items() if edge.operator == name}
        if not queued and not made and name not in call.bounds:
            continue
        result: JobResult | None = None
        try:
            if not stopping():
                result = run((name,), _merged(queued, made))
        except Exception as error:
            if not stopping():
                outcome.failed[name] = error
        if result is None:
            outcome.unused.update(queued)
            outcome.stranded.update(made)
            continue
        for port, table in result.outputs.items():
            inside.update({edge: table for edge in call.plan.consumers[port] if edge.operator in part})
        outcome.results.append(result)


def _connected(plan: Plan, members: Iterable[str]) -> list[list[str]]:
    """The operators, inputs first, in parts between which no rows go."""
    parts: list[list[str]] = []
    for name in members:
        sources = {port.node for port in plan.operators[name].inputs}
        mine = [part for part in parts if not sources.isdisjoint(part)]
        parts = [part for part in parts if part not in mine]
        parts.append([*(other for part in mine for other in part), name])
    return parts


def _merged(queued: Mapping[Edge, pa.Table], made: Mapping[Edge, pa.Table]) -> dict[Edge, pa.Table]:
    both = {edge: [t[edge] for t in (queued, made) if edge in t] for edge in {**queued, **made}}
    return {edge: tables[0] if len(tables) == 1 else pa.concat_tables(tables) for edge, tables in both.items()}
