"""CQC's turns: classes run one after the other, each for a slice of time, and what one takes too much it pays back.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013,
Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.parameters import positive, whole
from headgate.scheduling.policy import TOLERANCE


def slices(priorities: Sequence[int], period: float) -> list[float]:
    """T, the time of each class in a round of `period`: P k / sum(P)."""
    total = sum(whole("priority", priority) for priority in priorities)
    return [priority * positive("period", period) / total for priority in priorities]


class Credit:
    """The time that each class may use in its next turn; 0 or less: it is in debt. Never more than its slice.

    At each turn of a class ask `may_run`; if it may, run it for `left` and tell what it `used`. With `literal` an
    overrun counts against the slice and not against what was left, as printed: then a class that had less than its
    slice is given more than that by running too long, against the source's own text.
    """

    def __init__(self, slices: Sequence[float], literal: bool = False) -> None:
        self._slices = tuple(positive("slice", one) for one in slices)
        self._left = list(self._slices)
        self._literal = literal

    def left(self, i: int) -> float:
        return self._left[i]

    def may_run(self, i: int) -> bool:
        """Class i has its turn: may it run? One in debt is paid a slice, and loses the turn."""
        if self._left[i] > self._slices[i] * TOLERANCE:
            return True
        self._left[i] += self._slices[i]
        return False

    def used(self, i: int, time: float) -> None:
        """Class i ran. Time that it left is lost; time beyond what it had is taken off its next slice."""
        whole_slice, left = self._slices[i], self._left[i]
        granted = whole_slice if self._literal else left
        self._left[i] = whole_slice if time <= left else whole_slice - (time - granted)
