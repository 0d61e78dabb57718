"""The load of queries, from costs and rates, and whether there is room for more beside those with a must-promise."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from headgate.metrics.stats import OperatorStats, Stats
from headgate.plan.model import Plan, Query
from headgate.plan.operators.base import Port

MOST_BUSY = 0.85  # of a slot, for a query that sheds less: closer to 1, the next hiccup would break the promise again
DRAINS = 0.7  # of a slot, for a query that sheds more: then what a second of overload left is gone in some seconds
HEADROOM = 0.85  # the share of the slots that may be busy: beyond it latencies grow steeply


@dataclass(frozen=True)
class Load:
    """How many slots queries keep busy, on average."""

    slots: int
    queries: Mapping[str, float | None]  # None: not known

    @property
    def total(self) -> float:
        """Of all queries whose load is known."""
        return sum(busy for busy in self.queries.values() if busy is not None)


def estimate_load(
    plan: Plan, stats: Stats, rates: Mapping[str, float | None], slots: int, call_fixed_s: float | None = None
) -> Load:
    """The load of the queries of a plan; `rates` has the tuples per second of each stream.

    A query costs what its tuples cost. Calls have a fixed cost as well: a query with a promised latency is called about
    once in that time at least; others may be called as rarely as the load demands, so theirs is left out. The cost of
    a shared operator is divided among its queries.
    """
    busy = _operator_loads(plan, stats, rates)
    queries = plan.queries.values()
    return Load(slots, {query.name: _query_load(plan, stats, query, busy, call_fixed_s) for query in queries})


def refusal(load: Load, plan: Plan, added: Collection[str], headroom: float = HEADROOM) -> str | None:
    """Why queries should not be added, with the numbers; None: there is room, or nobody has a must-promise.

    `plan` has the queries that run and those that are added.
    """
    promised = [query.name for query in plan.queries.values() if any(one.priority == "must" for one in query.qos)]
    wanted = sum(load.queries.get(name) or 0.0 for name in added)
    room = headroom * load.slots
    if not promised or not wanted or load.total <= room:
        return None
    must = f"'{promised[0]}'" if len(promised) == 1 else f"{len(promised)} queries"
    limit = f"more than the {room:.2f} ({headroom:.0%}) that may be busy to keep the must-promise of {must}"
    if set(added) >= plan.queries.keys():
        return f"the queries need {load.total:.2f} of {load.slots} slots: {limit}"
    names = " and ".join(f"'{name}'" for name in added)
    need = "needs" if len(added) == 1 else "need"
    return f"{names} {need} {wanted:.2f} of {load.slots} slots, and the others {load.total - wanted:.2f}: {limit}"


@dataclass(frozen=True)
class Room:
    """What a query needs and may have: seconds of work for a tuple that comes, and slots that others leave it."""

    work_s: float | None  # None: not known
    slots: float

    def load(self, arriving: float | None) -> float | None:
        """What so many tuples a second ask for, over what the query may have: above 1 a backlog grows.

        None: not known.
        """
        if self.work_s is None or arriving is None:
            return None
        asked = arriving * self.work_s
        if self.slots <= 0.0:
            return math.inf if asked else 0.0
        return asked / self.slots

    def holds(self, arriving: float | None, dropped: float, busy: float = MOST_BUSY) -> bool:
        """Can so many tuples a second be processed if a share of them is dropped? Yes, if nothing is known.

        `busy` is the share of its slot that the query may be busy.
        """
        load = self.load(arriving)
        return load is None or load * (1.0 - dropped) <= busy


def room_of(plan: Plan, query: Query, stats: Stats, rates: Mapping[str, float | None], slots: int) -> Room:
    """The room of a query, from costs and rates. It runs in one slot at a time."""
    load = estimate_load(plan, stats, rates, slots)
    coming = sum(rates.get(name) or 0.0 for name in plan.streams if query.name in plan.readers(name))
    mine = load.queries[query.name]
    others = sum(busy for name, busy in load.queries.items() if name != query.name and busy is not None)
    return room_beside(None if mine is None or not coming else mine / coming, others, slots)


def room_beside(work_s: float | None, others: float, slots: int) -> Room:
    """The room of a query whose tuples take so long, while other queries keep so many slots busy."""
    return Room(work_s, min(1.0, max(0.0, slots - others)))


class JoinedStats:
    """The statistics of a run, and what added queries declare for their operators."""

    def __init__(self, running: Stats, declared: Stats, added: Plan) -> None:
        self._running = running
        self._declared = declared
        self._added = added.operators.keys()

    def of(self, operator: str) -> OperatorStats:
        return self._declared.of(operator) if operator in self._added else self._running.of(operator)

    def stream_bytes(self, stream: str) -> float | None:
        return self._running.stream_bytes(stream)


def _operator_loads(plan: Plan, stats: Stats, rates: Mapping[str, float | None]) -> dict[str, float | None]:
    """By operator, the seconds of work per second that its tuples cause."""
    flowing: dict[Port, float | None] = {port: rates.get(name) for name in plan.streams for port in plan.ports_of(name)}
    found: dict[str, float | None] = {}
    for operator in plan.operators.values():
        known = stats.of(operator.id)
        work: float | None = 0.0
        for index, port in enumerate(operator.inputs):
            rate, cost = flowing[port], known.side(index).cost_s
            work = None if work is None or rate is None or cost is None else work + rate * cost
        found[operator.id] = work
        for port in operator.ports:
            passed = [known.passing(index, port.branch) for index in range(len(operator.inputs))]
            flowing[port] = _rate_out(flowing, passed, operator.inputs)
    return found


def _rate_out(
    flowing: Mapping[Port, float | None], passed: list[float | None], inputs: tuple[Port, ...]
) -> float | None:
    total = 0.0
    for port, share in zip(inputs, passed, strict=True):
        rate = flowing[port]
        if rate is None or share is None:
            return None
        total += rate * share
    return total


def _query_load(
    plan: Plan, stats: Stats, query: Query, busy: Mapping[str, float | None], call_fixed_s: float | None
) -> float | None:
    total = 0.0
    for name in query.operators:
        own = busy[name]
        if own is None:
            return None
        total += own / len(plan.owners[name])
    latency = min((one.graph.expected(math.inf) for one in query.qos if one.name == "latency"), default=math.inf)
    if latency > 0.0:
        fixed = (call_fixed_s or 0.0) + sum(stats.of(name).fixed_s or 0.0 for name in query.operators)
        total += fixed / latency
    return total
