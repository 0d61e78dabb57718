"""How many tuples to expect where, before anything has run: rates, sizes of relations, selectivities of joins.

A join of two windows is two semi-joins. A row on one side meets the rows that the other side's window holds just then,
and each of these pairs fits with probability `match`. So with lambda the rate of a side and N the rows that its window
holds (lambda times its length, or the number in ROWS), a row on side L gives match * N_R results, and the two sides
together lambda_L * match * N_R + lambda_R * match * N_L a second, which for time windows W is
lambda_L * lambda_R * match * (W_L + W_R).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from headgate.plan.model import Edge, Plan
from headgate.plan.operators import RowWindow, StreamJoin, TimeWindow, Union
from headgate.plan.operators.base import Operator, Port
from headgate.plan.windows import Clock, RangeWindow, Window

Estimate = float | None  # None: not known


@dataclass(frozen=True)
class Estimates:
    """What declared rates, windows and selectivities amount to. A selectivity that nobody declared counts as 1 for the
    rates behind it, but stays None in `selectivities`."""

    rates: Mapping[Port, Estimate]  # tuples a second
    rows_held: Mapping[Edge, Estimate]  # rows that the relation at an input holds at an instant
    selectivities: Mapping[Edge, Estimate]  # results of a tuple that comes in there, all branches together


def estimate(plan: Plan) -> Estimates:
    """Called for `explain`, by the simulator, and for the start of learning."""
    return _Estimator(plan).found


def window_seconds(window: RangeWindow, clock: Clock) -> Estimate:
    """The length of a window in seconds; None when it has no end. A tick of a logical clock counts as a second, as it
    does when files are replayed."""
    ticks = window.length_ticks(clock)
    return None if ticks is None else ticks / (1 if clock is Clock.LOGICAL else 1_000_000)


class _Estimator:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rates: dict[Port, Estimate] = {Port(name): _rate(s.source) for name, s in plan.streams.items()}
        self._relations: dict[Port, Estimate] = {}  # rows held by what a port gives out
        self._held: dict[Edge, Estimate] = {}
        self._selectivities: dict[Edge, Estimate] = {}
        for operator in plan.operators.values():
            self._visit(operator)
        self.found = Estimates(self._rates, self._held, self._selectivities)

    def _visit(self, operator: Operator) -> None:
        edges = [Edge(operator.id, index) for index in range(len(operator.inputs))]
        for edge, port, window in zip(edges, operator.inputs, operator.windows, strict=True):
            self._held[edge] = self._rows_at(port, window)
        for edge in edges:
            self._selectivities[edge] = self._selectivity(operator, edge)
        taken = [self._rates[port] for port in operator.inputs]
        passed = [1.0 if (s := self._selectivities[edge]) is None else s for edge in edges]
        branches = operator.declared.branches
        for port in operator.ports:
            share = branches.get(port.branch, passed[0] / len(operator.ports))
            shares = passed if len(edges) > 1 else [share]
            self._rates[port] = _sum_of_products(taken, shares)
            self._relations[port] = self._rows_given(operator, edges, share)

    def _rows_at(self, port: Port, window: Window | None) -> Estimate:
        """Rows in the relation that an input is, or that its window makes of a stream."""
        flow = self._plan.flows[port]
        if flow.relation:
            return self._relations.get(port)
        if isinstance(window, RangeWindow):
            length, rate = window_seconds(window, flow.clock), self._rates[port]
            return None if length is None or rate is None else rate * length
        if window is not None and not window.partition:
            return float(window.count)
        return None

    def _rows_given(self, operator: Operator, edges: list[Edge], share: float) -> Estimate:
        held = [rows for edge in edges if (rows := self._held[edge]) is not None]
        if len(held) < len(edges) or not self._plan.flows[operator.ports[0]].relation:
            return None
        if isinstance(operator, StreamJoin):
            match = match_probabilities(operator, self._selectivities, self._held)[0]
            return None if match is None else match * prod(held)
        if isinstance(operator, Union):
            return sum(held)
        if isinstance(operator, (TimeWindow, RowWindow)):
            return held[0]
        return None if operator.stateful else held[0] * share

    def _selectivity(self, operator: Operator, edge: Edge) -> Estimate:
        declared = operator.declared
        own = operator.side(edge.input).selectivity
        if own is not None:
            return own
        if declared.branches:
            return sum(declared.branches.values())
        if isinstance(operator, StreamJoin) and declared.match is not None:
            other = self._held[Edge(operator.id, 1 - edge.input)]
            return None if other is None else declared.match * other
        return None


def match_probabilities(
    join: StreamJoin, selectivities: Mapping[Edge, Estimate], held: Mapping[Edge, Estimate]
) -> tuple[Estimate, Estimate]:
    """The probability that a pair fits, for pairs whose later row is on the left and on the right: as declared, or so
    that the declared selectivity of that side comes out."""
    if join.declared.match is not None:
        return join.declared.match, join.declared.match
    left, right = (
        None
        if not (rows := held[Edge(join.id, 1 - side)]) or (s := selectivities[Edge(join.id, side)]) is None
        else s / rows
        for side in (0, 1)
    )
    return left, right


def _rate(source: Mapping[str, object]) -> Estimate:
    """Tuples a second that a source is declared to give; of files this is not known."""
    rate = source.get("rate")
    return float(rate) if isinstance(rate, (int, float)) else None


def _sum_of_products(taken: list[Estimate], shares: list[float]) -> Estimate:
    """Rates through the sides of an operator; a side that gives out nothing need not be known."""
    total = 0.0
    for rate, share in zip(taken, shares, strict=True):
        if share == 0.0:
            continue
        if rate is None:
            return None
        total += rate * share
    return total
