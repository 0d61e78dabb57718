"""Policies that rank units by a worth and always run the best one that is ready."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from headgate.policies.predictable_order import FixedRanks
from headgate.policies.starvation import Starvation, StarvationRelief, aged, aging_factors, oldest_unit
from headgate.policies.worth import Rank, Worth, finite, ratio
from headgate.scheduling.costs import train_length
from headgate.scheduling.policy import Decision, Policy, View
from headgate.scheduling.units import Unit

Entry = tuple[
    float, ...
]  # a unit's sort key in a ranking: the smallest runs first; its last element is the unit's index


class RankedPolicy(Policy, FixedRanks):
    """The greatest worth first; ties go to the oldest tuple, then by `places`.

    A ranking is kept in a heap, so a decision costs O(log n). Worths change only with the statistics, unless calls have
    a fixed cost: then a worth depends on the batch that waits, and the policy asks to hear of every tuple. A unit whose
    statistics are not known goes before all others, since they only become known by running it.
    """

    def __init__(self, starvation: Starvation = None, period: int = 20) -> None:
        self._relief = StarvationRelief(starvation, period)

    @abstractmethod
    def worths(self) -> Sequence[Worth | None]:
        """The worth of every unit, in unit order; None means not known. Called when statistics have changed."""

    def places(self) -> Sequence[int]:
        """The last tie-break: a different number for each unit; the smallest runs first. Called when installed."""
        return range(len(self.view.units))

    def most_tuples(self, unit: Unit) -> int | None:
        """The most tuples that a decision takes. Called when statistics have changed."""
        return train_length(unit, self.view)

    def rankings(self) -> Sequence[int]:
        """The number of the ranking that each unit belongs to: units compete only within it. Called when installed."""
        return [0] * len(self.view.units)

    @property
    def ranking_count(self) -> int:
        """How many rankings there are."""
        return 1

    def candidates(self, ready: Sequence[Unit]) -> Sequence[Unit]:
        """The ready units among which to look for the oldest tuple, with `starvation: oldest`."""
        return ready

    def start(self, view: View) -> None:
        super().start(view)
        self._places = self.places()
        self._ranking_of = self.rankings()
        self._factors: list[float] | None = None
        self._refresh()

    def became_ready(self, unit: Unit) -> None:
        oldest = unit.oldest
        if oldest is None:
            return
        entry = self._entry(unit, oldest)
        if entry != self._entries[unit.index]:
            self._entries[unit.index] = entry
            heap = self._heaps[self._ranking_of[unit.index]]
            heappush(heap, entry)
            if len(heap) > 2 * len(self._entries) + 64:  # stale entries that never reach the top would pile up
                heap[:] = [one for one in heap if self._entries[int(one[-1])] is one]
                heapify(heap)

    def choose(self, slot: int) -> Decision | None:
        if self._version != self.view.stats_version:
            self._refresh()
        unit = None
        if self._relief.kind is not None and self._relief.due():
            unit = self._relieve()
        if unit is None:
            unit = self.best()
        if unit is None:
            return None
        self._entries[unit.index] = None
        return self._decisions[unit.index]

    @property
    def ranks(self) -> Sequence[Rank] | None:
        """None if worths depend on what waits or for how long, if calls take several tuples, or if a subclass considers
        more than worths."""
        kind = type(self)
        if kind.choose is not RankedPolicy.choose or kind._entry is not RankedPolicy._entry:
            return None
        alone = all(decision.tuples == 1 for decision in self._decisions)
        known = [worth for worth in self._worths if worth is not None]
        if self.watches_queues or self._relief.kind is not None or not alone or len(known) < len(self._worths):
            return None
        return [Rank(worth, place) for worth, place in zip(known, self._places, strict=True)]

    def explain(self) -> dict[str, Any]:
        return {"ranked": True}

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        """`priority` is the papers' formula, which holds for long queues; `alone` is the priority of a single waiting
        tuple, which bears the whole fixed cost. A known unit without a priority costs nothing and goes first."""
        worth = self._worths[unit.index]
        if worth is None:
            return dict.fromkeys(("priority", "alone", "gain", "cost", "fixed_cost")) | {"known": False}
        return {
            "priority": finite(ratio(worth.gain, worth.cost_s)),
            "alone": finite(worth.per_second()),
            "gain": worth.gain,
            "cost": worth.cost_s,
            "fixed_cost": worth.fixed_s,
            "known": True,
        }

    def has_ready(self, ranking: int) -> bool:
        """Is any unit of a ranking ready?"""
        heap, entries, units = self._heaps[ranking], self._entries, self.view.units
        while heap and (entries[index := int(heap[0][-1])] is not heap[0] or not units[index].ready):
            if entries[index] is heappop(heap):
                entries[index] = None  # it will be announced again
        return bool(heap)

    def urgency(self, unit: Unit) -> float:
        """Minus the unit's priority: the smallest runs first."""
        return self._urgency_now(unit) if self.watches_queues else self._urgencies[unit.index]

    def _urgency_now(self, unit: Unit) -> float:
        worth = self._worths[unit.index]
        if worth is None:
            return -math.inf
        priority = worth.per_second(unit.waiting)
        return -priority if self._factors is None else -aged(priority, self._factors[unit.index])

    def _entry(self, unit: Unit, oldest: float) -> Entry:
        return (self.urgency(unit), oldest, self._places[unit.index], unit.index)

    def best(self, ranking: int = 0) -> Unit | None:
        """The ready unit that ranks first in a ranking; None if none is ready.

        Stale entries stay in the heap until they reach the top.
        """
        heap, entries, units = self._heaps[ranking], self._entries, self.view.units
        while heap:
            entry = heappop(heap)
            index = int(entry[-1])
            if entries[index] is not entry:
                continue
            entries[index] = None
            unit = units[index]
            if not unit.ready:
                continue  # it will be announced again
            if not unit.private and (oldest := unit.oldest) is not None and (now := self._entry(unit, oldest)) != entry:
                entries[index] = now  # another unit took its oldest tuple
                heappush(heap, now)
                continue
            return unit
        return None

    def _relieve(self) -> Unit | None:
        ready = self.view.ready()
        if self._relief.kind == "oldest":
            return oldest_unit(self.candidates(ready))
        self._factors = aging_factors(ready, self.view.now, len(self.view.units))
        self._rank()
        return None

    def _refresh(self) -> None:
        """Adopt changed statistics."""
        self._version = self.view.stats_version
        self._worths = self.worths()
        self._decisions = [Decision(unit, self.most_tuples(unit)) for unit in self.view.units]
        self.watches_queues = any(worth is not None and worth.fixed_s > 0.0 for worth in self._worths)
        self._rank()

    def _rank(self) -> None:
        """Rank all ready units again."""
        self._urgencies = [self._urgency_now(unit) for unit in self.view.units]
        self._entries: list[Entry | None] = [None] * len(self.view.units)
        self._heaps: list[list[Entry]] = [[] for _ in range(self.ranking_count)]
        for unit in self.view.ready():
            if (oldest := unit.oldest) is not None:
                self._entries[unit.index] = entry = self._entry(unit, oldest)
                self._heaps[self._ranking_of[unit.index]].append(entry)
        for heap in self._heaps:
            heapify(heap)
