"""Output rates: the expected results of a second spent on an operator and on what follows it up to the root.

Sharaf, Chrysanthis, Labrinidis, eq. (1), root first: D(O) = C + S D(parent), N(O) = S N(parent), GOR = N / D.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from headgate.metrics.stats import OperatorStats
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator, Port
from headgate.policies.worth import Worth, operator_fixed_s, ratio
from headgate.scheduling.policy import View

Part = tuple[float, Worth]  # how often a tuple reaches a following operator, and what it is worth there


def output_rates(view: View, best_branches: bool = False) -> dict[str, Worth | None]:
    """The worth of every operator in results; None while a statistic from there to the root is not known.

    If several operators read an output, all of them count. With `best_branches` they are added best first, only as long
    as that does not lower the rate; the operator runs for their sake, and the others do not affect its priority.
    """
    return _Rates(view, best_branches).operators


def copied_to_roots(plan: Plan, rates: Mapping[str, Worth | None]) -> dict[str, Worth | None]:
    """The same rates, but a root has the worth of the operator that feeds it.

    Of several feeders the best counts, where one that is not known counts as best. A root that reads only streams keeps
    its own worth.
    """
    found = dict(rates)
    for operator in plan.operators.values():
        feeders = [rates[port.node] for port in operator.inputs if port.node in plan.operators]
        if feeders and not any(plan.consumers[port] for port in operator.ports):
            found[operator.id] = max(feeders, key=_at_long_queues)
    return found


def _at_long_queues(worth: Worth | None) -> float:
    return math.inf if worth is None else ratio(worth.gain, worth.cost_s)


def distances_to_sink(view: View) -> dict[str, int]:
    """Operator -> the number of operators from it to the nearest sink; 0 if its own outputs are results."""
    plan, found = view.plan, dict[str, int]()
    for operator in reversed(list(plan.operators.values())):
        onward = [found[edge.operator] + 1 for port in operator.ports for edge in plan.consumers[port]]
        at_sink = [0 for port in operator.ports if port in plan.sinks]
        found[operator.id] = min(onward + at_sink, default=0)
    return found


class _Rates:
    def __init__(self, view: View, best_branches: bool) -> None:
        self._view = view
        self._best = best_branches
        self._edges: dict[Edge, Worth | None] = {}
        self.operators: dict[str, Worth | None] = {}
        for operator in reversed(list(view.plan.operators.values())):
            self._visit(operator)

    def _visit(self, operator: Operator) -> None:
        stats = self._view.stats(operator.id)
        whole = self._worth(operator, stats.cost_s, _shares(operator, stats))
        self.operators[operator.id] = whole
        for index in range(len(operator.inputs)):
            if stats.sides:  # use the statistics of the side by which a tuple enters
                passed = {branch: stats.passing(index, branch) for branch in operator.branches}
                self._edges[Edge(operator.id, index)] = self._worth(operator, stats.side(index).cost_s, passed)
            else:
                self._edges[Edge(operator.id, index)] = whole

    def _worth(self, operator: Operator, cost: float | None, shares: Mapping[str, float | None]) -> Worth | None:
        plan, fixed = self._view.plan, operator_fixed_s(self._view, operator.id)
        if cost is None or fixed is None:
            return None
        gain, parts = 0.0, list[Part]()
        for branch, share in shares.items():
            port = Port(operator.id, branch)
            if share is None:
                return None
            gain += share * len(plan.sinks.get(port, ()))
            for edge in plan.consumers[port]:
                onward = self._edges[edge]
                if onward is None:
                    return None
                parts.append((share, onward))
        return _sum_best(Worth(gain, cost, fixed), parts) if self._best else _sum(Worth(gain, cost, fixed), parts)


def _shares(operator: Operator, stats: OperatorStats) -> dict[str, float | None]:
    """Branch -> tuples that leave by it, per tuple that enters by any input."""
    return {b: stats.branches.get(b, stats.selectivity) if b else stats.selectivity for b in operator.branches}


def _sum(own: Worth, parts: Iterable[Part]) -> Worth:
    """A batch stays together, so the same tuples share the fixed cost of the following calls."""
    gain, cost, fixed = own
    for share, onward in parts:
        gain += share * onward.gain
        cost += share * onward.cost_s
        fixed += onward.fixed_s
    return Worth(gain, cost, fixed)


def _sum_best(own: Worth, parts: Iterable[Part]) -> Worth:
    total = own
    for part in sorted(parts, key=lambda part: -ratio(part[1].gain, part[1].cost_s)):
        more = _sum(total, [part])
        if ratio(more.gain, more.cost_s) < ratio(total.gain, total.cost_s):
            break
        total = more
    return total
