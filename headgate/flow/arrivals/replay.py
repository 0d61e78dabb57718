"""Arrivals of stored rows: by event time (`replay: real` or a speed factor) or at once (`replay: fast`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.flow.arrivals.base import BLOCK, BlockProcess
from headgate.flow.arrivals.checks import number, whole
from headgate.flow.arrivals.warp import Floats


class Timeline(BlockProcess):
    """Arrivals at the given event times (seconds), the first at 0, `speed` times as fast.

    Rows arrive in the order given: one whose event time lies before that of an earlier row arrives with it
    (running maximum), and so does one without an event time (NaN).
    """

    _draws_forever = False

    def __init__(self, times: Sequence[float] | Floats, speed: float = 1.0) -> None:
        super().__init__()
        speed = number("speed", speed, "a positive number (1 = as recorded, 2 = twice as fast)", above=0.0)
        events = np.array(times, dtype=np.float64)
        if events.ndim != 1 or np.isinf(events).any():
            raise ValueError("event times must be a list of finite numbers of seconds")
        reached = np.fmax.accumulate(events) if len(events) else events
        known = reached[~np.isnan(reached)]
        first = known[0] if len(known) else 0.0
        self._due: Floats = (np.where(np.isnan(reached), first, reached) - first) / speed

    def _draw(self) -> Floats:
        due, self._due = self._due, np.empty(0)
        return due


class Immediately(BlockProcess):
    """n arrivals, all at time 0."""

    def __init__(self, n: int) -> None:
        super().__init__(rows=whole("the number of rows", n, 0))

    def _draw(self) -> Floats:
        return np.zeros(BLOCK)
