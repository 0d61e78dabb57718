"""Plans with state, and a runtime of plain lists that runs them in any order: to test how time passes through them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from headgate.language.catalog import Catalog
from headgate.language.compile import compile_query
from headgate.language.logical_tree import Readable
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Edge, Plan, Stream
from headgate.plan.operators import Operator, Port, StreamJoin
from headgate.plan.windows import RangeWindow
from headgate.scheduling.progress import BEGINNING, Bounds, timed_operators
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.scheduling.timekeeper import Timekeeper
from headgate.sql.schema import FOREVER, LATE, SEQUENCE, TIME, parse_schema
from tests.applications import bare_plan

SCHEMA = parse_schema("k INT, t BIGINT", "test")
SLACKS = {"s": 2.0, "r": 0.0, "z": 0.0}
STREAMS = {name: Stream(name, SCHEMA, {}, "t", slack) for name, slack in SLACKS.items()}
PLANS = {
    "one": {"q": "SELECT k, count(*) AS n FROM s [RANGE 3] WHERE k > 0 GROUP BY k"},
    "chain": {
        "q": "WITH i AS (ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 4] WHERE k > 0 GROUP BY k)) "
        "SELECT DISTINCT n FROM i [RANGE 2] WHERE k > 0"
    },
    "shared": {
        "a": "SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k",
        "b": "SELECT n, count(*) AS m FROM a GROUP BY n",
        "both": "SELECT a.k, n FROM a, r [RANGE 4] WHERE a.k = r.k",
        "plain": "SELECT k FROM s WHERE k > 0",
    },
    "three": {
        "j": "SELECT s.k FROM s [RANGE 3], r [RANGE 2], z WHERE s.k = r.k AND r.k = z.k",
        "w": "RSTREAM(SELECT k FROM s [RANGE 2] UNION ALL SELECT k FROM z [RANGE 6])",
        "d": "SELECT k FROM s [RANGE 4] EXCEPT SELECT k FROM r",
    },
}


def plan_of(
    queries: Mapping[str, str],
    known: Mapping[str, Stream] = STREAMS,
    classes: Mapping[str, int] = MappingProxyType({"c": 1}),
    class_of: Mapping[str, str] = MappingProxyType({}),
) -> Plan:
    """The plan of queries in CQL over the streams s (slack 2), r and z, all of columns k and t.

    `classes` have priorities; queries are of the first unless `class_of` says otherwise.
    """
    results: dict[str, Readable] = {}
    operators: list[Operator] = []
    for name, text in queries.items():
        found = compile_query(name, text, Catalog(known, {}, results))
        results[name] = found.result
        operators += found.operators
    read = {port.node for operator in operators for port in operator.inputs}
    streams = [stream for name, stream in known.items() if name in read]
    return bare_plan(streams, operators, {name: found.port for name, found in results.items()}, classes, class_of)


class Row(NamedTuple):
    """What matters of a row here: from when to when it counts; a late one has no place in time."""

    time: int | None
    until: int = FOREVER


@dataclass
class Queue:
    """A FIFO of rows that counts them as `BatchQueue` does."""

    rows: list[Row] = field(default_factory=list)
    admitted: int = 0
    thinned: bool = False

    @property
    def count(self) -> int:
        return len(self.rows)

    def put(self, rows: Sequence[Row]) -> None:
        self.rows += rows
        self.admitted += len(rows)

    def take(self, limit: int) -> list[Row]:
        taken, self.rows = self.rows[:limit], self.rows[limit:]
        return taken


@dataclass
class Memory:
    """What an operator with state remembers."""

    rows: list[Row] = field(default_factory=list)
    done: int = BEGINNING  # evaluated up to here


@dataclass
class Call:
    operators: tuple[str, ...]
    inputs: dict[Edge, list[Row]]
    bounds: Mapping[str, Bounds]


class Lists:
    """Runs a plan as the Spark runtime does, with a Timekeeper; results say only when something happened.

    A row has an event when it begins and one when it ends; an operator with state gives out one row for each event that
    it evaluates, a join each row at once. So results depend on the rows alone, if no row comes after its instant.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.queues = {edge: Queue() for edge in plan.edges}
        self.time = Timekeeper(plan, self.queues)
        self.memories = {name: Memory() for name, operator in plan.operators.items() if operator.stateful}
        self.due: set[str] = set()
        self.results: dict[str, Counter[Row]] = {name: Counter() for name in plan.queries}
        self.sent: dict[str, list[int]] = {name: [] for name in plan.streams}

    # Data comes in -----------------------------------------------------------------------------------------------

    def arrive(self, stream: str, times: Sequence[int]) -> None:
        first = len(self.sent[stream])
        self.sent[stream] += times
        came = self.time.admit(stream, source_table(times, first))
        for edge in self.plan.consumers[Port(stream)]:
            timed = edge.operator in timed_operators(self.plan)
            self.queues[edge].put(_rows(came.table, timed))
        self.due.update(self.time.advance(stream, came))

    def end(self, stream: str) -> None:
        self.due.update(self.time.end(stream))

    # Calls -------------------------------------------------------------------------------------------------------

    def begin(self, operators: Collection[str], limit: int) -> Call:
        """Take up to `limit` rows of each queue."""
        members = tuple(name for name in self.plan.operators if name in operators)
        edges = [edge for edge in self.plan.edges if edge.operator in members]
        inputs = {edge: taken for edge in edges if (taken := self.queues[edge].take(limit))}
        self.due.difference_update(members)
        bounds = self.time.begin(members)
        for name, within in bounds.items():
            assert within.end <= self._last(name), "time does not go on after the last event"
        return Call(members, inputs, bounds)

    def _last(self, operator: str) -> int:
        queries = self.plan.owners[operator]
        times = [t for s in self.plan.streams for q in queries if q in self.plan.readers(s) for t in self.sent[s]]
        return max(times, default=BEGINNING)

    def finish(self, call: Call, succeeded: int | None = None) -> tuple[str, ...]:
        """The call is over. Only the first `succeeded` of its operators, when given: the queries of the others stop.

        Returns those queries.
        """
        good = call.operators[:succeeded]
        inside: dict[Edge, list[Row]] = {}
        events: dict[str, int] = {}
        for name in good:
            operator = self.plan.operators.get(name)
            if operator is None:  # its queries stopped during the call
                continue
            rows = [
                call.inputs.get(Edge(name, i), []) + inside.pop(Edge(name, i), []) for i in range(len(operator.inputs))
            ]
            given = self._evaluated(operator, rows, call.bounds[name]) if operator.stateful else passed(rows)
            if operator.stateful:
                events[name] = self._next_event(name)
            for port in operator.ports:
                self._give(port, given, call, inside)
        failed = [name for name in call.operators if name not in good and name in self.plan.operators]
        for edge, rows_ in call.inputs.items():
            if edge.operator in failed:
                self.queues[edge].rows[:0] = rows_
        for edge, rows_ in inside.items():
            if edge in self.queues:
                self.queues[edge].put(rows_)
        evaluated = {name: call.bounds[name] for name in events}
        self.due.update(self.time.finish(call.operators, evaluated, events).due)
        stopped = tuple(dict.fromkeys(query for name in failed for query in self.plan.owners[name]))
        self.stop(stopped)
        return stopped

    def give_up(self, call: Call) -> None:
        """The call was cut off: its input goes back, nothing is remembered of it."""
        for edge, rows in call.inputs.items():
            if edge in self.queues:
                self.queues[edge].rows[:0] = rows
        self.due.update(self.time.finish(call.operators, {}, {}).due)
        self.due.update(name for name in call.operators if name in self.memories)

    def stop(self, queries: Collection[str]) -> None:
        if not queries:
            return
        self.plan = self.plan.without(queries)
        self.queues = {edge: queue for edge, queue in self.queues.items() if edge.operator in self.plan.operators}
        self.due &= set(self.plan.operators)
        self.time.set_plan(self.plan, self.queues)

    @property
    def ready(self) -> list[str]:
        """Operators that rows or instants wait for."""
        waiting = {edge.operator for edge, queue in self.queues.items() if queue.count}
        return [name for name in self.plan.operators if name in waiting or name in self.due]

    # Inside ------------------------------------------------------------------------------------------------------

    def _evaluated(self, operator: Operator, inputs: Sequence[list[Row]], bounds: Bounds) -> list[Row]:
        memory = self.memories[operator.id]
        assert memory.done <= bounds.start <= bounds.end, "instants are evaluated once, in order"
        fresh = [
            row for i, rows in enumerate(inputs) for row in windowed(rows, operator.windows[i], self.plan, operator, i)
        ]
        for row in fresh:
            assert row.time is not None and row.time > bounds.start, f"{operator.id}: {row} comes after {bounds}"  # noqa: PT018
        memory.done = bounds.end
        if isinstance(operator, StreamJoin):
            return fresh
        memory.rows += fresh
        instants = [at for row in memory.rows for at in row if at is not None and bounds.start < at <= bounds.end]
        memory.rows = [row for row in memory.rows if row.until > bounds.end]
        return [Row(at) for at in instants]

    def _next_event(self, name: str) -> int:
        memory = self.memories[name]
        return min((at for row in memory.rows for at in row if at is not None and at > memory.done), default=FOREVER)

    def _give(self, port: Port, rows: list[Row], call: Call, inside: dict[Edge, list[Row]]) -> None:
        for query in self.plan.sinks.get(port, ()):
            table = pa.table({TIME: pa.array([row.time for row in rows], pa.int64())})
            kept = self.time.up_to_last_event(query, table).column(TIME).to_pylist()
            self.results[query].update(Row(time) for time in kept)
        for edge in self.plan.consumers[port]:
            if edge.operator in call.operators:
                inside.setdefault(edge, []).extend(rows)
            elif edge in self.queues:
                self.queues[edge].put(rows)


