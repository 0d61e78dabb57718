"""MBD's query priorities: how many slots of a round each query gets of what its class has.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013,
section 6.1.2: a class has its frequency, a query of it the part that its cost is of the cost of the class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from headgate.policies.parameters import positive, whole

_CLOSE = 1e-9  # a priority this close above a whole number is that number: rounding must not cost a slot


class UnitCosts(NamedTuple):
    """What is scheduled as one: a query, or all that share operators, in the most important class of any of them."""

    name: str
    class_name: str
    costs: Sequence[float]  # expected seconds for a tuple, of each query as if it shared nothing


class Share(NamedTuple):
    """`priority` executions a round are expected: `slots` of them, the first of which is taken by chance `gate`."""

    priority: float
    slots: int
    gate: float


def shares(units: Sequence[UnitCosts], frequencies: Mapping[str, int], at_most: float = math.inf) -> dict[str, Share]:
    """The share of each unit by its name, scaled so that the least priority is exactly 1.

    Pr = f cost(unit) / cost(class) mult, with all queries of a unit counted in its class. The priorities of a class
    are in sum its frequency times mult, so frequencies that all double change nothing.

    One query that is a thousand times cheaper than the others of its class makes the round a thousand times longer.
    With `at_most` priorities are scaled to that sum at the most: then some are below 1 and may miss rounds, and all
    proportions stay as they are. A unit that costs nothing asks for no time, and is tried as often as the least; where
    a whole class costs nothing, its queries share its frequency equally.
    """
    if at_most != math.inf:
        positive("at_most", at_most)
    weights = _weights(units, frequencies)
    asking = [weight for weight in weights.values() if weight > 0.0]
    least = min(asking, default=1.0)
    scale = max(least, sum(asking) / at_most)
    return {name: share_of((weight or least) / scale) for name, weight in weights.items()}


def _weights(units: Sequence[UnitCosts], frequencies: Mapping[str, int]) -> dict[str, float]:
    """f cost(unit) / cost(class) by unit; 0 for one that costs nothing beside others that do."""
    asking = {unit.class_name for unit in units if math.fsum(unit.costs) > 0.0}
    own = {unit.name: math.fsum(unit.costs) if unit.class_name in asking else len(unit.costs) for unit in units}
    totals = dict[str, float]()
    for unit in units:
        totals[unit.class_name] = totals.get(unit.class_name, 0.0) + own[unit.name]
    return {
        unit.name: whole("frequency", frequencies[unit.class_name]) * own[unit.name] / totals[unit.class_name]
        for unit in units
    }


def share_of(priority: float) -> Share:
    """The slots of a priority above 0, and the chance of the first: its fraction, and 1 for a whole number.

    The source says "the fraction" for those too, which is 0: a query of priority 1 would never run.
    """
    slots = max(1, math.ceil(priority - _CLOSE))
    gate = priority - (slots - 1)
    return Share(priority, slots, 1.0 if gate > 1.0 - _CLOSE else gate)


def sharing_groups(operators: Mapping[str, Set[str]]) -> list[tuple[str, ...]]:
    """Queries that share operators, directly or through others, as groups; most are groups of one.

    `operators` are those of each query. Groups are in the order of their first query, and queries in the order given.
    """
    user = dict[str, int]()  # operator -> the first query that has it, by number
    merged = list[int]()  # query -> another one of its group, by number, or itself: the root of the group
    for number, needed in enumerate(operators.values()):
        merged.append(number)
        for operator in needed:
            merged[_root(merged, number)] = _root(merged, user.setdefault(operator, number))
    groups = dict[int, list[str]]()
    for number, query in enumerate(operators):
        groups.setdefault(_root(merged, number), []).append(query)
    return [tuple(group) for group in groups.values()]


def _root(merged: Sequence[int], number: int) -> int:
    while merged[number] != number:
        number = merged[number]
    return number
