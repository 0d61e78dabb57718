"""After a failed call: finds which row made which operator fail, and saves what can be saved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from headgate.plan.model import Edge, Plan
from headgate.policies.query_shares import sharing_groups
from headgate.runtime.spark.calls.caller import Caller
from headgate.runtime.spark.failures.bad_rows import BadRow, bad_row, operator_error
from headgate.scheduling.calls import Call, CallResult, Outcome

Tables = Mapping[Edge, pa.Table]
Run = Callable[[Collection[str], Tables], CallResult]  # some operators on some input


class Rescued(NamedTuple):
    """What could be saved of a failed call, and the rows that queries go on without."""

    outcome: Outcome
    bad: list[BadRow]


class Rescue:
    """A failed call, run again in parts. Used by a slot, without the lock.

    `suspect`: calls with these rows have failed before, or took too long to be repeated unchanged. Once `stopping`,
    nothing more is run, and a call that was cut off does not count as a failure.
    """

    def __init__(
        self, caller: Caller, call: Call, suspect: bool = False, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._caller = caller
        self._call = call
        self._suspect = suspect
        self._stopping = stopping
        self._members = set(call.operators)
        self._outcome = Outcome()
        self._bad: list[BadRow] = []

    def run(self) -> Rescued:
        """Run the parts of the unit that share nothing one by one. This also repeats a call after a passing fault.

        If a part's queries skip bad rows, its operators are run one by one, and the input of the one that fails is
        halved until the bad rows are found: such an operator treats each row by itself, so these calls are cheap. If a
        query must stop, the results of the rows before the bad one still count. So if its part fails again, the rows
        go back to their queues, and ordinary calls take them in halves; a single row that fails is narrowed down by
        running the operators one by one.
        """
        parts = _connected(self._call.plan, [name for name in self._call.plan.operators if name in self._members])
        for part in parts:
            given = {edge: table for edge, table in self._call.inputs.items() if edge.operator in part}
            if not given and self._call.bounds.keys().isdisjoint(part):
                continue
            single = all(table.num_rows <= 1 for table in given.values())
            skips = self._skips(part)
            once_more = not skips and (len(parts) > 1 or not (self._suspect or single))
            result = self._tried(part, given) if once_more and not self._stopping() else None
            if result is not None:
                self._outcome.results.append(result)
            elif (single or skips) and not self._stopping():
                self._one_by_one(part)
            else:
                self._outcome.unused.update(given)
        return Rescued(self._outcome, self._bad)

    def _skips(self, part: Sequence[str]) -> bool:
        """Do all queries that the operators work for go on without bad rows?"""
        plan = self._call.plan
        return all(plan.queries[query].on_error == "skip" for name in part for query in plan.owners[name])

    def _run(self, names: Collection[str], given: Tables) -> CallResult:
        call = self._call
        result = self._caller.run(names, given, call.plan, call.bounds, call.now_us, True)
        # All operators of the unit count as having taken part, so that no results for them go through the queues.
        return replace(result, rows_in=dict.fromkeys(self._members, 0) | dict(result.rows_in), steady=False)

    def _tried(self, part: Sequence[str], given: Tables) -> CallResult | None:
        try:
            return self._run(part, given)
        except Exception:
            return None

    def _one_by_one(self, part: Sequence[str]) -> None:
        inside: dict[Edge, pa.Table] = {}
        blocked: set[str] = set()  # operators whose input did not come through
        for name in part:
            queued = {edge: table for edge, table in self._call.inputs.items() if edge.operator == name}
            made = {edge: table for edge, table in inside.items() if edge.operator == name}
            if not queued and not made and name not in self._call.bounds:
                continue
            waits = any(port.node in blocked for port in self._call.plan.operators[name].inputs)
            results = None if waits or self._stopping() else self._operator(name, _merged(queued, made))
            if results is None:
                self._outcome.unused.update(queued)
                self._outcome.stranded.update(made)
                blocked.add(name)
                continue
            for port in self._call.plan.operators[name].ports:
                tables = [result.outputs[port] for result in results if port in result.outputs]
                for edge in self._call.plan.consumers[port] if tables else ():
                    if edge.operator in part:
                        inside[edge] = pa.concat_tables(tables)
            self._outcome.results += results

    def _operator(self, name: str, given: Tables) -> list[CallResult] | None:
        """An operator's results for its good rows; None if its queries must stop or the run is stopping."""
        try:
            return [self._run((name,), given)]
        except Exception as error:
            if self._stopping():
                return None
            plan = self._call.plan
            if plan.operators[name].stateful or not given:
                self._outcome.failed.update(dict.fromkeys(plan.owners[name], operator_error(name, error)))
                return None
            if sum(table.num_rows for table in given.values()) == 1:
                edge = next(edge for edge, table in given.items() if table.num_rows)
                found: Iterable[CallResult | BadRow] = [bad_row(plan, name, given[edge], error)]
            else:
                found = self._isolate(name, given)
        results: list[CallResult] = []
        strict = [query for query in plan.owners[name] if plan.queries[query].on_error == "stop"]
        for one in found:
            if isinstance(one, CallResult):
                results.append(one)
            elif strict:
                self._outcome.failed.update(dict.fromkeys(strict, one.error))
                return None
            else:
                self._bad.append(one)
        return None if self._stopping() else results

    def _isolate(self, name: str, given: Tables) -> Iterator[CallResult | BadRow]:
        """The results of an operator that treats each row by itself, and the rows on which it fails, in order."""
        for edge, table in given.items():
            if not table.num_rows:
                continue
            yield from self._bisect(name, edge, table)

    def _bisect(self, name: str, edge: Edge, table: pa.Table) -> Iterator[CallResult | BadRow]:
        """The same for a table with a bad row. If it is not in the first half, it is in the second."""
        middle = table.num_rows // 2
        first, second = table.slice(0, middle), table.slice(middle)
        good = True
        for half in (first, second) if middle else (second,):
            if self._stopping():
                return
            if half is second and good and half.num_rows > 1:
                yield from self._bisect(name, edge, half)
                continue
            try:
                yield self._run((name,), {edge: half})
            except Exception as error:
                good = False
                if half.num_rows > 1:
                    yield from self._bisect(name, edge, half)
                elif not self._stopping():
                    yield bad_row(self._call.plan, name, half, error)


def _connected(plan: Plan, members: Collection[str]) -> list[tuple[str, ...]]:
    """The operators, inputs first, in parts that exchange no rows."""
    sources = {name: {port.node for port in plan.operators[name].inputs} for name in members}
    return sharing_groups({name: {name, *sources[name].intersection(members)} for name in members})


def _merged(queued: Tables, made: Tables) -> dict[Edge, pa.Table]:
    both = {edge: [t[edge] for t in (queued, made) if edge in t] for edge in {**queued, **made}}
    return {edge: tables[0] if len(tables) == 1 else pa.concat_tables(tables) for edge, tables in both.items()}