def passed(inputs: Sequence[list[Row]]) -> list[Row]:
    return [row for rows in inputs for row in rows]


def windowed(rows: list[Row], window: object, plan: Plan, operator: Operator, index: int) -> list[Row]:
    """Rows with the end that the operator's own window gives them; late ones are left out."""
    placed = [row for row in rows if row.time is not None]
    if not isinstance(window, RangeWindow) or window.length is None:
        return placed
    length = window.length_ticks(plan.flows[operator.inputs[index]].clock)
    assert length is not None
    return [Row(row.time, row.time + length) for row in placed if row.time is not None]


def source_table(times: Sequence[int | None], first: int = 0) -> pa.Table:
    """Tuples as a source gives them."""
    at = list(range(first, first + len(times)))
    schema = arrow_schema(SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(([1] * len(at), times, at, at), schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _rows(table: pa.Table, timed: bool) -> list[Row]:
    """Arriving tuples; operators with state see no time on late ones."""
    rows = zip(table.column(TIME).to_pylist(), table.column(SEQUENCE).to_pylist(), strict=True)
    return [Row(None if timed and number >= LATE else time) for time, number in rows]


def in_one_go(
    plan: Plan, sent: Mapping[str, Sequence[int]], since: Mapping[str, Mapping[str, int]] = MappingProxyType({})
) -> dict[str, Counter[Row]]:
    """The results when every operator runs once, over everything.

    A query in `since` joined when so many tuples of each stream had been sent; it does not see those.
    """
    results: dict[str, Counter[Row]] = {}
    for name, query in plan.queries.items():
        last = max((t for s in plan.streams if name in plan.readers(s) for t in sent[s]), default=BEGINNING)
        found: dict[Port, list[Row]] = {}
        for stream in plan.streams:
            came = StreamEntrance(plan.streams[stream]).admit(source_table(sent[stream]))
            timed = any(plan.operators[o].stateful for o in query.operators)
            found[Port(stream)] = _rows(came.table, timed)[since.get(name, {}).get(stream, 0) :]
        for operator_name in query.operators:
            operator = plan.operators[operator_name]
            inputs = [found[port] for port in operator.inputs]
            rows = passed(inputs)
            if operator.stateful:
                rows = [
                    r for i, own in enumerate(inputs) for r in windowed(own, operator.windows[i], plan, operator, i)
                ]
                if not isinstance(operator, StreamJoin):
                    rows = [Row(at) for row in rows for at in row if at is not None and at <= last]
            found.update(dict.fromkeys(operator.ports, rows))
        kept = [row for row in found[query.root] if row.time is None or row.time <= last]
        results[name] = Counter(Row(row.time) for row in kept)
    return results
