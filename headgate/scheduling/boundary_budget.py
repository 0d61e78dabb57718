"""How many boundaries of a sliding window one call evaluates, so that its time and memory stay bounded.

A window without rows costs nothing, but a window that holds a row gives results at every boundary, and time may jump
over years of boundaries at once: after a gap in the data, or with a wrong clock. So a call evaluates a limited number
of boundaries, which grows while they give few results and shrinks when they give many. Further calls evaluate the
rest, so the answer is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

FIRST = 1000  # boundaries of the first call
MOST_ROWS = 200_000  # results of one call, roughly


class BoundaryBudget:
    """How many boundaries a call may evaluate, by operator. `slides` has the ticks between boundaries, by operator."""

    def __init__(self, slides: Mapping[str, int]) -> None:
        self._slides = dict(slides)
        self._boundaries: dict[str, int] = {}

    def set_slides(self, slides: Mapping[str, int]) -> None:
        """The plan has changed: these are its operators."""
        self._slides = dict(slides)

    def state(self) -> dict[str, int]:
        """As values that JSON can hold."""
        return dict(self._boundaries)

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from a state."""
        self._boundaries = dict(state)

    def end(self, name: str, start: int, come: int) -> int:
        """How far a call evaluates that begins after `start`, if everything up to `come` is complete."""
        slide = self._slides.get(name)
        return come if slide is None else min(come, start + slide * self._boundaries.get(name, FIRST))

    def record(self, name: str, start: int, end: int, rows: int) -> None:
        """A call evaluated the boundaries from `start` to `end` and gave this many rows."""
        slide = self._slides.get(name)
        if slide is None:
            return
        span = self._boundaries.get(name, FIRST)
        if rows > MOST_ROWS:
            boundaries = max(1, min(span, (end - start) // slide))
            self._boundaries[name] = max(1, boundaries * MOST_ROWS // rows)
        elif end - start >= slide * span and rows < MOST_ROWS // 4:
            self._boundaries[name] = span * 2
