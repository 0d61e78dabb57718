"""MBD's query priorities: how many slots of a round each query gets of those of its class.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013,
section 6.1.2: a class has its frequency, and each of its queries a share of that in proportion to its cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from headgate.policies.parameters import positive, whole

CLOSE = 1e-9  # a priority this close above a whole number counts as that number: rounding must not add a slot


class UnitCosts(NamedTuple):
    """The costs of a unit: a query, or all queries that share operators, in the most important of their classes."""

    name: str
    class_name: str
    costs: Sequence[float]  # expected seconds per tuple, for each query as if it shared nothing


class Share(NamedTuple):
    """`priority` is the expected number of executions per round. The first of `slots` is taken with
    probability `gate`."""

    priority: float
    slots: int
    gate: float


def shares(units: Sequence[UnitCosts], frequencies: Mapping[str, int], at_most: float = math.inf) -> dict[str, Share]:
    """Name of each unit -> its share, scaled so that the least priority is exactly 1.

    Pr = f cost(unit) / cost(class) mult, with all queries of a unit counted in its class. The priorities of a class
    add up to its frequency times mult, so doubling all frequencies changes nothing.

    One query that is a thousand times cheaper than the others of its class makes the round a thousand times longer.
    With `at_most`, priorities are scaled down to that sum: then some are below 1 and may miss rounds, and all
    proportions stay the same. A unit that costs nothing needs no time, and gets as many executions as the least; if a
    whole class costs nothing, its queries share its frequency equally.
    """
    if at_most != math.inf:
        positive("at_most", at_most)
    weights = class_shares(units, frequencies)
    asking = [weight for weight in weights.values() if weight > 0.0]
    least = min(asking, default=1.0)
    scale = max(least, sum(asking) / at_most)
    return {name: share_of((weight or least) / scale) for name, weight in weights.items()}


def class_shares(units: Sequence[UnitCosts], frequencies: Mapping[str, int]) -> dict[str, float]:
    """Unit -> its share of the frequency of its class, f cost(unit) / cost(class), not scaled; 0 for a unit that costs
    nothing in a class where others do."""
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
    """The slots for a priority above 0. The gate of the first is the fraction of the priority, or 1 for a whole number.

    The source says "the fraction" for whole numbers too, which is 0: a query of priority 1 would never run.
    """
    slots = max(1, math.ceil(priority - CLOSE))
    gate = priority - (slots - 1)
    return Share(priority, slots, 1.0 if gate > 1.0 - CLOSE else gate)


def sharing_groups(operators: Mapping[str, Set[str]]) -> list[tuple[str, ...]]:
    """Groups of queries that share operators, directly or through other queries; most are groups of one.

    `operators` are those of each query. Groups are in the order of their first query, and queries in the order given.
    """
    user = dict[str, int]()  # operator -> number of the first query that uses it
    merged = list[int]()  # query -> the number of another query in its group; the root of a group points to itself
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
