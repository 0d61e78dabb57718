"""Mixins for policies whose decisions for a single slot are known in advance.

Such a policy derives from one of these classes besides `Policy`. The simulator then serves tuples without asking the
policy for each decision; other runtimes ignore it. The properties are read after `start`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from headgate.policies.worth import Rank


class ArrivalOrder(ABC):
    """A policy that may serve tuples exactly in order of arrival."""

    @property
    @abstractmethod
    def in_arrival_order(self) -> bool:
        """Would a single slot serve tuples one by one, exactly in order of arrival?"""


class EqualTurns(ABC):
    """A policy that may serve the ready units in turn, each for the same time."""

    @property
    @abstractmethod
    def equal_turn_s(self) -> float | None:
        """The seconds of a turn, if a single slot would serve the ready units in turn, each for the same time.

        The rotation resumes where it stopped and skips units that are not ready. None: there is no such time.
        """


class FixedRanks(ABC):
    """A policy that may serve the units by fixed ranks."""

    @property
    @abstractmethod
    def ranks(self) -> Sequence[Rank] | None:
        """The rank of each unit, in unit order, if a single slot would always serve one tuple of the ready unit that
        ranks first; else None.

        If the policy preempts on arrival, a tuple in progress is stopped for one that is worth more at that moment; the
        worth per second of the tuple in progress grows with the time already given to it.
        """
