"""The board: which units have input, which run, and what the policy says next. Shared by both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headgate.errors import InvariantError
from headgate.metrics.recent import RECENT_MEAN, RecentStatistic
from headgate.metrics.stats import OperatorStats, Stats
from headgate.plan.model import Edge, Plan
from headgate.scheduling.boundary_wait import BoundaryWait
from headgate.scheduling.policy import Decision, FinishedCall, Policy, PolicyError
from headgate.scheduling.units import Queue, Unit, make_units, most_important

# Class, now, how to look, since when: recent latency, or None.
Latency = Callable[[str, float, RecentStatistic, float], float | None]


def _no_latency(class_name: str, now: float, statistic: RecentStatistic, since: float) -> None:
    return None


class Claim:
    """A slot's right to run a unit, valid from `Board.claim` to `Board.release`.

    The board has one a slot and uses it again and again: making a record for each call would cost as much as the
    decision itself.
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
    """The state that a policy sees (its `View`) and the moves that a runtime makes.

    Not thread-safe: the Spark runtime holds one lock around every call; the simulator has one thread. `now` is set
    by the runtime before each move.
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
        joint: Mapping[str, Queue] | None = None,
        seed: int = 0,
        boundary_wait: BoundaryWait | None = None,
    ) -> None:
        self.plan = plan
        self.slots = slots
        self.seed = seed
        self.now = 0.0
        self.arrived = 0
        self.stats_version = 0
        self.call_fixed_s = call_fixed_s
        self.classes_version = 0
        self.rounds = 0
        self._queues = dict(queues)
        self._joint = dict(joint or {})
        self._stats = stats
        self._latency = latency
        self._boundary_wait = boundary_wait
        self._claims = tuple(Claim(slot) for slot in range(slots))
        self._orphans: set[int] = set()  # slots whose call began under a policy that has been replaced
        self._spent: dict[Edge, float] = {}  # seconds given to the first tuple of a queue by stopped calls
        self._fed_units: dict[Edge, FedUnits] = {}
        self.install(policy)

    # What policies see -------------------------------------------------------------------------------------------

    @property
    def priorities(self) -> Mapping[str, int]:
        """Class -> its priority now."""
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

    @property
    def calls_in_flight(self) -> int:
        """Calls in flight."""
        return sum(claim.busy for claim in self._claims)

    # What runtimes do --------------------------------------------------------------------------------------------

    def install(self, policy: Policy, plan: Plan | None = None) -> None:
        """Give the board a policy, or replace the one it has. Calls in flight go on and block what they use.

        With a `plan`, queries have stopped or joined: the board forgets what is no longer in it.
        """
        plan = plan or self.plan
        groups = policy.units(plan, self._stats)
        units = make_units(plan, groups, self._queues, self._joint)  # a refused policy changes nothing
        self.policy, self.plan = policy, plan
        self.units: tuple[Unit, ...] = units
        if self._boundary_wait is not None:
            self._boundary_wait.set_units(plan, units)
        for fed_units in self._fed_units.values():
            fed_units.units = ()
        for edge in self.plan.edges:
            self.fed_units(edge).units = tuple(unit for unit in self.units if edge in unit.edges)
        for claim in self._claims:
            if claim.busy:
                self._orphans.add(claim.slot)
                for unit in self._users(claim):
                    unit.blocked += 1
        for edge in self._spent:
            self._tell_spent(edge)
        self.ready_units = 0  # how many units are ready
        self._choose, self._became_ready = policy.choose, policy.became_ready
        self._listens = type(policy).finished is not Policy.finished  # most do not: spare them the record
        self._pauses = type(policy).ran_dry is not Policy.ran_dry
        policy.start(self)
        for unit in self.units:
            self._announce(unit)

    def add_queues(self, queues: Mapping[Edge, Queue]) -> None:
        """Queries are about to join: these stand in front of their operators. Call `install` with the new plan next."""
        self._queues.update(queues)

    def learned(self) -> None:
        """Statistics have changed enough for policies to look at them; one of them may want other units now."""
        self.stats_version += 1
        if self.policy.regroups(self.plan, self._stats):
            self.install(self.policy)

    def set_classes(self, plan: Plan) -> None:
        """The administrator changed priorities, or the classes of queries; `plan` is the same but for that.

        What is set to what it was is no change: policies keep what they have learned.
        """
        if (plan.classes, plan.queries) == (self.plan.classes, self.plan.queries):
            return
        self.classes_version += 1
        self.stats_version += 1  # what weighs by priorities is to be worked out anew
        if [group.operators for group in self.policy.units(plan, self._stats)] != [u.operators for u in self.units]:
            self.install(self.policy, plan)  # a policy that puts queries of a class together
            return
        self.plan = plan
        for unit in self.units:
            unit.class_name = most_important(plan, unit.queries)

    def fed_units(self, edge: Edge) -> FedUnits:
        """The units that a queue feeds; the object stays the same as long as the board exists."""
        return self._fed_units.setdefault(edge, FedUnits())

    def fed(self, edge: Edge) -> None:
        """Tuples were put into a queue: announce the units that can now run, or whose oldest tuple may have changed."""
        self.wake(self._fed_units[edge])

    def wake(self, fed_units: FedUnits) -> None:
        """As `fed`, for a runtime that keeps `fed_units` at hand."""
        for unit in fed_units.units:
            if unit.ready:
                if not unit.private or self.policy.watches_queues:  # its first tuple may be another one now
                    self._became_ready(unit)
            elif not unit.blocked:
                self._make_ready(unit)

    def recheck_waiting(self, edges: Iterable[Edge] | None = None) -> None:
        """Time has passed, at some queues only where these are named: announce the units that need not wait for a
        boundary any longer."""
        units = self.units if edges is None else [unit for edge in edges for unit in self.fed_units(edge).units]
        for unit in units:
            if unit.may_wait:
                self._announce(unit)

    def spend(self, edge: Edge, seconds: float) -> None:
        """A stopped call gave so much time to the first tuple of a queue in all; 0: that tuple is taken up again."""
        if seconds > 0.0:
            self._spent[edge] = seconds
        else:
            self._spent.pop(edge, None)
        self._tell_spent(edge)

    def claim(self, slot: int) -> Claim | None:
        """Ask the policy what a free slot should run, and reserve it. None: the slot stays idle for now."""
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
        """A call has ended and its results are in the queues: free its unit and tell the policy."""
        claim.busy = False
        unit = claim.decision.unit
        if unit.spent:
            unit.spent = self._spent_on(unit)
        orphan = bool(self._orphans) and claim.slot in self._orphans
        overlaps = self._adopters(claim) if orphan else unit.overlaps
        for other in overlaps:
            other.blocked -= 1
        if self._listens and not orphan:
            seconds = self.now - claim.started
            self.policy.finished(FinishedCall(unit, claim.slot, claim.started, seconds, tuples, outputs, preempted))
        for other in overlaps:
            self._announce(other)
        if not self.ready_units and self._pauses:
            self.policy.ran_dry()

    def _adopters(self, claim: Claim) -> tuple[Unit, ...]:
        """The policy was replaced during the call, so its units are gone: those that the call blocks instead."""
        self._orphans.remove(claim.slot)
        return self._users(claim)

    def _block(self, unit: Unit) -> None:
        for other in unit.overlaps:
            other.blocked += 1
            if other.ready:
                other.ready = False
                self.ready_units -= 1

    def _announce(self, unit: Unit) -> None:
        """Something has changed: a unit may be ready now."""
        if not unit.ready and not unit.blocked and unit.oldest is not None:
            self._make_ready(unit)

    def _make_ready(self, unit: Unit) -> None:
        """A unit has input and is not blocked: it is ready, unless it would rather wait."""
        if unit.may_wait and self._boundary_wait is not None and self._boundary_wait.waits(unit, self.now):
            return
        unit.ready = True
        self.ready_units += 1
        self._became_ready(unit)

    def _tell_spent(self, edge: Edge) -> None:
        for unit in self.fed_units(edge).units:
            unit.spent = self._spent_on(unit)

    def _spent_on(self, unit: Unit) -> float:
        return sum(self._spent.get(edge, 0.0) for edge in unit.edges)

    def _users(self, claim: Claim) -> tuple[Unit, ...]:
        busy = set(claim.decision.unit.operators)
        return tuple(unit for unit in self.units if not busy.isdisjoint(unit.operators))
