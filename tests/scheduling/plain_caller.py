"""Callers of plain Python that evaluate unit calls, so that the scheduling core runs without Spark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Operator, Port, StreamJoin
from headgate.scheduling.calls import Call, CallResult
from headgate.scheduling.progress import BEGINNING, Bounds, timed_operators
from headgate.sql.schema import ARRIVAL, FOREVER, LATE, SEQUENCE, TIME, UNTIL
from tests.conformance.reference import operator_outputs
from tests.scheduling.timed import Row, passed, windowed

CALL_S = 0.01  # what a call costs, and
TUPLE_S = 0.001  # each tuple at each operator on top


class PlainCaller:
    """Evaluates the operators of a call one after the other. Two kinds of rows below."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, ...]] = []

    def run(self, call: Call) -> CallResult:
        members = tuple(name for name in call.plan.operators if name in call.operators)
        self.ran.append(members)
        inside: dict[Edge, list[Any]] = {}
        outputs: dict[Port, pa.Table] = {}
        given: dict[Port, int] = {}
        taken_by: dict[Edge, int] = {}
        for name in members:
            operator = call.plan.operators[name]
            edges = [Edge(name, index) for index in range(len(operator.inputs))]
            rows = [self.rows(call.inputs[e], call.plan, e) if e in call.inputs else [] for e in edges]
            rows = [own + inside.pop(edge, []) for own, edge in zip(rows, edges, strict=True)]
            taken_by |= {edge: len(own) for edge, own in zip(edges, rows, strict=True)}
            for port, made in self.evaluate(operator, rows, call).items():
                given[port] = len(made)
                leaves = port in call.plan.sinks
                for edge in call.plan.consumers[port]:
                    if edge.operator in members:
                        inside.setdefault(edge, []).extend(made)
                    else:
                        leaves = True
                if leaves:
                    outputs[port] = self.table(made, call)
        taken = {name: sum(rows for edge, rows in taken_by.items() if edge.operator == name) for name in members}
        seconds = CALL_S + TUPLE_S * sum(taken.values())
        return CallResult(outputs, taken, taken_by, given, seconds, "plain", next_instants=self.next_instants(call))

    def rows(self, table: pa.Table, plan: Plan, edge: Edge) -> list[Any]:
        raise NotImplementedError  # abstract

    def table(self, rows: list[Any], call: Call) -> pa.Table:
        raise NotImplementedError  # abstract

    def evaluate(self, operator: Operator, rows: list[list[Any]], call: Call) -> dict[Port, list[Any]]:
        raise NotImplementedError  # abstract

    def next_instants(self, call: Call) -> dict[str, int]:
        return {}


class ValueCaller(PlainCaller):
    """Computes the values of the stateless plans of `tests.conformance.strategies`."""

    def rows(self, table: pa.Table, plan: Plan, edge: Edge) -> list[Any]:
        columns = [table.column(name).to_pylist() for name in ("k", "v", SEQUENCE, ARRIVAL)]
        return [(k, v, (sequence, arrival)) for k, v, sequence, arrival in zip(*columns, strict=True)]

    def table(self, rows: list[Any], call: Call) -> pa.Table:
        columns = {
            "k": pa.array([row[0] for row in rows], pa.int32()),
            "v": pa.array([row[1] for row in rows], pa.int32()),
            ARRIVAL: pa.array([row[2][1] for row in rows], pa.int64()),
            SEQUENCE: pa.array([row[2][0] for row in rows], pa.int64()),
            TIME: pa.array([row[2][1] for row in rows], pa.int64()),
        }
        return pa.table(columns)

    def evaluate(self, operator: Operator, rows: list[list[Any]], call: Call) -> dict[Port, list[Any]]:
        return operator_outputs(operator, rows)


class TimedCaller(PlainCaller):
    """Evaluates instants for plans with state; what comes out says only when something happened (see `timed.Lists`)."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, list[Row]] = {}
        self._done: dict[str, int] = {}

    def rows(self, table: pa.Table, plan: Plan, edge: Edge) -> list[Any]:
        times = table.column(TIME).to_pylist()
        if SEQUENCE not in table.column_names:
            return [Row(*pair) for pair in zip(times, table.column(UNTIL).to_pylist(), strict=True)]
        timed = edge.operator in timed_operators(plan)  # operators with state see no time on late tuples
        late = [timed and number >= LATE for number in table.column(SEQUENCE).to_pylist()]
        return [Row(None if is_late else time) for time, is_late in zip(times, late, strict=True)]

    def table(self, rows: list[Any], call: Call) -> pa.Table:
        columns = {
            ARRIVAL: pa.array([call.now_us] * len(rows), pa.int64()),
            TIME: pa.array([row.time for row in rows], pa.int64()),
            UNTIL: pa.array([row.until for row in rows], pa.int64()),
        }
        return pa.table(columns)

    def evaluate(self, operator: Operator, rows: list[list[Any]], call: Call) -> dict[Port, list[Any]]:
        made = passed(rows)
        if operator.stateful:
            made = self._evaluated(operator, rows, call.plan, call.bounds[operator.id])
        return dict.fromkeys(operator.ports, made)

    def next_instants(self, call: Call) -> dict[str, int]:
        return {name: self._next_event(name) for name in call.bounds}

    def forget(self, operators: Collection[str]) -> None:
        for name in operators:
            self._rows.pop(name, None)
            self._done.pop(name, None)

    def _evaluated(self, operator: Operator, inputs: Sequence[list[Row]], plan: Plan, bounds: Bounds) -> list[Row]:
        assert self._done.get(operator.id, BEGINNING) <= bounds.start <= bounds.end, (
            "instants are evaluated once, in order"
        )
        fresh = [row for i, rows in enumerate(inputs) for row in windowed(rows, operator.windows[i], plan, operator, i)]
        assert all(row.time is not None and row.time > bounds.start for row in fresh), "a row comes after its instant"
        self._done[operator.id] = bounds.end
        if isinstance(operator, StreamJoin):
            return fresh
        kept = self._rows.get(operator.id, []) + fresh
        instants = [at for row in kept for at in row if at is not None and bounds.start < at <= bounds.end]
        self._rows[operator.id] = [row for row in kept if row.until > bounds.end]
        return [Row(at) for at in instants]

    def _next_event(self, name: str) -> int:
        done = self._done.get(name, BEGINNING)
        return min(
            (at for row in self._rows.get(name, ()) for at in row if at is not None and at > done), default=FOREVER
        )


def values_of(tables: Sequence[pa.Table]) -> list[tuple[int | None, int | None]]:
    """The user's columns of some results."""
    return [pair for table in tables for pair in zip(*(table.column(c).to_pylist() for c in ("k", "v")), strict=True)]


def times_of(tables: Sequence[pa.Table]) -> list[Row]:
    """The instants of some results."""
    return [Row(time) for table in tables for time in table.column(TIME).to_pylist()]
