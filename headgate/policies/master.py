"""master: queries with different policies take turns, and each policy schedules its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from headgate.metrics.latency import LatencyTotal
from headgate.metrics.recent import RECENT_MEAN, RecentStatistic
from headgate.metrics.stats import OperatorStats, Stats
from headgate.plan.model import Plan, PolicySettings
from headgate.policies.making import make_policy, read_policy
from headgate.policies.parameters import positive
from headgate.policies.query_shares import sharing_groups
from headgate.scheduling.policy import Decision, FinishedCall, Policy, PolicyError, View
from headgate.scheduling.units import Group, Unit


class Master(Policy):
    """One scheduler for each policy that queries have; they take turns (Kendai sections 4.3 and 5.4).

    A turn lasts `quantum` for each operator that is ready, and ends early if nothing of its queries is. Queries without
    a policy of their own have `default`; those that share operators have one policy, of the first that has its own.
    Headgate installs it by itself where a query has a policy of its own.
    """

    name = "master"
    unit = "varies"
    paper = (
        "Kendai: Runtime Optimization and Load Shedding in MavStream: Design and Implementation, "
        "MS thesis, UT Arlington 2006, section 4.3"
    )

    def __init__(self, default: Any = "rr", quantum: float = 0.001) -> None:
        self.default = read_policy(default)
        if self.default.name == self.name:
            raise ValueError("default is 'master'; it must be another policy")
        make_policy(self.default.name, self.default.parameters)  # raises if it is wrong
        self.quantum = positive("quantum", quantum)
        self._schedulers: dict[str, Policy] = {}  # by settings; they outlive a change of queries
        self._parts: list[_Part] = []
        self._turn, self._turn_ends = 0, -math.inf

    # Installing --------------------------------------------------------------------------------------------------

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        found: list[Group] = []
        for part, (scheduler, queries) in enumerate(self._shared_out(plan)):
            own = _of_queries(plan, queries)
            found += [group._replace(part=part) for group in scheduler.units(own, stats)]
        return found

    def regroups(self, plan: Plan, stats: Stats) -> bool:
        return any(one.regroups(_of_queries(plan, queries), stats) for one, queries in self._shared_out(plan))

    def start(self, view: View) -> None:
        super().start(view)
        before = self._parts[self._turn].scheduler if self._parts else None
        self._parts = [
            _Part(scheduler, PartView(view, queries, [unit for unit in view.units if unit.part == number]))
            for number, (scheduler, queries) in enumerate(self._shared_out(view.plan))
        ]
        for part in self._parts:
            part.scheduler.start(part.view)
        self.work_conserving = all(part.scheduler.work_conserving for part in self._parts)
        schedulers = [part.scheduler for part in self._parts]
        self._turn, self._turn_ends = schedulers.index(before) if before in schedulers else 0, -math.inf
        self._chosen = self._parts[0] if self._parts else None

    def _shared_out(self, plan: Plan) -> list[tuple[Policy, tuple[str, ...]]]:
        """The schedulers that the queries of a plan need, each with its queries."""
        queries: dict[str, list[str]] = {}
        for members in sharing_groups({name: set(query.operators) for name, query in plan.queries.items()}):
            own = [policy for name in members if (policy := plan.queries[name].policy) is not None]
            settings = own[0] if own else self.default
            key = _key(settings)
            if key not in self._schedulers:
                if settings.name == self.name:
                    raise PolicyError(f"query '{members[0]}' cannot have the policy 'master' as its own")
                self._schedulers[key] = make_policy(settings.name, settings.parameters)
            queries.setdefault(key, []).extend(members)
        return [(self._schedulers[key], tuple(names)) for key, names in queries.items()]

    # What the runtime asks ---------------------------------------------------------------------------------------

    @property
    def preemptive(self) -> bool:
        return any(part.scheduler.preemptive for part in self._parts)

    @property
    def watches_queues(self) -> bool:  # type: ignore[override]
        return any(part.scheduler.watches_queues for part in self._parts)

    @property
    def review_at(self) -> float:  # type: ignore[override]
        return min((part.scheduler.review_at for part in self._parts), default=math.inf)

    def review(self) -> bool:
        now = self.view.now
        changed = False
        for part in self._parts:
            if part.scheduler.review_at <= now:
                changed |= part.scheduler.review()
        return changed

    def became_ready(self, unit: Unit) -> None:
        self._parts[unit.part].scheduler.became_ready(unit)

    def choose(self, slot: int) -> Decision | None:
        if self.view.now >= self._turn_ends:
            self._next_turn()
        for _ in self._parts:
            part = self._parts[self._turn]
            decision = part.scheduler.choose(slot)
            if decision is not None:
                self._chosen = part
                return decision
            self._next_turn()
        return None

    def _next_turn(self) -> None:
        if self._parts:
            self._turn = (self._turn + 1) % len(self._parts)
            operators = sum(len(unit.operators) for unit in self._parts[self._turn].view.units if unit.ready)
            self._turn_ends = self.view.now + self.quantum * max(1, operators)

    def round_ended(self) -> None:
        if self._chosen is not None:
            self._chosen.scheduler.round_ended()

    def finished(self, call: FinishedCall) -> None:
        self._parts[call.unit.part].scheduler.finished(call)

    def ran_dry(self) -> None:
        for part in self._parts:
            part.scheduler.ran_dry()

    def preempts(self, running: Sequence[Unit], arrived: Unit) -> Unit | None:
        """Only a call of the same scheduler gives way: what the others run is not its business."""
        scheduler = self._parts[arrived.part].scheduler
        own = [unit for unit in running if unit.part == arrived.part]
        return scheduler.preempts(own, arrived) if own and scheduler.preemptive else None

    @property
    def updates(self) -> int:  # type: ignore[override]
        return sum(part.scheduler.updates for part in self._parts)

    @property
    def updated_at(self) -> float:  # type: ignore[override]
        return max((part.scheduler.updated_at for part in self._parts), default=0.0)

    # What people ask ---------------------------------------------------------------------------------------------

    def explain(self) -> dict[str, Any]:
        schedulers = [
            {"policy": part.scheduler.name, "queries": list(part.view.queries), **part.scheduler.explain()}
            for part in self._parts
        ]
        return {"ranked": False, "quantum": self.quantum, "schedulers": schedulers}

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        scheduler = self._parts[unit.part].scheduler
        return {"scheduler": scheduler.name, **scheduler.explain_unit(unit)}


class _Part:
    """A scheduler and what it sees."""

    __slots__ = ("scheduler", "view")

    def __init__(self, scheduler: Policy, view: PartView) -> None:
        self.scheduler = scheduler
        self.view = view


class PartView:
    """What one scheduler sees: its own queries and units, as if there were no others. A `View`."""

    def __init__(self, view: View, queries: Sequence[str], units: Sequence[Unit]) -> None:
        self.queries = tuple(queries)
        self.units = units
        self._view = view
        self._whole, self._own = view.plan, _of_queries(view.plan, queries)

    @property
    def plan(self) -> Plan:
        if self._view.plan is not self._whole:  # the administrator has changed classes
            self._whole, self._own = self._view.plan, _of_queries(self._view.plan, self.queries)
        return self._own

    @property
    def now(self) -> float:
        return self._view.now

    @property
    def slots(self) -> int:
        return self._view.slots

    @property
    def seed(self) -> int:
        return self._view.seed

    @property
    def priorities(self) -> Mapping[str, int]:
        return self._view.priorities

    @property
    def classes_version(self) -> int:
        return self._view.classes_version

    @property
    def arrived(self) -> int:
        return self._view.arrived

    @property
    def memory(self) -> float:
        return sum(queue.bytes for queue in self._queues)

    @property
    def call_fixed_s(self) -> float | None:
        return self._view.call_fixed_s

    @property
    def stats_version(self) -> int:
        return self._view.stats_version

    def ready(self) -> Sequence[Unit]:
        return [unit for unit in self.units if unit.ready]

    def stats(self, operator: str) -> OperatorStats:
        return self._view.stats(operator)

    def stream_bytes(self, stream: str) -> float | None:
        return self._view.stream_bytes(stream)

    def latency(self, class_name: str, statistic: RecentStatistic = RECENT_MEAN, since: float = -1.0) -> float | None:
        return self._view.latency(class_name, statistic, since)

    def results(self, queries: Collection[str]) -> LatencyTotal:
        return self._view.results(queries)

    @cached_property
    def _queues(self) -> tuple[Any, ...]:
        return tuple({edge: queue for u in self.units for edge, queue in zip(u.edges, u.queues, strict=True)}.values())


def _key(settings: PolicySettings) -> str:
    return f"{settings.name} {sorted(settings.parameters.items())!r}"


def _of_queries(plan: Plan, queries: Sequence[str]) -> Plan:
    """The part of a plan that serves some queries."""
    mine = set(queries)
    return plan.without([name for name in plan.queries if name not in mine])
