"""How many tuples a second came lately."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection

WINDOW_S = 10.0
STEP_S = 0.05  # counts are kept in steps of this length
_LEAST_S = 0.5  # from the first tuple on, before there is a rate


class RecentRate:
    """The mean rate over the last seconds, or since the first tuple if that is later."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._steps: deque[tuple[float, int]] = deque()  # (begin of a step, tuples in it)

    def add(self, now: float, count: int) -> None:
        """So many tuples came now."""
        if self._first is None:
            self._first = now
        if self._steps and now < self._steps[-1][0] + STEP_S:
            begin, before = self._steps.pop()
            self._steps.append((begin, before + count))
        else:
            self._steps.append((now, count))
        while self._steps[0][0] < now - WINDOW_S:
            self._steps.popleft()

    def value(self, now: float) -> float | None:
        """Tuples per second; None before the first one, or too soon to tell."""
        if self._first is None or now - self._first < _LEAST_S:
            return None
        count = sum(tuples for begin, tuples in self._steps if begin >= now - WINDOW_S)
        return count / min(WINDOW_S, now - self._first)

    def steps(self, now: float) -> list[tuple[float, int]]:
        """When tuples came in the last seconds, and how many, in steps of `STEP_S`."""
        return [step for step in self._steps if step[0] >= now - WINDOW_S]


class RecentRates:
    """The recent rates of all streams."""

    def __init__(self) -> None:
        self._rates: defaultdict[str, RecentRate] = defaultdict(RecentRate)

    def add(self, stream: str, now: float, count: int) -> None:
        """So many tuples of a stream came now."""
        self._rates[stream].add(now, count)

    def forget(self, streams: Collection[str]) -> None:
        """Streams were removed: only these are left."""
        for name in self._rates.keys() - set(streams):
            del self._rates[name]

    def rates(self, now: float) -> dict[str, float]:
        """Tuples per second, by stream, as far as known."""
        found = {name: rate.value(now) for name, rate in self._rates.items()}
        return {name: rate for name, rate in found.items() if rate is not None}

    def steps(self, stream: str, now: float) -> list[tuple[float, int]]:
        """See `RecentRate.steps`; empty where nothing came yet."""
        return self._rates[stream].steps(now) if stream in self._rates else []
