"""mbd, ambd: a broadcast-disk schedule of queries that all slots walk together."""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Literal

from headgate.metrics.learning import FadingRatio
from headgate.metrics.recent import RecentStatistic
from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.policies.broadcast import VARIANTS, Variant, broadcast_schedule
from headgate.policies.class_order import ClassOrder
from headgate.policies.groupings import combined_queries
from headgate.policies.inversion import MODULES, inverted_pairs
from headgate.policies.missed_slots import MissedSlots
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.parameters import one_of, percentage, positive, whole
from headgate.policies.query_costs import QueryCosts
from headgate.policies.query_shares import UnitCosts, shares
from headgate.policies.repair_pace import TakingBack, goes_too_far, repair_due
from headgate.scheduling.policy import Decision, FinishedCall, Policy, View
from headgate.scheduling.units import Group, Unit
from headgate.seeds import derived_seed

MOVED = 0.1  # a selectivity counts as changed if it changed by more than this share of itself
LONGEST = 65_536.0  # the most slots of a round


class MultiBroadcastDisk(Policy):
    """Queries get slots in a round by the frequency of their class and their share of its cost, evenly spread.

    Queries that share operators are one unit, in the most important of their classes. If a slot of a query comes up
    while the query runs, the query runs once more right after that. At the end of a round, inverted latencies of
    classes change frequencies (`inversion`) or the costs in use (`selectivity`: `s` if selectivities have changed, and
    then nothing else; `sa` always), and changed priorities take effect (`priorities: follow`). With `sel_gate: false`,
    `s` does not wait for inverted classes. Latencies are the mean, or a `percentile`, of at least `samples` results in
    the last `window` seconds. `variant` says how the slots of a round are spread (`broadcast.py`).

    `together` is how many queries of a class may form one unit, and so one job: they share the fixed cost of a call.
    `fixed_costs: ignored` uses the cost per tuple alone, as the source does. `weights: equal` gives all queries of a
    class the same share of its slots, whatever they cost: where a call takes all that waits, an expensive query needs
    no more calls than a cheap one.

    If a slot of a query passed while the query waited for a window boundary, it is made up for when the boundary is
    reached: the query takes the slot that is due, unless that belongs to a more important one, and gives its own next
    slot in return.
    """

    AHEAD = 1  # entries to consider for a slot, including the one that is due
    name = "mbd"
    unit = "query"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = f"{AL_MOAKAR}, chapter 6"

    def __init__(
        self,
        inversion: Literal["dvp", "ivp", "dsp", "isp"] | None = "dsp",
        selectivity: Literal["s", "sa"] | None = "sa",
        priorities: Literal["follow", "fixed"] = "follow",
        percentile: float | None = None,
        window: float = 2.0,
        samples: int = 30,
        together: int = 1,
        fixed_costs: Literal["amortised", "ignored"] = "amortised",
        weights: Literal["cost", "equal"] = "cost",
        sel_gate: bool = True,
        variant: Variant = "disjoint",
    ) -> None:
        self.together = whole("together", together)
        self._amortised = one_of("fixed_costs", fixed_costs, ("amortised", "ignored")) == "amortised"
        self._by_cost = one_of("weights", weights, ("cost", "equal")) == "cost"
        self._gated = one_of("sel_gate", sel_gate, (False, True))
        self._variant: Variant = one_of("variant", variant, VARIANTS)
        self.inversion = one_of("inversion", inversion, (None, *MODULES))
        self.selectivity = one_of("selectivity", selectivity, (None, "s", "sa"))
        self.follows = one_of("priorities", priorities, ("follow", "fixed")) == "follow"
        self._statistic = RecentStatistic(
            percentage("percentile", percentile), positive("window", window), whole("samples", samples)
        )

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        return combined_queries(plan, self.together)

    def start(self, view: View) -> None:
        super().start(view)
        self._chance = random.Random(derived_seed(view.seed, "mbd"))
        self._trains = {name: FadingRatio(None) for name in view.plan.classes}  # class -> tuples per call
        self.costs = QueryCosts(view, self._trains if self._amortised else None)
        self._waiting: dict[int, None] = {}  # units that were announced and not found empty since
        self.to_repeat: set[int] = set()  # units to run once more when their call has ended
        self.repeats: list[list[Unit]] = [[] for _ in range(view.slots)]  # slot -> units to run once more in it now
        self._skipped = 0  # slots passed on the way to a decision without a look at their units: gated out, or running
        self._missed = MissedSlots()
        self._put_off: Decision | None = None  # a decision that gave way to a missed slot and got no slot in return
        self._checked = 0.0  # when it was last seen whether anything is to be changed,
        self._compared = 0.0  # and when costs and latencies were looked at
        self.frequencies: list[int] = []  # one per class, the most important first
        self.position = 0  # position in the round
        self.schedule: list[
            int
        ] = []  # the units of this round: `base_schedule`, except for entries that changed places
        self.places: list[list[int]] = []  # unit -> its places in the schedule
        self._stale = True  # must both be copied from `base_schedule` again when the next round begins?
        self._take_priorities()
        self._rebuild()

    def became_ready(self, unit: Unit) -> None:
        self._waiting[unit.index] = None
        self._enter(unit.index)
        if unit.may_wait:
            self._missed.reached(unit.index, self._ranks[unit.index], self.places[unit.index], self.position)

    def choose(self, slot: int) -> Decision | None:
        while self.repeats[slot]:
            marked = self.repeats[slot].pop()
            if marked.ready:
                return Decision(marked)
        due, self._put_off = self._put_off, None
        if due is not None and due.unit.ready:
            return due
        due = self._next(slot)
        if due is None:
            return None
        missed = self._missed.take(self._ranks[due.unit.index], self.view.units)
        if missed is None or missed is due.unit:
            return due
        return self._instead(due, missed)

    def _instead(self, due: Decision, missed: Unit) -> Decision:
        """Make up for a missed slot: the unit takes the slot that is due and gives its next one in the round in return.

        If it has none, the unit that was due waits for one call.
        """
        places = self.places[missed.index]
        following = bisect_left(places, self.position)
        if following == len(places):
            self._put_off = due
            return Decision(missed)
        self._drawn.add(due.unit.index)
        self._exchange(self.position - 1, places[following])
        self._enter(missed.index)
        return due._replace(unit=missed)

    def _next(self, slot: int) -> Decision | None:
        """The next decision of the round for a slot."""
        before, passed, ended = self.position, 0, False
        self._skipped = 0
        while True:
            unit = self._walk(slot, gated=passed < len(self.schedule))
            if unit is not None:
                return Decision(unit, ends_round=ended, inspected=passed + self.position - 1 - before - self._skipped)
            if not any(self.view.units[index].ready for index in self._waiting):
                return None
            before, passed, ended = 0, passed + len(self.schedule) - before, True
            self._end_round()  # may replace the schedule

    def ran_dry(self) -> None:
        self._taking_back.ran_dry()
        for units in self.repeats:  # they would find no input now, and later would be too late
            units.clear()

    def finished(self, call: FinishedCall) -> None:
        index = call.unit.index
        self._missed.ran(index, self.position)
        self._taking_back.finished()
        self._trains[call.unit.class_name].learn(call.tuples, 1)
        if index in self.to_repeat:
            self.to_repeat.remove(index)
            self.repeats[call.slot].append(call.unit)

    # The walk ----------------------------------------------------------------------------------------------------

    def _walk(self, slot: int, gated: bool) -> Unit | None:
        """Move on to the next slot whose unit may run; None at the end of the round.

        Slots of units without input are passed over: the heap has only those of units that wait or run. When a whole
        round had nothing for a slot, the next round ignores gates: there is no other unit that they would favor.
        """
        aside: dict[int, int] = {}  # units that another slot runs -> the position after their first slot in this walk
        while self._heap:
            at, index = heappop(self._heap)
            if at < self.position or self.schedule[at] != index or index in aside:
                continue
            self.position = at = self._nearby(at, slot)
            index = self.schedule[at]
            self.position += 1
            unit = self.view.units[index]
            if not unit.ready and not unit.running:
                self._waiting.pop(index, None)  # it will be announced again
            elif gated and not self._passes_gate(at, index):
                self._missed.ran(index, self.position)  # it has had its chance
                self._skipped += 1
            elif unit.ready:
                self._enter(index)
                self._pass_over(aside, self.position)
                return unit
            else:
                self.to_repeat.add(index)
                self._skipped += 1
                if self.AHEAD == 1:
                    aside[index] = self.position
                    continue
            self._enter(index)
        self._pass_over(aside, len(self.schedule))
        return None

    def _pass_over(self, aside: Mapping[int, int], end: int) -> None:
        """Count the slots up to `end` of units that were set aside, as if each had been visited.

        A round may have thousands of slots of a unit that runs; stepping over them took most of the time of a decision.
        """
        for index, since in aside.items():
            places = self.places[index]
            first, following = bisect_left(places, since), bisect_left(places, end)
            self._skipped += following - first
            if following < len(places):
                self._enter(index)
            else:
                self.position = max(self.position, places[-1] + 1)

    def _nearby(self, at: int, slot: int) -> int:
        """The place to use instead of `at`, which is due. Here `at` itself."""
        return at

    def _enter(self, index: int) -> None:
        """Put the next slot of a unit in this round on the heap, if there is one."""
        places = self.places[index]
        following = bisect_left(places, self.position)
        if following < len(places):
            heappush(self._heap, (places[following], index))

    def _passes_gate(self, at: int, index: int) -> bool:
        """Draw whether a unit takes its first slot of a round, so that its slots per round may average a fraction."""
        gate = self.gates[index]
        if gate >= 1.0 or at != self.places[index][0] or index in self._drawn:
            return True
        return self._chance.random() < gate

    def _exchange(self, at: int, other: int) -> None:
        """Let two entries change places until the end of the round. Each is used once."""
        schedule = self.schedule
        for index, left, taken in ((schedule[at], at, other), (schedule[other], other, at)):
            self.places[index].remove(left)
            insort(self.places[index], taken)
        schedule[at], schedule[other] = schedule[other], schedule[at]
        self._stale = True
        self._enter(schedule[other])

    def _begin_round(self) -> None:
        if self._stale:
            self.schedule, self.places = list(self.base_schedule), places_of(self.base_schedule, len(self.gates))
            self._stale = False
        self.position = 0
        self._drawn: set[int] = set()  # units whose first slot came up and was given to another
        self._heap: list[tuple[int, int]] = []
        for index in self._waiting:
            self._enter(index)

    # The end of a round ------------------------------------------------------------------------------------------

    def _end_round(self) -> None:
        self._missed.end_round()
        if self.view.now > self._checked:  # several rounds without a call in between count as one
            self._checked = self.view.now
            self._repair()
        self._begin_round()

    def _repair(self) -> None:
        """React to changed priorities or to inverted classes."""
        if self.follows and self._classes_version != self.view.classes_version:
            self._take_priorities()
            if self.selectivity is not None:
                self.costs.adopt()
            self._rebuild()
            return
        if not repair_due(self.view, self._compared):
            return
        self._compared = self.view.now
        if self._by_cost and self.costs.became_known():
            self._rebuild()
            return
        if not self._gated and self._moved():
            self.costs.adopt()
            self._rebuild()
            return
        priorities, before = self.class_order.priorities, self.frequencies
        self.frequencies = self._taking_back.frequencies(self.view, before, priorities, priorities)
        latencies = [self.view.latency(name, self._statistic, self._since) for name in self.class_order.names]
        pairs = inverted_pairs(priorities, latencies)
        adopted = None not in latencies and any(pairs) and self._react(pairs)
        if adopted or self.frequencies != before:
            self._rebuild()

    def _react(self, pairs: Sequence[bool]) -> bool:
        """Change frequencies, or adopt the current costs. Returns whether it has adopted them."""
        adopts = self._moved() or (self._by_cost and self.selectivity == "sa")
        changes = self.inversion is not None and not (adopts and self.selectivity == "s")
        if adopts:
            self.costs.adopt()
        if changes and self.inversion is not None:
            found = MODULES[self.inversion](self.frequencies, self.class_order.priorities, pairs)
            if not goes_too_far(self.view, found):
                self.frequencies = found
        return adopts

    def _moved(self) -> bool:
        """Have selectivities changed that the policy should follow?"""
        return self._by_cost and self.selectivity == "s" and self.costs.moved(MOVED)

    def _take_priorities(self) -> None:
        self._classes_version = self.view.classes_version
        self.class_order = ClassOrder(self.view)
        self._class_of = [unit.class_name for unit in self.view.units]  # with `fixed`, even after a query is moved
        priorities = dict(zip(self.class_order.names, self.class_order.priorities, strict=True))
        self._ranks = [-priorities[name] for name in self._class_of]  # the most important have the lowest
        self.frequencies = list(self.class_order.priorities)
        # Older latencies do not count, and there is nothing to check yet.
        self._since = self._checked = self._compared = self.view.now
        self._taking_back = TakingBack(self.view.now)

    def _rebuild(self) -> None:
        """Make a new schedule."""
        frequencies = dict(zip(self.class_order.names, self.frequencies, strict=True))
        seconds = self.costs.seconds if self._by_cost else dict.fromkeys(self.costs.seconds, 1.0)
        classes = zip(self.view.units, self._class_of, strict=True)
        queries = [UnitCosts(unit.id, name, [seconds[q] for q in unit.queries]) for unit, name in classes]
        found = shares(queries, frequencies, LONGEST)
        given = [found[unit.id] for unit in self.view.units]
        self.gates = [share.gate for share in given]
        self.base_schedule = broadcast_schedule(
            ((index, share.slots) for index, share in enumerate(given)), self._variant
        )
        self._stale = True
        self._missed.restart(len(given))
        self.updates += 1
        self.updated_at = self.view.now
        self._begin_round()


