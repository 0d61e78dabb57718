"""Units that give results only at the boundaries of windows may wait until one is reached.

A call has a fixed cost, and of one before the boundary nothing comes. What waits meanwhile is kept small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from headgate.plan.boundaries import clock_of, slides_before_results
from headgate.plan.model import Plan
from headgate.plan.windows import Clock
from headgate.scheduling.units import Unit

MOST_TUPLES = 50_000  # that wait at a unit: windows make them fewer
MOST_S = 10.0  # that the first of them waits
PASSED_S = 1e-5  # after it a boundary has passed, whatever the rounding

# Operators of a unit, windows with their slides: would a call that takes all that waits come to a boundary?
Reaches = Callable[[Collection[str], Mapping[str, int]], bool]


class BoundaryWait:
    """Which units may wait, and whether they do now. So many bytes may wait at each.

    A unit that is due does not wait: time has given it something to do. Nor does any while memory is `pressed`: sources
    wait for what their input takes.
    """

    def __init__(
        self,
        reaches: Reaches,
        is_due: Callable[[Unit], bool],
        most_bytes: float,
        pressed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._reaches = reaches
        self._is_due = is_due
        self._most_bytes = most_bytes
        self._pressed = pressed
        self._slides: dict[int, Mapping[str, int]] = {}  # by unit
        self._apart = 0  # every boundary that time passes by itself is a multiple of it; 0: there is none
        self._passed: dict[str, int] = {}  # stream -> the last such multiple

    def set_units(self, plan: Plan, units: Collection[Unit]) -> None:
        """The units of now. Those that may wait are marked."""
        self._slides = {}
        for unit in units:
            slides = slides_before_results(plan, unit.operators)
            unit.may_wait = slides is not None
            if slides is not None:
                self._slides[unit.index] = slides
        windows = {name: slide for slides in self._slides.values() for name, slide in slides.items()}
        self._apart = math.gcd(*(slide for name, slide in windows.items() if clock_of(plan, name) is Clock.ARRIVAL))

    def crosses(self, stream: str, now_us: int) -> bool:
        """Has a boundary been passed since this was last asked for a stream? An instant passes when it is over."""
        if not self._apart:
            return False
        before, self._passed[stream] = self._passed.get(stream), (now_us - 1) // self._apart
        return before != self._passed[stream]

    def next_boundary(self, now: float) -> float:
        """When time will have passed the next boundary by itself; inf: it passes none."""
        apart = self._apart  # asked without the lock
        return ((round(now * 1e6) - 1) // apart + 1) * apart / 1e6 + PASSED_S if apart else math.inf

    def waits(self, unit: Unit, now: float) -> bool:
        """Should a unit with input rather wait for more? Only for one that may."""
        oldest = unit.oldest
        if self._is_due(unit) or unit.waiting >= MOST_TUPLES or unit.bytes >= self._most_bytes:
            return False
        if self._pressed() or (oldest is not None and now - oldest >= MOST_S):
            return False
        return not self._reaches(unit.operators, self._slides[unit.index])
