"""A rotation: units that are served in turn."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headgate.scheduling.units import Unit


class Rotation:
    """Serves units in turn, in order of their place, and skips those without input.

    It looks only at units that were announced as ready, so a turn costs O(log n) for n units. For callers that charge
    for the units skipped, `passed_over` has their number.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.next_place = 0  # where the search for the next unit begins
        self.passed_over = 0  # places skipped by the last `next`
        self._places = {unit: place for place, unit in enumerate(units)}
        self._ready: list[int] = []  # places of units that may be ready, sorted

    def add(self, unit: Unit) -> None:
        """Note that a unit may be ready."""
        place = self._places[unit]
        at = bisect_left(self._ready, place)
        if at == len(self._ready) or self._ready[at] != place:
            self._ready.insert(at, place)

    def has_ready(self) -> bool:
        """Is any unit ready? If so, the last one in the list is."""
        while self._ready and not self.units[self._ready[-1]].ready:
            self._ready.pop()  # it will be announced again
        return bool(self._ready)

    def next(self, around: bool = True) -> Unit | None:
        """The next ready unit, whose turn this is; None if no unit is ready.

        With `around` False it stops after the last place: then it returns None, and the next search begins at the
        first place.
        """
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
        """Is no unit ready after the one whose turn was last?"""
        return not self.has_ready() or self._ready[-1] < self.next_place

    def put_back(self, unit: Unit) -> None:
        """Make a unit the next one again: its input was not used up."""
        self.next_place = self._places[unit]
        insort(self._ready, self.next_place)
