"""Where and how much of a query's input may be dropped (Kendai section 4.4).

A path of operators has at most one shedder, at the place where dropping saves the most work for the error it causes.
Shedders are turned on in that order, each in steps up to what the tolerance allows, and off in the reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from headgate.metrics.stats import Stats
from headgate.plan.estimates import estimate
from headgate.plan.model import Edge, Plan, Query
from headgate.plan.operators import StreamJoin
from headgate.plan.operators.base import Port
from headgate.plan.paths import Path, find_paths
from headgate.plan.weighing import sheddable
from headgate.qos.decisions import Step
from headgate.qos.load import DRAINS, Room
from headgate.scheduling.segments import path_cost, path_steps
from headgate.scheduling.shedder import extra_for, share_of

TEST_S = 2e-8  # for a tuple to be tested by a shedder: a hash, over a whole batch
STEPS = 4  # from nothing to all that the tolerance allows


@dataclass(frozen=True)
class Place:
    """A queue at which a query may be shed, and what that is worth."""

    edge: Edge
    weight: float  # eq. (4.5): work saved per second, for each unit of error
    most: float  # the largest share that may be dropped there


def place_weights(
    rate: float, costs: Sequence[float], selectivities: Sequence[float], error: float, test_s: float = TEST_S
) -> list[float]:
    """The weight of each place on a path, from the stream on: in front of each operator, eq. (4.5).

    W = v (D - t / E): v tuples a second come by, each that is dropped saves the work D of the rest of the path, and
    each that comes by is tested, which takes t. A share E of them is dropped.
    """
    weights, passing = [], rate
    for at in range(len(costs)):
        saved, reach = 0.0, 1.0
        for cost, selectivity in zip(costs[at:], selectivities[at:], strict=True):
            saved += reach * cost
            reach *= selectivity
        weights.append(passing * (saved - test_s / error))
        passing *= selectivities[at]
    return weights


def declared_rates(plan: Plan) -> dict[str, float | None]:
    """The tuples per second of each stream, as far as its source says."""
    rates = estimate(plan).rates
    return {name: rates[Port(name)] for name in plan.streams}


def places_of(
    plan: Plan,
    query: Query,
    stats: Stats,
    rates: Mapping[str, float | None],
    candidates: Collection[Edge],
    test_s: float = TEST_S,
) -> list[Place]:
    """The places at which a query may be shed, best first: at most one on each of its paths.

    Places where dropping costs more than it saves are left out. Where several streams are joined, each may drop so
    much that all of them together stay within the tolerance. A rate that is not known counts as 1: the order of the
    places on a path does not depend on it.
    """
    tolerance = query.tolerance
    if not tolerance or not sheddable(plan, query):
        return []
    paths = [path for path in find_paths(plan) if path.query == query.name]
    joins = any(isinstance(plan.operators[name], StreamJoin) for name in query.operators)
    most = 1.0 - (1.0 - tolerance) ** (1.0 / len(paths)) if joins and paths else tolerance
    found: dict[Edge, Place] = {}
    for path in paths:
        if not any(edge in found for edge in path.edges):
            best = _best(plan, stats, path, rates[path.stream] or 1.0, most, candidates, test_s)
            if best is not None:
                found[best.edge] = best
    return sorted(found.values(), key=lambda place: -place.weight)


def _best(
    plan: Plan, stats: Stats, path: Path, rate: float, most: float, candidates: Collection[Edge], test_s: float
) -> Place | None:
    steps = path_steps(plan, stats, path)
    if path_cost(steps) is None:  # nothing is known yet: the leaf saves the most work
        return Place(path.edges[0], rate, most) if path.edges and path.edges[0] in candidates else None
    costs = [step.cost_s or 0.0 for step in steps]
    passed = [1.0 if step.selectivity is None else step.selectivity for step in steps]
    weights = place_weights(rate, costs, passed, most, test_s)
    worth = [(w, -at) for at, w in enumerate(weights) if w > 0.0 and path.edges[at] in candidates]
    if not worth:
        return None
    weight, at = max(worth)
    return Place(path.edges[-at], weight, most)


class SheddingSteps:
    """What is dropped of a query's input now, and what the next step would be."""

    def __init__(
        self, places: Sequence[Place], steps: int = STEPS, room: Callable[[], Room] = lambda: Room(None, 1.0)
    ) -> None:
        self._room = room
        self._edges = [place.edge for place in places]
        # Shares are whole 64ths of a weight; small tolerances have fewer steps.
        self._levels = [
            sorted({round(extra_for(place.most) * step / steps) for step in range(steps + 1)}) for place in places
        ]
        self._at = [0] * len(places)

    @property
    def active(self) -> bool:
        return any(self._at)

    def load(self, arriving: float | None) -> float | None:
        """What so many tuples a second would ask for if none were dropped; see `Room.load`."""
        return self._room().load(arriving)

    def more(self, arriving: float | None, in_vain: bool = False) -> Step | None:
        """Drop more at the best place that does not yet drop all that it may.

        One step, or as many at once as it takes for the backlog to shrink, by what is known of the load. If what is
        dropped already was `in_vain`, that knowledge was wrong, and everything that may be dropped is.
        """
        for number, levels in enumerate(self._levels):
            at = self._at[number] + 1
            if at < len(levels):
                room = self._room()
                guessed = in_vain and room.load(arriving) is not None
                while at + 1 < len(levels) and (guessed or not room.holds(arriving, share_of(levels[at]), DRAINS)):
                    at += 1
                return self._move(number, at - self._at[number])
        return None

    def could_be_less(self, arriving: float | None) -> bool:
        """Would a step less still do, with so many tuples a second?"""
        for number in reversed(range(len(self._levels))):
            if self._at[number]:
                return self._room().holds(arriving, share_of(self._levels[number][self._at[number] - 1]))
        return False

    def less(self) -> Step | None:
        """Drop less at the place that was turned on last."""
        for number in reversed(range(len(self._levels))):
            if self._at[number]:
                return self._move(number, -1)
        return None

    def _move(self, number: int, by: int) -> Step:
        before = self._levels[number][self._at[number]]
        self._at[number] += by
        after = self._levels[number][self._at[number]]
        return Step(self._edges[number], after, share_of(before), share_of(after))
