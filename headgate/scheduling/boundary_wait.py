"""Lets units that give results only at window boundaries wait until one is reached.

A call has a fixed cost, and before the boundary it yields nothing. The wait is limited in tuples, bytes and seconds. A
query that is promised a latency also does not wait with more work than the promise has room for: all of it would have
to be done after the boundary, while results are due.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from headgate.plan.boundaries import clock_of, slides_before_results
from headgate.plan.model import Plan
from headgate.plan.quality import QosGraph
from headgate.plan.windows import Clock
from headgate.scheduling.units import Unit

MOST_TUPLES = 50_000  # that may wait at a unit; the state made of them is usually smaller
MOST_S = 10.0  # that the oldest of them may wait
MOST_WORK = 0.25  # seconds of calls that what waits may take, as a share of a promised latency
PASSED_S = 1e-5  # this long after a boundary it has passed, in spite of rounding

# (operators of a unit, slides of its windows) -> would a call that takes all that waits reach a boundary?
Reaches = Callable[[Collection[str], Mapping[str, int]], bool]


class BoundaryWait:
    """Decides which units may wait for a boundary, and whether they should wait now.

    At most `most_bytes` wait at each. A unit that is due (see `is_due`) does not wait: the passing of time gives it
    something to do. No unit waits while memory is `pressed`, that is, while sources wait for memory to be freed.
    `per_tuple` is how many seconds a tuple of a query adds to a call, or None.
    """

    def __init__(
        self,
        reaches: Reaches,
        is_due: Callable[[Unit], bool],
        most_bytes: float,
        pressed: Callable[[], bool] = lambda: False,
        per_tuple: Callable[[str], float | None] = lambda query: None,
    ) -> None:
        self._reaches = reaches
        self._is_due = is_due
        self._most_bytes = most_bytes
        self._pressed = pressed
        self._per_tuple = per_tuple
        self._promised: dict[int, list[tuple[str, QosGraph]]] = {}  # by unit: queries and the latencies they must keep
        self._slides: dict[int, Mapping[str, int]] = {}  # by unit
        self._apart = 0  # ticks; boundaries that the clock reaches are multiples of it; 0: there are none
        self._passed: dict[str, int] = {}  # stream -> the last multiple that has passed

    def set_units(self, plan: Plan, units: Collection[Unit]) -> None:
        """The units have changed. Marks those that may wait."""
        self._slides, self._promised = {}, {}
        for unit in units:
            slides = slides_before_results(plan, unit.operators)
            unit.may_wait = slides is not None
            if slides is not None:
                self._slides[unit.number] = slides
                self._promised[unit.number] = [
                    (name, one.graph)
                    for name in unit.queries
                    for one in plan.queries[name].qos
                    if one.name == "latency" and one.priority == "must"
                ]
        windows = {name: slide for slides in self._slides.values() for name, slide in slides.items()}
        self._apart = math.gcd(*(slide for name, slide in windows.items() if clock_of(plan, name) is Clock.ARRIVAL))

    def crosses(self, stream: str, now_us: int) -> bool:
        """Has a boundary passed since the last call for this stream? An instant has passed when it is over."""
        if not self._apart:
            return False
        before, self._passed[stream] = self._passed.get(stream), (now_us - 1) // self._apart
        return before != self._passed[stream]

    def next_boundary(self, now: float) -> float:
        """When the clock will have passed the next boundary; inf: there is none."""
        apart = self._apart  # read once: called without the lock
        return ((round(now * 1e6) - 1) // apart + 1) * apart / 1e6 + PASSED_S if apart else math.inf

    def waits(self, unit: Unit, now: float) -> bool:
        """Should a unit with input wait for a boundary? Only for units that may wait."""
        oldest = unit.oldest
        if self._is_due(unit) or unit.waiting >= MOST_TUPLES or unit.bytes >= self._most_bytes:
            return False
        if self._pressed() or (oldest is not None and now - oldest >= MOST_S) or self._is_much_work(unit, now):
            return False
        return not self._reaches(unit.operators, self._slides[unit.number])

    def _is_much_work(self, unit: Unit, now: float) -> bool:
        """Would what waits take so long that a promised latency is at stake?"""
        return any(
            unit.waiting * (self._per_tuple(query) or 0.0) > MOST_WORK * graph.expected(now)
            for query, graph in self._promised[unit.number]
        )
