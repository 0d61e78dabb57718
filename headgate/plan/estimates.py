"""Estimates how many tuples to expect where, before anything runs: rates, relation sizes, join selectivities.

A join of two windows is two semi-joins. A row on one side meets the rows that the other side's window holds at that
moment, and each of these pairs matches with probability `match`. Let lambda be the rate of a side and N the number of
rows in its window (lambda times its length, or the number in ROWS). Then a row on side L yields match * N_R results,
and both sides together yield lambda_L * match * N_R + lambda_R * match * N_L per second. For time windows of length W
this is lambda_L * lambda_R * match * (W_L + W_R).
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
    """What follows from the declared rates, windows and selectivities.

    An undeclared selectivity counts as 1 for the rates downstream, but stays None in `selectivities`.
    """

    rates: Mapping[Port, Estimate]  # tuples per second
    rows_held: Mapping[Edge, Estimate]  # rows in the relation at an input, at any one instant
    selectivities: Mapping[Edge, Estimate]  # results per tuple that enters there, all branches together


def estimate(plan: Plan) -> Estimates:
    """Estimate everything for a plan; used by `explain`, by the simulator and as the starting point for learning."""
    return _Estimator(plan).found


def window_seconds(window: RangeWindow, clock: Clock) -> Estimate:
    """The length of a window in seconds; None if it is unbounded.

    A tick of a logical clock counts as one second, as it does when files are replayed.
    """
    ticks = window.length_ticks(clock)
    return None if ticks is None else ticks / (1 if clock is Clock.LOGICAL else 1_000_000)


class _Estimator:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rates: dict[Port, Estimate] = {
            port: _rate(stream.source) for name, stream in plan.streams.items() for port in plan.ports_of(name)
        }
        self._relations: dict[Port, Estimate] = {}  # rows in the relation that a port produces
        self._rows_held: dict[Edge, Estimate] = {}
        self._selectivities: dict[Edge, Estimate] = {}
        for operator in plan.operators.values():
            self._visit(operator)
        self.found = Estimates(self._rates, self._rows_held, self._selectivities)

    def _visit(self, operator: Operator) -> None:
        edges = [Edge(operator.id, index) for index in range(len(operator.inputs))]
        for edge, port, window in zip(edges, operator.inputs, operator.windows, strict=True):
            self._rows_held[edge] = self._rows_at(port, window)
        for edge in edges:
            self._selectivities[edge] = self._selectivity(operator, edge)
        input_rates = [self._rates[port] for port in operator.inputs]
        passed = [1.0 if (s := self._selectivities[edge]) is None else s for edge in edges]
        branches = operator.declared.branches
        for port in operator.ports:
            share = branches.get(port.branch, passed[0] / len(operator.ports))
            shares = passed if len(edges) > 1 else [share]
            self._rates[port] = _sum_of_products(input_rates, shares)
            self._relations[port] = self._rows_given(operator, edges, share)

    def _rows_at(self, port: Port, window: Window | None) -> Estimate:
        """Rows in the relation at an input, which is given or made from a stream by a window."""
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
        held = [rows for edge in edges if (rows := self._rows_held[edge]) is not None]
        if len(held) < len(edges) or not self._plan.flows[operator.ports[0]].relation:
            return None
        if isinstance(operator, StreamJoin):
            match = match_probabilities(operator, self._selectivities, self._rows_held)[0]
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
            other = self._rows_held[Edge(operator.id, 1 - edge.input)]
            return None if other is None else declared.match * other
        return None


def match_probabilities(
    join: StreamJoin, selectivities: Mapping[Edge, Estimate], held: Mapping[Edge, Estimate]
) -> tuple[Estimate, Estimate]:
    """The probability that a pair matches, when its later row is on the left and when it is on the right.

    Taken from the declaration, or derived from the declared selectivity of that side.
    """
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
    """The declared rate of a source in tuples per second; not known for files."""
    rate = source.get("rate")
    return float(rate) if isinstance(rate, (int, float)) else None


def _sum_of_products(rates: list[Estimate], shares: list[float]) -> Estimate:
    """The output rate of an operator; the rate of a side that yields nothing need not be known."""
    total = 0.0
    for rate, share in zip(rates, shares, strict=True):
        if share == 0.0:
            continue
        if rate is None:
            return None
        total += rate * share
    return total
