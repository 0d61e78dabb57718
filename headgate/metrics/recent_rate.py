"""How many tuples a second came lately."""

from __future__ import annotations

from collections import deque

WINDOW_S = 10.0
_STEP_S = 0.5  # counts are kept in steps of this length


class RecentRate:
    """The mean rate over the last seconds, or since the first tuple if that is later."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._steps: deque[tuple[float, int]] = deque()  # (begin of a step, tuples in it)

    def add(self, now: float, count: int) -> None:
        """So many tuples came now."""
        if self._first is None:
            self._first = now
        if self._steps and now < self._steps[-1][0] + _STEP_S:
            begin, before = self._steps.pop()
            self._steps.append((begin, before + count))
        else:
            self._steps.append((now, count))
        while self._steps[0][0] < now - WINDOW_S:
            self._steps.popleft()

    def value(self, now: float) -> float | None:
        """Tuples per second; None before the first one, or too soon to tell."""
        if self._first is None or now - self._first < _STEP_S:
            return None
        count = sum(tuples for begin, tuples in self._steps if begin >= now - WINDOW_S)
        return count / min(WINDOW_S, now - self._first)
