"""Slots of a round that passed while their units waited for a window boundary."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headgate.scheduling.units import Unit


class MissedSlots:
    """The units that have reached their window boundary after missing a slot, the most important first."""

    def __init__(self) -> None:
        self.restart(0)

    def restart(self, units: int) -> None:
        """There is a new schedule: no unit has missed a slot of it."""
        self._round = 0
        self._ran = [(0, 0)] * units  # unit -> round and position of its last chance to run
        self._owed: list[tuple[int, int]] = []  # (rank, index) of each unit that is owed a slot

    def end_round(self) -> None:
        """A round of the schedule has ended."""
        self._round += 1

    def ran(self, index: int, at: int) -> None:
        """A call of a unit has ended, or the unit let its chance pass, when the round was at `at`."""
        self._ran[index] = (self._round, at)

    def reached(self, index: int, rank: int, places: Sequence[int], at: int) -> None:
        """A unit has reached its window boundary. `places` are its slots in the round, which is now at `at`."""
        if self._passed(index, places, at) and (rank, index) not in self._owed:
            insort(self._owed, (rank, index))

    def take(self, rank: int, units: Sequence[Unit]) -> Unit | None:
        """Remove and return the first unit that is ready and at least as important as `rank`; None if there is none."""
        while self._owed and self._owed[0][0] <= rank:
            unit = units[self._owed.pop(0)[1]]
            if unit.ready:
                return unit
        return None

    def _passed(self, index: int, places: Sequence[int], at: int) -> bool:
        """Has one of the unit's slots come up since its last chance?"""
        round_, since = self._ran[index]
        if round_ == self._round:
            following = bisect_left(places, since)
            return following < len(places) and places[following] < at
        return round_ < self._round - 1 or places[-1] >= since or places[0] < at
