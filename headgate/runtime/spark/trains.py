"""How many tuples calls take, by class: long trains share the fixed cost of a call, short ones answer soon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.flow.units import most_important
from headgate.plan.model import Plan


class Train:
    """The calls of a unit."""

    __slots__ = ("calls", "tuples")

    def __init__(self) -> None:
        self.calls = self.tuples = 0

    def add(self, tuples: int) -> None:
        self.calls += 1
        self.tuples += tuples


def by_class(plan: Plan, trains: Mapping[tuple[str, ...], Train]) -> dict[str, dict[str, Any]]:
    """As in a report: calls, and tuples that one took on the average. Operators of stopped queries count nowhere."""
    sums = {name: Train() for name in plan.classes}
    for operators, train in trains.items():
        owners = [query for name in operators for query in plan.owners.get(name, ())]
        if owners:
            found = sums[most_important(plan, owners)]
            found.calls += train.calls
            found.tuples += train.tuples
    return {
        name: {"calls": one.calls, "tuples_a_call": one.tuples / one.calls if one.calls else None}
        for name, one in sums.items()
    }
