"""Stands in for Spark in a twin: how long a call takes, and how many tuples come out of it."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.plan.boundaries import boundary_step
from headgate.plan.model import Edge
from headgate.plan.operators.base import Operator, Port
from headgate.scheduling.calls import Call, CallResult
from headgate.scheduling.policy import View
from headgate.sql.schema import ARRIVAL, FOREVER, TIME
from headgate.twin.call_times import CallTimes
from headgate.twin.snapshot import Snapshot, TimeLine
from headgate.twin.stand_ins import results

MOST_BOUNDARIES = 1000  # of one call: beyond, time has leapt, and nobody can tell what comes out

Ints = NDArray[np.int64]


class Stamps(NamedTuple):
    """Tuples inside a call."""

    arrivals: Ints
    times: Ints

    def some(self, places: Ints) -> Stamps:
        """The tuples at these places."""
        return Stamps(self.arrivals[places], self.times[places])


NONE = Stamps(np.empty(0, np.int64), np.empty(0, np.int64))


class TwinCaller:
    """Operators pass as many tuples as they did lately, evenly spread; a window gives as many results a boundary."""

    def __init__(self, snapshot: Snapshot, seed: int) -> None:
        self._snapshot = snapshot
        self._times = CallTimes(snapshot.calls, seed)
        self._random = np.random.default_rng(seed)
        self._carried: defaultdict[tuple[str, int, str], float] = defaultdict(float)  # fractions of tuples
        self._steps: dict[str, int | None] = {}
        self._lines: dict[str, TimeLine] = {}

    def run(self, call: Call, view: View, others: int) -> CallResult:
        """The result of a call that begins beside so many others; `seconds` is what it takes."""
        inside: dict[Edge, list[Stamps]] = {}
        outputs: dict[Port, pa.Table] = {}
        taken: dict[str, int] = {}
        entered: dict[Edge, int] = {}
        given: dict[Port, int] = {}
        for name in call.operators:
            operator = call.plan.operators[name]
            edges = [Edge(name, index) for index in range(len(operator.inputs))]
            came = [_joined([*inside.pop(edge, ()), *_waiting(call, edge)]) for edge in edges]
            entered |= {edge: len(rows.times) for edge, rows in zip(edges, came, strict=True)}
            taken[name] = sum(len(rows.times) for rows in came)
            for port in operator.ports:
                made = self._made(call, operator, port, came)
                given[port] = len(made.times)
                inner = [edge for edge in call.plan.consumers[port] if edge.operator in call.operators]
                for edge in inner:
                    inside.setdefault(edge, []).append(made)
                if len(made.times) and (port in call.plan.sinks or len(inner) < len(call.plan.consumers[port])):
                    outputs[port] = results(*made, self._snapshot.stats.of(name).tuple_bytes)
        seconds = self._times.seconds(call, view, others)
        nexts = {name: self._next_instant(call, name) for name in call.bounds}
        return CallResult(outputs, taken, entered, given, seconds, "twin", next_instants=nexts)

    def _made(self, call: Call, operator: Operator, port: Port, came: list[Stamps]) -> Stamps:
        if operator.id in call.bounds and (step := self._step(call, operator.id)) is not None:
            return self._at_boundaries(call, operator, step)
        stats = self._snapshot.stats.of(operator.id)
        parts = []
        for index, rows in enumerate(came):
            share = stats.passing(index, port.branch)
            parts.append(self._passed(rows, 1.0 if share is None else share, (operator.id, index, port.branch)))
        return _joined(parts)

    def _passed(self, rows: Stamps, share: float, key: tuple[str, int, str]) -> Stamps:
        count = len(rows.times)
        if not count or share == 1.0:
            return rows
        exact = count * share + self._carried[key]
        passed = int(exact)
        self._carried[key] = exact - passed
        return rows.some(((np.arange(passed) + 0.5) * count / max(1, passed)).astype(np.int64))

    def _at_boundaries(self, call: Call, operator: Operator, step: int) -> Stamps:
        """The results of the boundaries that this call evaluates; those before the snapshot are over."""
        line = self._line(call, operator.id)
        start, end = call.bounds[operator.id]
        begin = round(float(line.time(np.array([self._snapshot.at * 1e6]))[0]))
        first, last = max(start, begin) // step + 1, end // step
        rows = self._snapshot.boundary_rows.get(operator.id)
        if last < first or last - first >= MOST_BOUNDARIES or rows is None:
            return NONE
        exact = (last - first + 1) * rows + self._carried[operator.id, 0, ""]
        count = int(exact)
        self._carried[operator.id, 0, ""] = exact - count
        times = np.linspace(first, last, count).astype(np.int64) * step if count else NONE.times
        ages = self._ages(call, operator.id)
        arrivals = np.array([line.arrival(float(time)) for time in times], dtype=np.float64)
        return Stamps((arrivals - self._random.choice(ages, count)).astype(np.int64), times)

    def _ages(self, call: Call, operator: str) -> list[float]:
        """How much older the results of a boundary are than it."""
        known = [self._snapshot.ages[name] for name in call.plan.owners[operator] if self._snapshot.ages.get(name)]
        return list(known[0]) if known else [0.0]

    def _next_instant(self, call: Call, name: str) -> int:
        step, end = self._step(call, name), call.bounds[name].end
        if step is None or end >= FOREVER or name not in self._snapshot.boundary_rows:
            return FOREVER
        return (end // step + 1) * step

    def _step(self, call: Call, name: str) -> int | None:
        if name not in self._steps:
            self._steps[name] = boundary_step(call.plan, name)
        return self._steps[name]

    def _line(self, call: Call, name: str) -> TimeLine:
        if name not in self._lines:
            query = call.plan.owners[name][0]
            stream = next(one for one in call.plan.streams if query in call.plan.readers(one))
            self._lines[name] = self._snapshot.streams[stream].line
        return self._lines[name]


def _waiting(call: Call, edge: Edge) -> list[Stamps]:
    table = call.inputs.get(edge)
    if table is None:
        return []
    times = pc.fill_null(table.column(TIME), 0)
    return [Stamps(table.column(ARRIVAL).to_numpy(), times.to_numpy())]


def _joined(parts: list[Stamps]) -> Stamps:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return NONE
    return Stamps(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
