"""What is known of each operator: fixed cost per call, cost per tuple, selectivity, tuple size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headgate.plan.model import Plan
from headgate.plan.operators.base import Operator


@dataclass(frozen=True, slots=True)
class OperatorStats:
    """Statistics of one operator; `None` is "not known", never a guess."""

    fixed_s: float | None = None  # seconds per call
    cost_s: float | None = None  # seconds per input tuple
    selectivity: float | None = None  # output tuples per input tuple, all branches together
    tuple_bytes: float | None = None  # bytes of an output tuple
    branches: Mapping[str, float] = field(default_factory=dict)  # selectivity of each branch of a split


class Stats(Protocol):
    """Where policies look statistics up."""

    def of(self, operator: str) -> OperatorStats:
        """The current statistics of an operator of the plan."""
        ...


class DeclaredStats:
    """Statistics as the application file declares them. The simulator's truth, and the start of learning."""

    def __init__(self, plan: Plan) -> None:
        self._stats = {name: declared_stats(operator) for name, operator in plan.operators.items()}

    def of(self, operator: str) -> OperatorStats:
        return self._stats[operator]


def declared_stats(operator: Operator) -> OperatorStats:
    declared = operator.declared
    selectivity = declared.selectivity
    if selectivity is None and declared.branches:
        selectivity = sum(declared.branches.values())
    return OperatorStats(declared.fixed_s, declared.cost_s, selectivity, declared.tuple_bytes, dict(declared.branches))
