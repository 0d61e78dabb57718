"""The board: which units have input, which are running, and what the policy chooses next. Used by both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from headgate.errors import InvariantError
from headgate.metrics.latency import LatencyTotal
from headgate.metrics.recent import RECENT_MEAN, RecentStatistic
from headgate.metrics.stats import OperatorStats, Stats
from headgate.plan.model import Edge, Plan
from headgate.scheduling.boundary_wait import BoundaryWait
from headgate.scheduling.costs import grain
from headgate.scheduling.linger import Linger
from headgate.scheduling.policy import Decision, FinishedCall, Policy, PolicyError
from headgate.scheduling.units import Queue, Unit, make_units, most_important

# (class, now, which statistic, since when) -> recent latency, or None.
Latency = Callable[[str, float, RecentStatistic, float], float | None]


# Queries -> how many results they have had, and the sum of their latencies.
Results = Callable[[Collection[str]], LatencyTotal]


def _no_results(queries: Collection[str]) -> LatencyTotal:
    return LatencyTotal()


def _no_latency(class_name: str, now: float, statistic: RecentStatistic, since: float) -> None:
    return None


class Claim:
    """A slot's right to run a unit, valid from `Board.claim` to `Board.release`.

    The board has one per slot and reuses it: making an object for each call would cost as much as the decision.
    """

    __slots__ = ("busy", "decision", "slot", "started")
    decision: Decision

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.started = 0.0
        self.busy = False


class FedUnits:
    """The units that a queue feeds: those whose input it is part of. The board keeps it up to date."""

    __slots__ = ("units",)

    def __init__(self) -> None:
        self.units: tuple[Unit, ...] = ()


class Board:
    """The state that a policy sees (its `View`), and the methods by which a runtime changes it.

    Not thread-safe: the Spark runtime holds its lock around every call, and the simulator has one thread. The runtime
    sets `now` before each call.
    """

    def __init__(
        self,
        plan: Plan,
        queues: Mapping[Edge, Queue],
        policy: Policy,
        stats: Stats,
        slots: int,
        call_fixed_s: float | None = 0.0,
        latency: Latency = _no_latency,
        results: Results = _no_results,
        inputs: Callable[[str], int] = lambda query: 0,
        joint: Mapping[str, Queue] | None = None,
        seed: int = 0,
        boundary_wait: BoundaryWait | None = None,
        linger_s: float = 0.0,
        is_due: Callable[[Unit], bool] = lambda unit: False,
        now: float = 0.0,
    ) -> None:
        self.plan = plan
        self.slots = slots
        self.seed = seed
        self.now = now
        self.arrived = 0
        self.stats_version = 0
        self.call_fixed_s = call_fixed_s
        self.classes_version = 0
        self.rounds = 0
        self._queues = dict(queues)
        self._joint = dict(joint or {})
        self._stats = stats
        self._latency = latency
        self._results = results
        self._inputs = inputs
        self._boundary_wait = boundary_wait
        self.linger = Linger(lambda unit: grain(unit, self), linger_s, is_due)
        self._claims = tuple(Claim(slot) for slot in range(slots))
        self._from_old_policys: set[int] = set()  # slots whose call is older than the policy
        self._spent: dict[Edge, float] = {}  # seconds that preempted calls gave to the first tuple of a queue
        self._fed_units: dict[Edge, FedUnits] = {}
        self.install(policy)

    # What policies see -------------------------------------------------------------------------------------------

    @property
    def priorities(self) -> Mapping[str, int]:
        """Class -> its current priority."""
        return self.plan.priorities

    @property
    def memory(self) -> float:
        return sum(queue.bytes for queue in self._queues.values())

    def ready(self) -> Sequence[Unit]:
        return [unit for unit in self.units if unit.ready]

    def stats(self, operator: str) -> OperatorStats:
        return self._stats.of(operator)

    def stream_bytes(self, stream: str) -> float | None:
        return self._stats.stream_bytes(stream)

    def latency(self, class_name: str, statistic: RecentStatistic = RECENT_MEAN, since: float = -1.0) -> float | None:
        return self._latency(class_name, self.now, statistic, since)

    def results(self, queries: Collection[str]) -> LatencyTotal:
        return self._results(queries)

    def arrived_for(self, query: str) -> int:
        """Tuples that came so far on the streams of a query."""
        return self._inputs(query)

    def queued_tuples(self, query: str) -> int:
        """How many tuples wait at the operators of a query,"""
        return sum(queue.count for queue in self._queues_of(query))

    def queued_bytes(self, query: str) -> float:
        """and how many bytes these are."""
        return sum(queue.bytes for queue in self._queues_of(query))

    def _queues_of(self, query: str) -> list[Queue]:
        mine = set(self.plan.queries[query].operators)
        return [queue for edge, queue in self._queues.items() if edge.operator in mine]

    def oldest_waiting(self, query: str) -> float | None:
        """Since when the oldest tuple of a query has waited, except at units that may wait for a window boundary."""
        mine = [unit for unit in self.units if query in unit.queries]
        if any(unit.may_wait for unit in mine):
            return None
        return min((oldest for unit in mine if (oldest := unit.oldest) is not None), default=None)

    @property
    def calls_in_flight(self) -> int:
        """Calls in flight."""
        return sum(claim.busy for claim in self._claims)

    # What runtimes do --------------------------------------------------------------------------------------------

    def install(self, policy: Policy, plan: Plan | None = None) -> None:
        """Set the policy, at the start or later. Calls in flight go on, and block the units that share an operator.

        `plan` is given when queries were added or have ended: what is no longer in it is forgotten.
        """
        plan = plan or self.plan
        groups = policy.units(plan, self._stats)
        units = make_units(plan, groups, self._queues, self._joint)  # may raise, so before anything changes
        self.policy, self.plan = policy, plan
        self.units: tuple[Unit, ...] = units
        if self._boundary_wait is not None:
            self._boundary_wait.set_units(plan, units)
        self.linger.set_units(plan, units)
        for fed_units in self._fed_units.values():
            fed_units.units = ()
        for edge in self.plan.edges:
            self.fed_units(edge).units = tuple(unit for unit in self.units if edge in unit.edges)
        for claim in self._claims:
            if claim.busy:
                self._from_old_policys.add(claim.slot)
                for unit in self._users(claim):
                    unit.blocked += 1
        for edge in self._spent:
            self._update_spent(edge)
        self.ready_units = 0  # how many
        self._choose, self._became_ready = policy.choose, policy.became_ready
        # Most policies do not listen to the end of calls: spare them the object.
        self._wants_finished = type(policy).finished is not Policy.finished
        self._wants_ran_dry = type(policy).ran_dry is not Policy.ran_dry
        policy.start(self)
        for unit in self.units:
            self._announce(unit)

    def add_queues(self, queues: Mapping[Edge, Queue]) -> None:
        """Add the queues of queries that are about to be added. Call `install` with the new plan next."""
        self._queues.update(queues)

    def learned(self) -> None:
        """Statistics have changed: show them to the policy, which may want other units now."""
        self.stats_version += 1
        self.linger.forget()
        if self.policy.regroups(self.plan, self._stats):
            self.install(self.policy)

    def review(self) -> bool:
        """Let the policy look at how things went; True: the units are others now. To be called at its `review_at`."""
        changed = self.policy.review()
        if changed:
            self.install(self.policy)
        return changed

    def set_classes(self, plan: Plan) -> None:
        """The administrator changed priorities or the classes of queries; `plan` is otherwise the same.

        If they are as before, nothing happens: policies keep what they have learned.
        """
        if (plan.classes, plan.queries) == (self.plan.classes, self.plan.queries):
            return
        self.classes_version += 1
        self.stats_version += 1  # policies must recompute what depends on priorities
        if [group.operators for group in self.policy.units(plan, self._stats)] != [u.operators for u in self.units]:
            self.install(self.policy, plan)  # a policy that combines queries of a class
            return
        self.plan = plan
        self.linger.set_classes(plan)
        for unit in self.units:
            unit.class_name = most_important(plan, unit.queries)
            self._announce(unit)  # in its new class it may have lingered long enough

    def set_lingers(self, plan: Plan) -> None:
        """Some queries may linger for longer, or less long; `plan` is otherwise the same."""
        self.plan = plan
        self.linger.set_classes(plan)
        for unit in self.units:
            self._announce(unit)  # it may have lingered long enough

    def set_promises(self, plan: Plan) -> None:
        """A query is promised something else, or tolerates another error; `plan` is otherwise the same."""
        self.plan = plan
        if self._boundary_wait is not None:
            self._boundary_wait.set_units(plan, self.units)
        self.recheck_waiting()  # with less time, what waits may be too much work

    def fed_units(self, edge: Edge) -> FedUnits:
        """The units that a queue feeds; the object stays the same as long as the board exists."""
        return self._fed_units.setdefault(edge, FedUnits())

    def fed(self, edge: Edge) -> None:
        """Tuples were put into a queue: announce units that can now run, or whose oldest tuple may have changed."""
        self.wake(self._fed_units[edge])

    def wake(self, fed_units: FedUnits) -> None:
        """As `fed`, for a runtime that keeps `fed_units` at hand."""
        for unit in fed_units.units:
            if unit.ready:
                if not unit.private or self.policy.watches_queues:  # its first tuple may have changed
                    self._became_ready(unit)
            elif not unit.blocked:
                self._make_ready(unit)

    def recheck_waiting(self, edges: Iterable[Edge] | None = None) -> None:
        """Time has passed: announce the units that no longer have to wait for a boundary.

        With `edges`, only the units that read these queues are checked.
        """
        units = self.units if edges is None else [unit for edge in edges for unit in self.fed_units(edge).units]
        for unit in units:
            if unit.may_wait:
                self._announce(unit)

    def end_lingers(self) -> None:
        """Announce the units whose oldest tuple has waited long enough for company. To be called at `linger.next`."""
        for unit in self.linger.over(self.now):
            self._announce(unit)

    def spend(self, edge: Edge, seconds: float) -> None:
        """Set the total time that preempted calls gave to the first tuple of a queue; 0: a call takes it up again."""
        if seconds > 0.0:
            self._spent[edge] = seconds
        else:
            self._spent.pop(edge, None)
        self._update_spent(edge)

    def claim(self, slot: int) -> Claim | None:
        """Ask the policy what a free slot should run, and reserve that unit. None: the slot stays idle for now."""
        claim = self._claims[slot]
        if claim.busy:
            raise InvariantError(f"slot {slot} asks for a call while it runs {claim.decision.unit.id}")
        decision = self._choose(slot)
        if decision is None:
            if self.ready_units and self.policy.work_conserving:
                ready = ", ".join(unit.id for unit in self.ready())
                raise InvariantError(f"policy {self.policy.name} leaves slot {slot} idle while {ready} could run")
            return None
        unit, tuples, seconds, ends_round, _, _, _ = decision
        if not unit.ready:
            raise PolicyError(f"policy {self.policy.name} chose {unit.id}, which cannot run now")
        if (tuples is not None and tuples < 1) or (seconds is not None and not seconds > 0.0):
            bounds = f"tuples={tuples}, seconds={seconds}"
            raise PolicyError(f"policy {self.policy.name} gives {unit.id} {bounds}: a bound must be above 0, or None")
        if unit.alone:
            unit.blocked = 1
            unit.ready = False
            self.ready_units -= 1
        else:
            self._block(unit)
        claim.decision = decision
        claim.started = self.now
        claim.busy = True
        if ends_round:
            self.rounds += 1
            self.policy.round_ended()
        return claim

    def release(self, claim: Claim, tuples: int, outputs: int, preempted: bool = False) -> None:
        """A call has ended and its results are in the queues: free its unit and notify the policy."""
        claim.busy = False
        unit = claim.decision.unit
        if unit.spent:
            unit.spent = self._spent_on(unit)
        from_old_policy = bool(self._from_old_policys) and claim.slot in self._from_old_policys
        overlaps = self._units_blocked_by(claim) if from_old_policy else unit.overlaps
        for other in overlaps:
            other.blocked -= 1
        if self._wants_finished and not from_old_policy:
            seconds = self.now - claim.started
            self.policy.finished(FinishedCall(unit, claim.slot, claim.started, seconds, tuples, outputs, preempted))
        for other in overlaps:
            self._announce(other)
        if not self.ready_units and self._wants_ran_dry:
            self.policy.ran_dry()

    def _units_blocked_by(self, claim: Claim) -> tuple[Unit, ...]:
        """The policy was replaced during the call: the units of the new policy that the call blocks."""
        self._from_old_policys.remove(claim.slot)
        return self._users(claim)

    def _block(self, unit: Unit) -> None:
        for other in unit.overlaps:
            other.blocked += 1
            if other.ready:
                other.ready = False
                self.ready_units -= 1

    def _announce(self, unit: Unit) -> None:
        """Announce a unit if it is ready now."""
        if not unit.ready and not unit.blocked and unit.oldest is not None:
            self._make_ready(unit)

    def _make_ready(self, unit: Unit) -> None:
        """A unit has input and is not blocked: it is ready, unless it waits for a boundary or lingers."""
        if unit.may_wait:
            if self._boundary_wait is not None and self._boundary_wait.waits(unit, self.now):
                return
        elif unit.linger_s and self.linger.waits(unit, self.now):
            return
        unit.ready = True
        self.ready_units += 1
        self._became_ready(unit)

    def _update_spent(self, edge: Edge) -> None:
        for unit in self.fed_units(edge).units:
            unit.spent = self._spent_on(unit)

    def _spent_on(self, unit: Unit) -> float:
        return sum(self._spent.get(edge, 0.0) for edge in unit.edges)

    def _users(self, claim: Claim) -> tuple[Unit, ...]:
        busy = set(claim.decision.unit.operators)
        return tuple(unit for unit in self.units if not busy.isdisjoint(unit.operators))
