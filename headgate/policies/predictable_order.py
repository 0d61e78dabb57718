"""Facts about a policy that settle every decision of a single slot in advance.

A policy that can state one derives from the class here beside `Policy`. The simulator then serves tuples without asking
for each decision; every other runtime ignores it. All are asked after `start`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from headgate.policies.worth import Rank


class ArrivalOrder(ABC):
    """May serve tuples exactly in the order of their arrival."""

    @property
    @abstractmethod
    def in_arrival_order(self) -> bool:
        """Would a single slot serve tuples one by one and exactly in the order of their arrival?"""


class EqualTurns(ABC):
    """May serve the ready units in turn."""

    @property
    @abstractmethod
    def equal_turn_s(self) -> float | None:
        """The seconds of a turn, if a single slot would serve the ready units in turn, each for the same time.

        The rotation resumes where it stopped and skips units that are not ready.
        """


class FixedRanks(ABC):
    """May serve the units by ranks that do not change."""

    @property
    @abstractmethod
    def ranks(self) -> Sequence[Rank] | None:
        """The rank of each unit, in unit order, if a single slot would always serve one tuple of the ready unit that
        ranks first.

        A policy that is asked about arrivals stops a tuple for one that is worth more than it is then: its worth per
        second grows with the time given to it.
        """
