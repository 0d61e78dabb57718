"""How often a policy may change its schedule because classes are inverted, and when it takes such changes back.

The dissertation compares latencies at the end of every round, and a repair stays. Where calls have a fixed cost, as on
Spark, an idle system has rounds of a millisecond: latencies hardly change in that time, and a difference that no
schedule can mend (one class has windows, another none; two classes are alike, and by chance one is slower half of the
time) would change frequencies without end.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.inversion import SUM_MAX, order_repair
from headgate.scheduling.policy import View

PACE_S = 0.1
PACE_PER_UNIT_S = 0.001  # a new schedule takes some 50 us of a processor for each unit, while nothing is scheduled
TAKE_BACK_S = 1.0
TAKE_BACK = 0.5  # of what a frequency has been changed by, if every call was followed by a pause


def repair_due(view: View, checked: float) -> bool:
    """May latencies be compared again? Several rounds without a call in between count as one."""
    if view.call_fixed_s == 0.0:
        return view.now > checked
    return view.now >= checked + max(PACE_S, PACE_PER_UNIT_S * len(view.units))


def goes_too_far(view: View, frequencies: Sequence[int]) -> bool:
    """Would a round with these frequencies be too long to be of any use?"""
    return view.call_fixed_s != 0.0 and sum(frequencies) > SUM_MAX


class TakingBack:
    """Brings frequencies back to the first ones, in so far as the slots have had nothing to do.

    A call that leaves nothing waiting says that no schedule would have made anything faster. With such calls alone a
    repair halves every second; while tuples always wait, it stays. So the repair of a disturbance does not
    outlive it, and chance does not add up.
    """

    def __init__(self, now: float) -> None:
        self._taken_back = now
        self._calls = self._dry = 0  # calls since then, and those after which nothing was ready

    def finished(self) -> None:
        """A call has ended."""
        self._calls += 1

    def ran_dry(self) -> None:
        """Nothing is ready after the call that has just ended."""
        self._dry += 1

    def frequencies(
        self, view: View, current: Sequence[int], first: Sequence[int], priorities: Sequence[int]
    ) -> list[int]:
        """The frequencies to go on with: `current`, or once a second something between these and the `first` ones.

        In the order of the priorities, as both of them are. Where calls have no fixed cost, always `current`.
        """
        if view.call_fixed_s == 0.0 or view.now < self._taken_back + TAKE_BACK_S or not self._calls:
            return list(current)
        kept = 1.0 - TAKE_BACK * self._dry / self._calls
        self._taken_back, self._calls, self._dry = view.now, 0, 0
        found = [start + round(kept * (now - start)) for now, start in zip(current, first, strict=True)]
        return list(current) if found == list(current) else order_repair(found, priorities)
