"""After a failed call: which operator failed, and what can still be saved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from headgate.plan.model import Edge, Plan
from headgate.policies.shares import sharing_groups
from headgate.runtime.spark.calls import Caller
from headgate.runtime.spark.flight import Call
from headgate.runtime.spark.job import JobResult
from headgate.runtime.spark.outcome import Outcome

Run = Callable[[Collection[str], Mapping[Edge, pa.Table]], JobResult]  # some operators on some input


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


def _connected(plan: Plan, members: Collection[str]) -> list[tuple[str, ...]]:
    """The operators, inputs first, in parts between which no rows go."""
    sources = {name: {port.node for port in plan.operators[name].inputs} for name in members}
    return sharing_groups({name: {name, *sources[name].intersection(members)} for name in members})


def _merged(queued: Mapping[Edge, pa.Table], made: Mapping[Edge, pa.Table]) -> dict[Edge, pa.Table]:
    both = {edge: [t[edge] for t in (queued, made) if edge in t] for edge in {**queued, **made}}
    return {edge: tables[0] if len(tables) == 1 else pa.concat_tables(tables) for edge, tables in both.items()}
