"""What a unit is worth: the gain of one tuple over its cost. Every ranked policy ranks by this ratio."""

from __future__ import annotations

import math
from typing import NamedTuple

from headgate.scheduling.policy import View


class Worth(NamedTuple):
    """The worth of a unit: `gain` per tuple (results, bytes released, or 1) at a cost of `cost_s` seconds.

    `fixed_s` is paid once for all tuples of a call, so the larger the waiting batch, the smaller a tuple's share of it.
    If it is 0, the ratio is exactly the papers' formula.
    """

    gain: float
    cost_s: float
    fixed_s: float

    def per_second(self, waiting: int = 1, spent_s: float = 0.0) -> float:
        """Gain per second if `waiting` tuples share the fixed cost and `spent_s` was already spent on the first."""
        seconds = self.cost_s - spent_s
        if self.fixed_s:
            seconds += self.fixed_s / max(1, waiting)
        return ratio(self.gain, seconds)


class Rank(NamedTuple):
    """The rank of a unit: greatest worth per second first, then the oldest tuple, then the lowest place."""

    worth: Worth
    place: int


def ratio(gain: float, seconds: float) -> float:
    """Gain per second. If it takes no time, it is infinite, with the sign of the gain, or 0 without a gain."""
    if seconds > 0.0:
        return gain / seconds
    return math.copysign(math.inf, gain) if gain else 0.0


def finite(value: float | None) -> float | None:
    """The value, or None if it is infinite: JSON has no infinity."""
    return None if value is None or not math.isfinite(value) else value


def operator_fixed_s(view: View, operator: str) -> float | None:
    """Fixed cost of a call of this operator alone; None: not known."""
    call, own = view.call_fixed_s, view.stats(operator).fixed_s
    return None if call is None or own is None else call + own
