"""How many boundaries of a sliding window one call evaluates, so that its time and memory stay bounded.

A window without rows costs nothing, but a relation that holds a row gives it out at every boundary, and time may pass
years of them at once: after a gap in the data, or with a wrong clock. So a call evaluates a number of boundaries that
grows while few results come of them and shrinks when there are many. The rest is left to further calls, which changes
no answer.
"""

from __future__ import annotations

from collections.abc import Mapping

FIRST = 1000  # boundaries of the first call
MOST_ROWS = 200_000  # results of one call, about


class BoundaryBudget:
    """How many boundaries a call may evaluate, by operator; those of an operator are `slides` ticks apart."""

    def __init__(self, slides: Mapping[str, int]) -> None:
        self._slides = dict(slides)
        self._boundaries: dict[str, int] = {}

    def set_slides(self, slides: Mapping[str, int]) -> None:
        """The operators of now."""
        self._slides = dict(slides)

    def end(self, name: str, start: int, come: int) -> int:
        """How far a call that begins after `start` evaluates, when time has come so far."""
        slide = self._slides.get(name)
        return come if slide is None else min(come, start + slide * self._boundaries.get(name, FIRST))

    def record(self, name: str, start: int, end: int, rows: int) -> None:
        """A call evaluated the boundaries from `start` to `end` and gave so many rows."""
        slide = self._slides.get(name)
        if slide is None:
            return
        span = self._boundaries.get(name, FIRST)
        if rows > MOST_ROWS:
            boundaries = max(1, min(span, (end - start) // slide))
            self._boundaries[name] = max(1, boundaries * MOST_ROWS // rows)
        elif end - start >= slide * span and rows < MOST_ROWS // 4:
            self._boundaries[name] = span * 2
