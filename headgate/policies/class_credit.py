"""CQC's turns: classes run one after another, each for a slice of time, and one that overruns pays the time back.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013,
Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.parameters import positive, whole
from headgate.scheduling.policy import TOLERANCE


def slices(priorities: Sequence[int], period: float) -> list[float]:
    """T, the time of each class in a round of `period` seconds: P k / sum(P)."""
    total = sum(whole("priority", priority) for priority in priorities)
    return [priority * positive("period", period) / total for priority in priorities]


class ClassCredit:
    """The time that each class may use in its next turn. At 0 or less the class is in debt; never more than its slice.

    At each turn of a class call `may_run`; if it returns True, run the class for `left` seconds and report the time
    `used`. With `literal`, an overrun is measured against the slice instead of the time that was left, as Algorithm 1
    is printed: then a class that had less than its slice gains time by running too long, which contradicts the text.
    """

    def __init__(self, slices: Sequence[float], literal: bool = False) -> None:
        self._slices = tuple(positive("slice", one) for one in slices)
        self._left = list(self._slices)
        self._literal = literal

    def left(self, i: int) -> float:
        """Seconds that class i may run in this turn."""
        return self._left[i]

    def may_run(self, i: int) -> bool:
        """It is the turn of class i: may it run? A class in debt is credited a slice and loses the turn."""
        if self._left[i] > self._slices[i] * TOLERANCE:
            return True
        self._left[i] += self._slices[i]
        return False

    def used(self, i: int, time: float) -> None:
        """Class i ran for `time` seconds. Unused time is lost; an overrun is taken off its next slice."""
        whole_slice, left = self._slices[i], self._left[i]
        granted = whole_slice if self._literal else left
        self._left[i] = whole_slice if time <= left else whole_slice - (time - granted)
