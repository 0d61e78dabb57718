"""Units: what a policy schedules. An operator, a segment, a path, a query, or several queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol

from headgate.plan.model import Edge, Plan
from headgate.plan.paths import find_paths


class Queue(Protocol):
    """What the scheduler sees of the FIFO in front of an operator; each runtime has its own kind."""

    @property
    def count(self) -> int: ...  # tuples waiting
    @property
    def oldest(self) -> float | None: ...  # arrival time of the first tuple in seconds; None: nothing to do
    @property
    def bytes(self) -> float: ...  # size of what waits


class Group(NamedTuple):
    """A unit as a policy defines it: a name and its operators, inputs first.

    A policy that consists of several, each with units of its own, says by `part` which one the unit belongs to.
    """

    id: str
    operators: tuple[str, ...]
    part: int = 0


class Unit:
    """A unit as policies see it. Only the board changes it.

    Its input is everything that waits at any of its operators: normally at the first ones, and further inside only what
    another policy or an overlapping unit left there.
    """

    __slots__ = (
        "alone",
        "blocked",
        "class_name",
        "edges",
        "id",
        "index",
        "linger_s",
        "may_wait",
        "number",
        "operators",
        "overlaps",
        "part",
        "private",
        "queries",
        "queues",
        "ready",
        "spent",
    )

    def __init__(
        self,
        number: int,
        index: int,
        group: Group,
        queries: tuple[str, ...],
        class_name: str,
        edges: tuple[Edge, ...],
        queues: tuple[Queue, ...],
    ) -> None:
        self.number = number  # position in the board's list of units
        self.index = index  # position in the list that its policy sees; the last tie-break everywhere
        self.part = group.part
        self.id = group.id
        self.operators = group.operators
        self.queries = queries
        self.class_name = class_name  # the most important class it works for
        self.edges = edges  # the queues of its operators, inputs first
        self.queues = queues
        self.overlaps: tuple[Unit, ...] = (self,)  # units that share an operator with it, itself included
        self.alone = True  # it overlaps no other unit
        self.private = len(queues) == 1  # its first tuple changes only when it runs
        self.linger_s = 0.0  # how long its oldest tuple may wait for a call that is worth it
        self.may_wait = False  # gives results only at window boundaries, so it may wait for one
        self.blocked = 0  # calls in flight that use one of its operators
        self.ready = False  # has input and is not blocked
        self.spent = 0.0  # seconds already given to its first waiting tuple by preempted calls

    @property
    def waiting(self) -> int:
        """Tuples waiting at its operators."""
        return sum(queue.count for queue in self.queues)

    @property
    def oldest(self) -> float | None:
        """Arrival time of the oldest tuple at the head of a queue, or since when an operator has been due.

        None: there is nothing to do.
        """
        return min((t for queue in self.queues if (t := queue.oldest) is not None), default=None)

    @property
    def bytes(self) -> float:
        """Size of what waits at its operators."""
        return sum(queue.bytes for queue in self.queues)

    @property
    def running(self) -> bool:
        """Does a call in flight use one of its operators?"""
        return self.blocked > 0

    def __repr__(self) -> str:
        return f"Unit({self.id})"


class SoleUnit(Unit):
    """A unit with a single queue, or one that stands for all its queues, like most units.

    Policies look at its oldest tuple at every decision, so that must be cheap.
    """

    __slots__ = ("queue",)

    def __init__(
        self,
        number: int,
        index: int,
        group: Group,
        queries: tuple[str, ...],
        class_name: str,
        edges: tuple[Edge, ...],
        queues: tuple[Queue, ...],
        queue: Queue,
    ) -> None:
        super().__init__(number, index, group, queries, class_name, edges, queues)
        self.queue = queue

    waiting = property(attrgetter("queue.count"))
    oldest = property(attrgetter("queue.oldest"))
    bytes = property(attrgetter("queue.bytes"))


def make_units(
    plan: Plan, groups: Iterable[Group], queues: Mapping[Edge, Queue], joint: Mapping[str, Queue]
) -> tuple[Unit, ...]:
    """Turn a policy's groups into units. Called when a policy is installed. ValueError: an operator is in no group.

    For operators with several inputs, `joint` has a queue that stands for all of them, if the runtime has one.
    """
    units: list[Unit] = []
    places: Counter[int] = Counter()  # units so far, by part
    for number, group in enumerate(groups):
        members = set(group.operators)
        index = places[group.part]
        places[group.part] += 1
        edges = tuple(edge for edge in plan.edges if edge.operator in members)
        owners = tuple(q for q in plan.queries if not members.isdisjoint(plan.queries[q].operators))
        best = most_important(plan, owners)
        mine = tuple(queues[edge] for edge in edges)
        one = mine[0] if len(mine) == 1 else joint.get(group.operators[0]) if len(members) == 1 else None
        if one is None:
            units.append(Unit(number, index, group, owners, best, edges, mine))
        else:
            units.append(SoleUnit(number, index, group, owners, best, edges, mine, one))
    covered = {operator for unit in units for operator in unit.operators}
    if missing := [name for name in plan.operators if name not in covered]:
        raise ValueError(f"the policy's units leave out {', '.join(missing)}")
    for unit in units:
        used = set(unit.operators)
        unit.overlaps = tuple(other for other in units if not used.isdisjoint(other.operators))
        unit.alone = len(unit.overlaps) == 1
        unit.private = unit.alone and len(unit.queues) == 1
    return tuple(units)


def most_important(plan: Plan, queries: Iterable[str]) -> str:
    """The class of a unit: the one with the highest priority among those of its queries; the first of equals."""
    classes = [plan.queries[query].class_name for query in queries]
    return max(classes, key=lambda name: plan.classes[name].priority)


def by_operator(plan: Plan) -> Sequence[Group]:
    """One unit per operator, in plan order."""
    return [Group(name, (name,)) for name in plan.operators]


def by_path(plan: Plan) -> Sequence[Group]:
    """One unit per operator path."""
    return [Group(path.id, path.operators) for path in find_paths(plan)]


def by_query(plan: Plan) -> Sequence[Group]:
    """One unit per query, including shared operators."""
    return [Group(query.name, query.operators) for query in plan.queries.values()]
