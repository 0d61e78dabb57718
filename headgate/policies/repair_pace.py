"""How often a policy may change its schedule because classes are inverted.

The dissertation compares latencies at the end of every round. Where calls have a fixed cost, as on Spark, an idle
system has rounds of a millisecond: latencies hardly change in that time, and a difference that no schedule can mend
(one class has windows, another has none) would change frequencies without end.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.inversion import SUM_MAX
from headgate.scheduling.policy import View

PACE_S = 0.1


def repair_due(view: View, checked: float) -> bool:
    """May latencies be compared again? Several rounds without a call in between count as one."""
    return view.now > checked and (view.call_fixed_s == 0.0 or view.now >= checked + PACE_S)


def goes_too_far(view: View, frequencies: Sequence[int]) -> bool:
    """Would a round with these frequencies be too long to be of any use?"""
    return view.call_fixed_s != 0.0 and sum(frequencies) > SUM_MAX
