"""Against starvation (Jiang and Chakravarthy, section 4.2): serve the oldest tuple regularly, or let priorities age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headgate.policies.parameters import one_of, whole
from headgate.scheduling.units import Unit

Starvation = Literal["oldest", "dynamic"] | None

_LEAST = 1e-6  # a tuple that has just arrived has waited 0 s, but its unit must not be worth nothing


class StarvationRelief:
    """Counts decisions and says when to act against starvation.

    `oldest`: every `period`-th decision goes to the unit with the oldest tuple. `dynamic`: every `period` decisions,
    all priorities are multiplied by f = tau Q, the age of the oldest tuple times the length of the queue, each
    relative to the largest among ready units.
    """

    def __init__(self, starvation: Starvation, period: int) -> None:
        self.kind = one_of("starvation", starvation, (None, "oldest", "dynamic"))
        self._period = whole("period", period)
        self._rounds = 0

    def due(self) -> bool:
        """Called at each decision: is it time to act?"""
        self._rounds += 1
        if self._rounds < self._period:
            return False
        self._rounds = 0
        return True


def oldest_unit(units: Sequence[Unit]) -> Unit | None:
    """The unit with the oldest tuple; of equals, the first."""
    waiting = [(oldest, unit.index, unit) for unit in units if (oldest := unit.oldest) is not None]
    return min(waiting)[2] if waiting else None


def aging_factors(units: Sequence[Unit], now: float, number: int) -> list[float]:
    """f for each of `number` units, computed from the ready ones; units that are not ready get the least value."""
    waits = {unit.index: now - oldest for unit in units if (oldest := unit.oldest) is not None}
    longest = max(waits.values(), default=0.0) or 1.0
    most = max((unit.waiting for unit in units), default=0) or 1
    factors = [_LEAST] * number
    for unit in units:
        factors[unit.index] += waits.get(unit.index, 0.0) / longest * (unit.waiting / most)
    return factors


def aged(priority: float, factor: float) -> float:
    """A priority times its factor. A priority below 0 is divided instead, so that a larger factor still raises it."""
    return priority * factor if priority > 0.0 else priority / factor
