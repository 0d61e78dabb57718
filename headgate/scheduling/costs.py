"""Expected costs of a unit, from the statistics of its operators. Shared by the policies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from headgate.plan.model import Edge
from headgate.plan.operators.base import Port
from headgate.scheduling.policy import View
from headgate.scheduling.units import Unit

TRAIN_GRAINS = 8  # then fixed cost is a ninth of a full call, and a call takes about nine fixed costs at most


def fixed_cost(unit: Unit, view: View) -> float | None:
    """Seconds that a call of the unit takes whatever its input; None while not known."""
    total = view.call_fixed_s
    for operator in unit.operators:
        fixed = view.stats(operator).fixed_s
        if fixed is None or total is None:
            return None
        total += fixed
    return total


def cost_per_tuple(unit: Unit, view: View) -> float | None:
    """Expected seconds for one tuple that enters the unit, through to the unit's end.

    The cost of each operator counts as often as a tuple is expected to reach it (Sharaf et al. eq. 1), with the numbers
    of the side by which it enters. If tuples can enter at several places, it is the mean over them, weighted by the
    tuples that wait there now.
    """
    seconds = costs_on_the_way(unit.operators, _entries(unit, view), view)
    return None if seconds is None else sum(seconds.values())


def costs_on_the_way(operators: Sequence[str], entries: Mapping[Edge, float], view: View) -> dict[str, float] | None:
    """Expected seconds in each of these operators, given the tuples that enter at each input; inputs come first.

    None while a statistic that matters is not known.
    """
    reach, found = dict(entries), dict.fromkeys(operators, 0.0)
    for name in operators:
        operator, stats = view.plan.operators[name], view.stats(name)
        for index in range(len(operator.inputs)):
            weight = reach.get(Edge(name, index), 0.0)
            if weight == 0.0:
                continue
            cost = stats.side(index).cost_s
            if cost is None:
                return None
            found[name] += weight * cost
            for branch in operator.branches:
                inside = [e for e in view.plan.consumers[Port(name, branch)] if e.operator in found]
                passed = stats.passing(index, branch) if inside else 0.0
                if passed is None:
                    return None
                for edge in inside:
                    reach[edge] = reach.get(edge, 0.0) + weight * passed
    return found


def _entries(unit: Unit, view: View) -> dict[Edge, float]:
    """Input -> the share of the unit's tuples that enter there from outside; equal shares if none waits."""
    operators = view.plan.operators
    waiting = {
        edge: queue.count
        for edge, queue in zip(unit.edges, unit.queues, strict=True)
        if operators[edge.operator].inputs[edge.input].node not in unit.operators
    }
    total = sum(waiting.values())
    return {edge: count / total if total else 1.0 / len(waiting) for edge, count in waiting.items()}


def grain(unit: Unit, view: View) -> int | None:
    """The smallest number of tuples for which a call is not mostly fixed cost: fixed cost / cost per tuple.

    1 where calls have no fixed cost, as in the papers; None (take everything) while costs are not known.
    """
    fixed, cost = fixed_cost(unit, view), cost_per_tuple(unit, view)
    if fixed is None or cost is None:
        return None
    if fixed == 0.0:
        return 1
    return max(1, math.ceil(fixed / cost)) if cost > 0.0 else None


def train_length(unit: Unit, view: View) -> int | None:
    """The most tuples that a ranked policy takes at once: 1 without fixed costs, None while costs are not known.

    With no more than `grain` tuples, half of every full call would be fixed cost, which halves the capacity of the
    system: under load, batches must be able to grow. Without a bound, a long queue would keep better units waiting.
    """
    least = grain(unit, view)
    return least if least is None or not fixed_cost(unit, view) else least * TRAIN_GRAINS
