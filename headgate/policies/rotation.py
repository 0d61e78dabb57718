"""Units in turn."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headgate.scheduling.units import Unit


class Rotation:
    """Units that are served one after the other, by their place; who has no input is passed over.

    Only those that were announced are looked at, so a turn costs O(log n) however many there are. What it would cost
    to look at the others too is for who charges for it: `passed_over` has their number.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.next_place = 0  # where the turn stands,
        self.passed_over = 0  # and how many places were passed over on the last way there
        self._places = {unit: place for place, unit in enumerate(units)}
        self._ready: list[int] = []  # places of units that may be ready, sorted

    def add(self, unit: Unit) -> None:
        """A unit may be ready."""
        place = self._places[unit]
        at = bisect_left(self._ready, place)
        if at == len(self._ready) or self._ready[at] != place:
            self._ready.insert(at, place)

    def has_ready(self) -> bool:
        """Is a unit ready? Then the last of those in the list is."""
        while self._ready and not self.units[self._ready[-1]].ready:
            self._ready.pop()  # it will be announced again
        return bool(self._ready)

    def next(self, around: bool = True) -> Unit | None:
        """The next ready unit; it has had its turn then. None when there is none: at all, or, unless the turn goes
        `around`, up to the last place, and then the turn begins anew."""
        while self.has_ready():
            at = bisect_left(self._ready, self.next_place)
            if at == len(self._ready):
                if not around:
                    break
                at = 0
            place = self._ready.pop(at)
            if self.units[place].ready:
                self.passed_over = (place - self.next_place) % len(self.units)
                self.next_place = place + 1
                return self.units[place]
        self.passed_over = 0
        if not around:
            self.passed_over = len(self.units) - self.next_place
            self.next_place = 0
        return None

    @property
    def at_end(self) -> bool:
        """Is nobody ready after the one that had its turn last?"""
        return not self.has_ready() or self._ready[-1] < self.next_place

    def put_back(self, unit: Unit) -> None:
        """It was not run to its end: it is the next again."""
        self.next_place = self._places[unit]
        insort(self._ready, self.next_place)
