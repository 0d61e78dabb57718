"""Slots of a round that passed while their units waited for a boundary of windows."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headgate.scheduling.units import Unit


class MissedSlots:
    """Which units have reached their boundary and missed a slot before, the most important first."""

    def __init__(self) -> None:
        self.restart(0)

    def restart(self, units: int) -> None:
        """Another schedule, with other places: nobody has missed any of it."""
        self._round = 0
        self._ran = [(0, 0)] * units  # by unit: the round of its last chance, and where that stood then
        self._owed: list[tuple[int, int]] = []  # rank and index of each unit

    def end_round(self) -> None:
        self._round += 1

    def ran(self, index: int, at: int) -> None:
        """A call of a unit is over, or it let its chance pass."""
        self._ran[index] = (self._round, at)

    def reached(self, index: int, rank: int, places: Sequence[int], at: int) -> None:
        """A unit has reached its boundary; it has these places in a round that stands at `at`."""
        if self._passed(index, places, at) and (rank, index) not in self._owed:
            insort(self._owed, (rank, index))

    def take(self, rank: int, units: Sequence[Unit]) -> Unit | None:
        """The first that is at least as important as a rank and still ready; it is owed nothing any more."""
        while self._owed and self._owed[0][0] <= rank:
            unit = units[self._owed.pop(0)[1]]
            if unit.ready:
                return unit
        return None

    def _passed(self, index: int, places: Sequence[int], at: int) -> bool:
        """Has the walk come by one of its places since its last chance?"""
        round_, since = self._ran[index]
        if round_ == self._round:
            following = bisect_left(places, since)
            return following < len(places) and places[following] < at
        return round_ < self._round - 1 or places[-1] >= since or places[0] < at
