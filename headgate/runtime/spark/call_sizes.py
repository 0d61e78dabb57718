"""How many tuples calls take, by class, and how many bytes pass the driver.

Large calls share the fixed cost among many, small ones answer sooner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from headgate.plan.model import Plan
from headgate.scheduling.reference import Reference, Rows
from headgate.scheduling.units import most_important


class CallSizes:
    """Counts calls and their tuples, by the operators that ran together."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, ...]] = Counter()
        self._tuples: Counter[tuple[str, ...]] = Counter()

    def add(self, operators: tuple[str, ...], tuples: int) -> None:
        """Count a call of these operators."""
        self._calls[operators] += 1
        self._tuples[operators] += tuples

    def by_class(self, plan: Plan) -> dict[str, dict[str, Any]]:
        """For the report: the calls of each class, and tuples per call on average. Ended queries do not count."""
        calls, tuples = Counter[str](), Counter[str]()
        for operators, made in self._calls.items():
            owners = [query for name in operators for query in plan.owners.get(name, ())]
            if owners:
                name = most_important(plan, owners)
                calls[name] += made
                tuples[name] += self._tuples[operators]
        return {
            name: {"calls": calls[name], "tuples_a_call": tuples[name] / calls[name] if calls[name] else None}
            for name in plan.classes
        }


class Volume:
    """What calls read by reference, and what passed the driver on their way in and out, since the run began."""

    def __init__(self) -> None:
        self.referred_tuples = 0
        self.referred_bytes = 0
        self.driver_bytes = 0

    def add(self, inputs: Iterable[Rows], result: pa.Table) -> None:
        """A call has read these inputs, and its result has come to the driver: outputs, and rows for its state."""
        self.driver_bytes += result.nbytes
        for rows in inputs:
            if isinstance(rows, Reference):
                self.referred_tuples += rows.num_rows
                self.referred_bytes += rows.nbytes
            else:
                self.driver_bytes += rows.nbytes

    def as_data(self) -> dict[str, int]:
        """For the report."""
        return {
            "tuples": self.referred_tuples,
            "bytes": self.referred_bytes,
            "driver_bytes": self.driver_bytes,
        }
