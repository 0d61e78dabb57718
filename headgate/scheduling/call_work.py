"""How long calls take, and for how many tuples: what the tuples of each query cost, all in all.

The statistics of operators separate fixed costs from costs per tuple, which takes calls of different sizes. How long a
backlog will take needs no such separation, and is known as soon as calls have ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from headgate.metrics.learning import TimeFit
from headgate.metrics.recent_rate import WINDOW_S, RecentRate
from headgate.plan.model import Edge, Plan
from headgate.scheduling.calls import Call


class Spent(NamedTuple):
    """Sums since the run began. For one query, except `others_s`."""

    seconds: float  # of calls that have ended, and took as long as such calls usually do
    tuples: float  # that entered the query by them
    others_s: float  # seconds of other queries' calls up to now


class CallWork:
    """Adds up the calls of a run. A call of several queries counts in full for each of them."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[float, Call]] = {}  # slot -> since when, and what
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by query
        self._tuples: defaultdict[str, float] = defaultdict(float)
        self._busy: defaultdict[str, float] = defaultdict(float)  # `_seconds`, and those of calls that are not typical
        self._all_busy = 0.0
        self._lately = RecentRate()  # microseconds of calls
        self._counted: dict[int, float] = {}  # slot -> up to when its call is in `_lately`
        self._fits: defaultdict[str, TimeFit] = defaultdict(TimeFit)
        self._plan: Plan | None = None
        self._entering: Mapping[Edge, float] = {}

    def began(self, now: float, call: Call) -> None:
        """A slot runs a call now."""
        self._running[call.slot] = (now, call)
        self._counted[call.slot] = now
        self._lately.add(now, 0)

    def ended(self, now: float, slot: int, typical: bool) -> None:
        """The call of a slot has ended. Only if it was `typical` does it say what tuples cost."""
        self._count_as_busy(now, slot)
        began, call = self._running.pop(slot)
        seconds = now - began
        self._all_busy += seconds
        tuples = self._entered(call)
        for query in call.unit.queries:
            self._busy[query] += seconds
            if typical:
                self._seconds[query] += seconds
                self._tuples[query] += tuples[query]
                self._fits[query].learn(tuples[query], seconds)

    def busy_lately(self, now: float) -> float | None:
        """How many slots were busy in the last seconds, on average, with calls in flight; None: too soon to tell."""
        for slot in self._running:
            self._count_as_busy(now, slot)
        found = self._lately.value(now)
        return None if found is None else found * 1e-6

    def _count_as_busy(self, now: float, slot: int) -> None:
        since = max(self._counted[slot], now - WINDOW_S)  # what is older does not count any more
        self._lately.add(now, round((now - since) * 1e6))
        self._counted[slot] = now

    def forget(self, query: str) -> None:
        """A query was removed: another may take its name."""
        for sums in (self._seconds, self._tuples, self._busy):
            sums.pop(query, None)
        self._fits.pop(query, None)

    def state(self) -> dict[str, Any]:
        """What tuples cost by the last calls, as values that JSON can hold."""
        return {query: fit.state() for query, fit in self._fits.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        for query, fit in state.items():
            self._fits[query].restore(fit)

    def per_tuple(self, query: str) -> float | None:
        """Seconds that one more tuple of a query adds to a call, by its last calls; None: not known.

        As long as all calls are of one size, all their time counts for their tuples. If calls of other sizes show that
        most of it is a fixed cost, it no longer does.
        """
        return self._fits[query].slope(0.0) if query in self._fits else None

    def spent(self, query: str, now: float) -> Spent:
        """What was spent until now."""
        others = self._all_busy - self._busy.get(query, 0.0)
        others += sum(now - began for began, call in self._running.values() if query not in call.unit.queries)
        return Spent(self._seconds.get(query, 0.0), self._tuples.get(query, 0.0), others)

    def _entered(self, call: Call) -> Mapping[str, float]:
        """By query, the tuples of a call that came straight from a stream."""
        if call.plan is not self._plan:
            self._plan, self._entering = call.plan, _entering(call.plan)
        found: defaultdict[str, float] = defaultdict(float)
        for edge, table in call.inputs.items():
            if share := self._entering.get(edge):
                for query in call.plan.owners[edge.operator]:
                    found[query] += share * table.num_rows
        return found


def _entering(plan: Plan) -> dict[Edge, float]:
    """The queues at which tuples enter. A tuple that enters a query at several of them counts as one in all."""
    found: dict[Edge, float] = {}
    for stream in plan.streams:
        edges = plan.entrances(stream)
        readers = Counter(query for edge in edges for query in plan.owners[edge.operator])
        found |= {edge: 1.0 / max(readers[query] for query in plan.owners[edge.operator]) for edge in edges}
    return found
