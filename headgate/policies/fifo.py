"""fifo: the oldest waiting tuple first, through its whole path."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Literal

from headgate.policies.parameters import one_of
from headgate.policies.predictable_order import ArrivalOrder, FixedRanks
from headgate.policies.worth import Rank, Worth
from headgate.scheduling.costs import grain
from headgate.scheduling.policy import Decision, Policy, View
from headgate.scheduling.units import Unit

_ANY = Worth(1.0, 1.0, 0.0)


class Fifo(Policy, ArrivalOrder, FixedRanks):
    """First in, first out over all streams (Sharaf et al. section 3.4; Jiang and Chakravarthy section 2.2).

    Takes the path whose first tuple arrived first and runs that tuple through. Where calls have a fixed cost, a call
    for one tuple would be nearly all overhead, so it takes as many of the oldest tuples as make up for the fixed cost.
    """

    name = "fifo"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS, section 3.4"

    def __init__(self, unit: Literal["operator", "path", "query"] = "path") -> None:
        self.unit = one_of("unit", unit, ("operator", "path", "query"))

    def start(self, view: View) -> None:
        super().start(view)
        self._line: list[tuple[float, int, Unit]] = []  # a heap
        self._place: list[float | None] = [None] * len(view.units)  # unit -> the arrival time it is in line with
        self._decisions: list[Decision] = []
        self._version = -1

    def became_ready(self, unit: Unit) -> None:
        oldest = unit.oldest
        index = unit.index
        if oldest is not None and self._place[index] != oldest:
            self._place[index] = oldest
            heappush(self._line, (oldest, index, unit))

    def choose(self, slot: int) -> Decision | None:
        line, place = self._line, self._place
        while line:
            arrival, index, unit = heappop(line)
            if place[index] != arrival:
                continue  # a stale entry: the unit is elsewhere in the line
            place[index] = None
            if not unit.ready:
                continue  # it will be announced again
            if not unit.private and unit.oldest != arrival:
                self.became_ready(unit)  # another unit took its oldest tuple
                continue
            self._refresh()
            return self._decisions[index]
        return None

    @property
    def in_arrival_order(self) -> bool:
        """False if calls take several tuples, or if operators are scheduled one by one.

        In the latter case a result that waits for its next operator is as old as the tuple it was made from.
        """
        self._refresh()
        return self.unit != "operator" and all(decision.tuples == 1 for decision in self._decisions)

    @property
    def ranks(self) -> Sequence[Rank] | None:
        """All units are worth the same, so only the age of tuples counts."""
        return [Rank(_ANY, unit.index) for unit in self.view.units] if self.in_arrival_order else None

    def _refresh(self) -> None:
        if self._version != self.view.stats_version:
            self._version = self.view.stats_version
            self._decisions = [Decision(unit, grain(unit, self.view)) for unit in self.view.units]
