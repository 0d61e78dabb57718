"""Lets units with little input wait a little, so that a call has enough tuples to be worth its fixed cost.

Without it, a work-conserving scheduler spends its slots on calls with one tuple each whenever the load is light: the
latency is as good as it gets, and the processors are busy with fixed costs. `linger` says how long the oldest tuple of
a unit may wait for company. Where calls have no fixed cost, as in the papers, no unit lingers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from headgate.plan.model import Plan
from headgate.scheduling.units import Unit


class Linger:
    """Decides which units linger now; one object per board.

    `worth(unit)` is how many tuples are worth a call; None: not known, so the unit does not linger. It is asked again
    after `forget`. A unit that is due (see `is_due`) does not linger: the passing of time gives it something to do.
    """

    def __init__(
        self,
        worth: Callable[[Unit], int | None],
        default_s: float = 0.0,
        is_due: Callable[[Unit], bool] = lambda unit: False,
    ) -> None:
        self.next = math.inf  # when the first unit will have lingered long enough
        self._worth = worth
        self._default_s = default_s
        self._is_due = is_due
        self._known: dict[int, int | None] = {}  # by unit
        self._ends: list[tuple[float, int]] = []  # a heap: when each lingering unit has lingered long enough
        self._queued: set[int] = set()  # units in the heap
        self._units: tuple[Unit, ...] = ()

    def set_units(self, plan: Plan, units: tuple[Unit, ...]) -> None:
        """The units have changed: none lingers until the board announces it."""
        self._units = units
        self._ends.clear()
        self._queued.clear()
        self.next = math.inf
        self.set_classes(plan)

    def set_classes(self, plan: Plan) -> None:
        """Queries have changed their classes. A unit lingers as long as the least patient of its queries."""
        for unit in self._units:
            unit.linger_s = least_linger_s(plan, unit.queries, self._default_s)
        self.forget()

    def forget(self) -> None:
        """Costs have changed."""
        self._known.clear()

    def waits(self, unit: Unit, now: float) -> bool:
        """Should a unit with input wait? Then it is among the units of `over` once it has waited long enough."""
        oldest = unit.oldest
        if oldest is None or now >= (end := oldest + unit.linger_s) or self._is_due(unit):
            return False
        if self._is_worth_a_call(unit):
            return False
        if unit.number not in self._queued:
            self._queued.add(unit.number)
            heappush(self._ends, (end, unit.number))
            self.next = self._ends[0][0]
        return True

    def over(self, now: float) -> list[Unit]:
        """The units that may have lingered long enough: the board announces them again, and asks `waits`."""
        found = []
        while self._ends and self._ends[0][0] <= now:
            _, number = heappop(self._ends)
            self._queued.remove(number)
            found.append(self._units[number])
        self.next = self._ends[0][0] if self._ends else math.inf
        return found

    def _is_worth_a_call(self, unit: Unit) -> bool:
        if unit.number not in self._known:
            self._known[unit.number] = self._worth(unit)
        least = self._known[unit.number]
        return least is None or unit.waiting >= least


def least_linger_s(plan: Plan, queries: Iterable[str], default_s: float) -> float:
    """How long a unit may linger that works for these queries."""
    return min((default_s if (own := plan.linger_s(query)) is None else own for query in queries), default=0.0)
