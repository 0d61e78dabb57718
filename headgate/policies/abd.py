"""abd: a broadcast-disk schedule of classes, each slot with a quota of time; within a class, operators in turn."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from headgate.metrics.recent import RecentStatistic
from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.policies.broadcast import VARIANTS, Variant, broadcast_schedule
from headgate.policies.class_order import ClassOrder
from headgate.policies.groupings import operators_by_query
from headgate.policies.inversion import abd_frequencies, first_frequencies, inverted_pairs
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.parameters import one_of, positive, whole
from headgate.policies.repair_pace import TakingBack, goes_too_far, repair_due
from headgate.policies.rotation import Rotation
from headgate.scheduling.costs import cost_per_tuple, fixed_cost
from headgate.scheduling.policy import TOLERANCE, Decision, FinishedCall, Policy, View
from headgate.scheduling.units import Group, Unit

LEAST_QUOTA_S = 1e-6


class AdaptiveBroadcastDisk(Policy):
    """Each class gets slices of time as often as its priority says, evenly spread (Al Moakar, chapter 5).

    A class runs its operators in turn and resumes where it stopped. When a slice is too short for an operator's queue,
    the quota of all slices grows by the missing time; after a round in which that did not happen it shrinks again, by
    what it last grew. As long as it has not grown at all it shrinks by half; in Algorithm 3 as it is printed
    (`literal`) it would stay, so that a great first quota stays for ever. At the end of a round, classes whose mean
    latencies are inverted change their frequencies. `passes` limits how often a
    slice goes through the operators of its class; null: until its time is used up. `variant` says how the slots of a
    round are spread (`broadcast.py`). Made for one slot; several slots walk the same schedule.
    """

    name = "abd"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = f"{AL_MOAKAR}, chapter 5"

    def __init__(
        self,
        quota: float = 50e-6,
        passes: int | None = 1,
        window: float = 2.0,
        samples: int = 30,
        variant: Variant = "disjoint",
        literal: bool = False,
    ) -> None:
        self.first_quota = positive("quota", quota)
        self.passes = math.inf if passes is None else whole("passes", passes)
        self._statistic = RecentStatistic(None, positive("window", window), whole("samples", samples))
        self._literal = one_of("literal", literal, (False, True))
        self._variant: Variant = one_of("variant", variant, VARIANTS)

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return operators_by_query(plan)

    def start(self, view: View) -> None:
        super().start(view)
        self._classes_version = view.classes_version
        self.class_order = ClassOrder(view)
        self._turns = [Rotation(units) for units in self.class_order.units]
        self.frequencies = first_frequencies(self.class_order.priorities)
        self.quota = self.first_quota
        self.position = 0  # position in the round
        self._grown_by = 0.0  # by how much the quota last grew; 0: never yet
        self._grew = False  # did it grow in this round?
        self._slice: _Slice | None = None
        self._slices = 0  # slices begun on the way to a decision
        self._empty = 0  # operators found without input on the way
        self._served: dict[int, _Slice] = {}  # slot -> the slice of the call that runs there
        self._rounds = 0
        self._taking_back = TakingBack(view.now)
        self._since = self._checked = view.now  # older latencies do not count; when latencies were last compared
        self._rebuild()

    def became_ready(self, unit: Unit) -> None:
        self._turns[self.class_order.place_of[unit.index]].add(unit)

    def choose(self, slot: int) -> Decision | None:
        if self._classes_version != self.view.classes_version:
            ready = self.view.ready()
            self.start(self.view)
            for unit in ready:
                self.became_ready(unit)
        if not any(turns.has_ready() for turns in self._turns):
            self._slice = None
            return None
        rounds = self._rounds
        self._slices = self._empty = 0
        while True:
            if self._slice is None:
                self._slice = self._next_slice(slot)
            current = self._slice
            decision = self._go_on(current)
            if decision is None or current.missing > 0.0:
                self._slice = None
            if decision is not None:
                self._served[slot] = current
                ended = self._rounds > rounds
                return decision._replace(inspected=self._empty, switches=self._slices, ends_round=ended)

    def finished(self, call: FinishedCall) -> None:
        """A slice that had too little time makes the quota grow by what it lacked plus the overrun of its last call.

        Another slot may have begun the next slice by then.
        """
        self._taking_back.finished()
        served = self._served.pop(call.slot, None)
        if served is None:
            return
        if (
            served.opener == call.slot
        ):  # switching to the class is not part of its slice, and only now it is known how long that took
            served.begun, served.opener = call.started, None
        if served.missing > 0.0:
            self._grow(served.missing + max(0.0, -served.left(call.started + call.seconds)))

    def ran_dry(self) -> None:
        self._taking_back.ran_dry()
        if self._slice is not None:
            self._pass_over_the_rest(self._slice)
            self._slice = None

    # One slice ---------------------------------------------------------------------------------------------------

    def _go_on(self, current: _Slice) -> Decision | None:
        """The next call of a slice; None when it is over."""
        turns = self._turns[current.place]
        before = turns.next_place
        unit = turns.next()
        if unit is None or turns.passed_over >= self._visits_left(current):
            if unit is not None:
                turns.put_back(unit)
                turns.next_place = before
            self._pass_over_the_rest(current)
            return None
        current.visited += turns.passed_over + 1
        self._empty += turns.passed_over
        fixed, cost = fixed_cost(unit, self.view), cost_per_tuple(unit, self.view)
        if fixed is None or cost is None:
            return Decision(unit)
        left, wanted = current.left(self.view.now), fixed + unit.waiting * cost
        slack = current.quota * TOLERANCE
        if wanted <= left + slack:
            return Decision(unit)
        fits = math.floor((left + slack - fixed) / cost) if cost > 0.0 else 0
        turns.put_back(unit)
        if fits < 1:
            self._grow(wanted + max(0.0, -left))
            return None
        current.missing = (unit.waiting - fits) * cost
        return Decision(unit, tuples=fits)

    def _visits_left(self, current: _Slice) -> float:
        return self.passes * len(self._turns[current.place].units) - current.visited

    def _pass_over_the_rest(self, current: _Slice) -> None:
        """End a slice: skip the visits it has left, at most one pass over its operators."""
        turns = self._turns[current.place]
        rest = int(min(self._visits_left(current), len(turns.units)))
        turns.next_place = (turns.next_place + rest) % len(turns.units)
        self._empty += rest

    def _grow(self, seconds: float) -> None:
        self._grown_by, self._grew = seconds, True
        self.quota += seconds

    def _next_slice(self, slot: int) -> _Slice:
        """The next slice of a class with input. The operators of the slices before it count as found empty."""
        waiting = [place for place, turns in enumerate(self._turns) if turns.has_ready()]
        while True:
            due = [at for place in waiting if (at := self._following(place)) is not None]
            at = min(due, default=len(self.schedule))
            self._slices += at - self.position
            self._empty += self._operators_before[at] - self._operators_before[self.position]
            if due:
                self._slices += 1
                self.position = at + 1
                return _Slice(self.schedule[at], self.quota, self.view.now, slot)
            self._end_round()

    def _following(self, place: int) -> int | None:
        """The next slot of a class in this round; None if there is none."""
        slots = self._slots[place]
        number = bisect_left(slots, self.position)
        return slots[number] if number < len(slots) else None

    # The end of a round ------------------------------------------------------------------------------------------

    def _end_round(self) -> None:
        self.position = 0
        self._rounds += 1
        step = self._grown_by or (0.0 if self._literal else self.quota / 2)
        if not self._grew and self.quota > step:
            self.quota = max(LEAST_QUOTA_S, self.quota - step)
        self._grew = False
        if repair_due(self.view, self._checked):
            self._checked = self.view.now
            self._monitor()

    def _monitor(self) -> None:
        priorities, before = self.class_order.priorities, self.frequencies
        first = first_frequencies(priorities)
        self.frequencies = self._taking_back.frequencies(self.view, before, first, priorities)
        latencies = [self.view.latency(name, self._statistic, self._since) for name in self.class_order.names]
        pairs = inverted_pairs(priorities, latencies)
        if any(pairs):
            found = abd_frequencies(self.frequencies, priorities, pairs)
            if not goes_too_far(self.view, found):
                self.frequencies = found
        if self.frequencies != before:
            self._rebuild()

    def _rebuild(self) -> None:
        self.schedule = broadcast_schedule(enumerate(self.frequencies), self._variant)
        self._slots: list[list[int]] = [[] for _ in self.frequencies]  # class -> its slots in the round
        for at, place in enumerate(self.schedule):
            self._slots[place].append(at)
        operators = [len(self._turns[place].units) for place in self.schedule]
        self._operators_before = list(
            accumulate(operators, initial=0)
        )  # slot of the round -> operators in the slots before it
        self.position = 0
        self.updated_at = self.view.now
        self.updates += 1


class _Slice:
    """The turn of a class: when it began, its quota, the operators visited so far, and the time that was missing."""

    __slots__ = ("begun", "missing", "opener", "place", "quota", "visited")

    def __init__(self, place: int, quota: float, begun: float, opener: int) -> None:
        self.place = place
        self.quota = quota
        self.begun = begun
        self.opener: int | None = opener  # the slot of its first call, until that call has ended
        self.visited = 0
        self.missing = 0.0

    def left(self, now: float) -> float:
        """Seconds left; exactly the quota when the slice begins."""
        return self.quota - (now - self.begun)