def places_of(schedule: Sequence[int], units: int) -> list[list[int]]:
    """Unit -> its places in a round."""
    places: list[list[int]] = [[] for _ in range(units)]
    for place, index in enumerate(schedule):
        places[index].append(place)
    return places


class AffineBroadcastDisk(MultiBroadcastDisk):
    """As mbd, but a slot looks ahead for a query that ran last in this same slot, as its data may still be cached."""

    name = "ambd"
    paper = f"{AL_MOAKAR}, section 7.3"
    AHEAD = 10

    def start(self, view: View) -> None:
        self._last: dict[int, int] = {}  # unit -> the slot it ran in last
        super().start(view)

    def choose(self, slot: int) -> Decision | None:
        self._ahead = 0  # entries inspected beyond the one that was due
        decision = super().choose(slot)
        if decision is None:
            return None
        self._last[decision.unit.index] = slot
        return decision._replace(ahead=self._ahead)

    def _nearby(self, at: int, slot: int) -> int:
        """Swap the entry that is due with one ahead whose unit ran last in this slot. Each is used once per round."""
        schedule, units = self.schedule, self.view.units
        for other in range(at, min(at + self.AHEAD, len(schedule))):
            if self._last.get(schedule[other]) == slot and units[schedule[other]].ready:
                if other > at:
                    self._exchange(at, other)
                break
        self._ahead += other - at
        return at
