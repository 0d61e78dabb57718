"""What a unit is worth: what one tuple gains, over what it costs. Every ranked policy is this ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

from headgate.scheduling.policy import View


class Worth(NamedTuple):
    """A unit as a priority sees it: `gain` for one tuple (results, bytes released, 1), at `cost_s` seconds.

    `fixed_s` is paid once for all tuples of a call, so a tuple's share of it shrinks with the batch that waits. Where
    it is 0 the ratio is the papers' formula exactly.
    """

    gain: float
    cost_s: float
    fixed_s: float

    def per_second(self, waiting: int = 1, spent_s: float = 0.0) -> float:
        """Gain a second when `waiting` tuples share the fixed cost and the first was given `spent_s` already."""
        seconds = self.cost_s - spent_s
        if self.fixed_s:
            seconds += self.fixed_s / max(1, waiting)
        return ratio(self.gain, seconds)


class Rank(NamedTuple):
    """Where a unit stands in a ranking: the greatest worth a second first, then the oldest tuple, then the place."""

    worth: Worth
    place: int


def ratio(gain: float, seconds: float) -> float:
    """Gain a second; what takes no time is worth everything, or nothing if there is nothing to gain."""
    if seconds > 0.0:
        return gain / seconds
    return math.copysign(math.inf, gain) if gain else 0.0


def finite(value: float | None) -> float | None:
    """JSON has no infinity; a capacity without bound is not a number that anyone can use."""
    return None if value is None or not math.isfinite(value) else value


def operator_fixed_s(view: View, operator: str) -> float | None:
    """Fixed cost of a call of one operator alone; None: not known."""
    call, own = view.call_fixed_s, view.stats(operator).fixed_s
    return None if call is None or own is None else call + own
