"""Decides which joins are simulated pair by pair, and how long rows stay on their sides.

A pairwise simulation needs windows that follow from stamps, arrivals that are spread over time, and a probability that
a pair matches. Other joins pass tuples by the selectivity of the side, like any operator.
"""

from __future__ import annotations

import math

from headgate.application.checked import CheckedApplication
from headgate.plan.estimates import estimate, match_probabilities, window_seconds
from headgate.plan.model import Edge, Plan
from headgate.plan.operators import RowWindow, StreamJoin, TimeWindow
from headgate.plan.operators.base import Port
from headgate.plan.windows import Clock, RangeWindow, Window
from headgate.runtime.simulated.joins.join_window import ArrivalLog, Extent, JoinResultExtent, RowsExtent, TimeExtent
from headgate.runtime.simulated.joins.pair_join import PairJoin


def pair_joins(app: CheckedApplication) -> dict[str, PairJoin]:
    """The joins of an application that are simulated pair by pair, by operator; none in a fluid simulation."""
    return {} if app.simulator.fluid else _PairJoins(app).joins


class _PairJoins:
    def __init__(self, app: CheckedApplication) -> None:
        self._plan = app.plan
        joins = [operator for operator in app.plan.operators.values() if isinstance(operator, StreamJoin)]
        found = estimate(app.plan) if joins else None
        self._extents: dict[str, tuple[Extent, Extent]] = {}
        matches: dict[str, tuple[float, float]] = {}
        for join in joins:  # inputs first, so that upstream joins are known
            assert found is not None
            left, right = match_probabilities(join, found.selectivities, found.rows_held)
            extents = self._sides(join)
            if extents is not None and left is not None and right is not None and max(left, right) <= 1.0:
                self._extents[join.id] = extents
                matches[join.id] = (left, right)
        read = self._read_by_joins()
        self.joins = {
            name: PairJoin(name, app.seed, extents, matches[name], name in read)
            for name, extents in self._extents.items()
        }

    def _sides(self, join: StreamJoin) -> tuple[Extent, Extent] | None:
        left, right = (self._extent(port, w) for port, w in zip(join.inputs, join.windows, strict=True))
        if left is None or right is None:
            return None
        pair = (left, right)
        if any(isinstance(e, RowsExtent) for e in pair) and not all(
            isinstance(e, RowsExtent) or (isinstance(e, TimeExtent) and e.slide is None) for e in pair
        ):
            return None  # the number of rows up to a future boundary is unknown
        return pair

    def _extent(self, port: Port, window: Window | None) -> Extent | None:
        """How long rows of a port stay, under a window if the port is a stream; None if stamps do not determine it."""
        operator = self._plan.operators.get(port.node)
        if not self._plan.flows[port].relation:
            return self._time_extent(port, window) if isinstance(window, RangeWindow) or window is None else None
        if operator is None:
            return None
        if isinstance(operator, TimeWindow):
            return self._extent(operator.inputs[0], operator.window)
        if isinstance(operator, RowWindow):
            return self._rows_extent(operator)
        if isinstance(operator, StreamJoin):
            extents = self._extents.get(operator.id, ())
            known = extents and not any(isinstance(extent, RowsExtent) for extent in extents)
            return JoinResultExtent() if known else None
        if operator.stateful or len(operator.inputs) > 1:
            return None
        return self._extent(operator.inputs[0], None)

    def _time_extent(self, port: Port, window: RangeWindow | None) -> TimeExtent | None:
        clock = self._plan.flows[port].clock
        speeds = {_speed(self._plan, stream, clock) for stream in streams_of(self._plan, port)}
        if len(speeds) > 1 or None in speeds:
            return None
        speed = speeds.pop() or 1.0
        if window is None:
            return TimeExtent(math.inf)
        length = window_seconds(window, clock)
        slide = None if window.slide is None else window_seconds(RangeWindow(window.slide), clock)
        return TimeExtent(math.inf if length is None else length / speed, None if slide is None else slide / speed)

    def _rows_extent(self, operator: RowWindow) -> RowsExtent | None:
        """The extent of a ROWS window, counted in arrivals of its source stream, so that it does not depend on when
        they are processed. If upstream operators pass only a share of the tuples, the window spans more arrivals in
        proportion."""
        port, passed = operator.inputs[0], 1.0
        while port.node in self._plan.operators:
            before = self._plan.operators[port.node]
            if len(before.inputs) > 1 or before.stateful:
                return None
            side = before.declared.branches.get(port.branch, before.side(0).selectivity)
            passed *= 1.0 / len(before.branches) if side is None else side
            port = before.inputs[0]
        if operator.window.partition or not passed or _speed(self._plan, port.node, Clock.ARRIVAL) is None:
            return None
        return RowsExtent(ArrivalLog(port.node), max(1, round(operator.window.count / passed)))

    def _read_by_joins(self) -> set[str]:
        """The joins whose results reach another of these joins, through operators that treat each row separately."""
        found: set[str] = set()
        for name in self._extents:
            todo = [
                port
                for port, e in zip(self._plan.operators[name].inputs, self._extents[name], strict=True)
                if isinstance(e, JoinResultExtent)
            ]
            while todo:
                operator = self._plan.operators[todo.pop().node]
                if operator.id in self._extents:
                    found.add(operator.id)
                else:
                    todo += operator.inputs
        return found


def streams_of(plan: Plan, port: Port) -> set[str]:
    """The streams from which a port's rows originate."""
    if port.node in plan.streams:
        return {port.node}
    return {stream for source in plan.operators[port.node].inputs for stream in streams_of(plan, source)}


def upstream_edges(plan: Plan, edge: Edge) -> list[Edge]:
    """An input and all inputs that lead to it."""
    source = plan.operators[edge.operator].inputs[edge.input].node
    if source in plan.streams:
        return [edge]
    before = [Edge(source, index) for index in range(len(plan.operators[source].inputs))]
    return [edge, *(found for one in before for found in upstream_edges(plan, one))]


def _speed(plan: Plan, stream: str, clock: Clock) -> float | None:
    """Seconds of a stream's time per second of the run; None if all its tuples arrive at once."""
    replay = plan.streams[stream].source.get("replay")
    if replay == "fast":
        return None
    return float(replay) if isinstance(replay, (int, float)) and clock is not Clock.ARRIVAL else 1.0
