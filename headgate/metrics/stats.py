"""Statistics of operators: fixed cost per call, cost per tuple, selectivity, tuple size.

An operator with several inputs counts as one semi-operator per input: each side has its own cost and selectivity, and a
path uses those of the side it enters by (Jiang and Chakravarthy, UTA TR CSE-2003-30, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from headgate.plan.estimates import Estimates, estimate
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator


class SideStats(NamedTuple):
    """Statistics of one input of an operator. `None` means "not known"."""

    cost_s: float | None = None  # seconds per tuple that comes in there
    selectivity: float | None = None  # output tuples per tuple that comes in there


@dataclass(frozen=True, slots=True)
class OperatorStats:
    """Statistics of one operator, over all its inputs. `None` means "not known", never a guess."""

    fixed_s: float | None = None  # seconds per call
    cost_s: float | None = None  # seconds per input tuple
    selectivity: float | None = None  # output tuples per input tuple, all branches together
    tuple_bytes: float | None = None  # bytes of an output tuple
    branches: Mapping[str, float] = field(default_factory=dict)  # selectivity of each branch of a split
    sides: tuple[SideStats, ...] = ()  # one per input, if there are several

    def side(self, index: int) -> SideStats:
        """The statistics for tuples that enter by one input."""
        return self.sides[index] if self.sides else SideStats(self.cost_s, self.selectivity)

    def passing(self, index: int, branch: str = "") -> float | None:
        """Tuples that leave by a branch, per tuple that enters by an input."""
        return self.branches.get(branch, self.selectivity) if branch else self.side(index).selectivity


class Stats(Protocol):
    """Where policies look statistics up."""

    def of(self, operator: str) -> OperatorStats:
        """The current statistics of an operator of the plan."""
        ...

    def stream_bytes(self, stream: str) -> float | None:
        """The measured size of a stream's tuples in queues. None: not measured, estimate it from the schema."""
        ...


class DeclaredStats:
    """Statistics as the application declares them, and what follows from them for joins. Learning starts from these."""

    def __init__(self, plan: Plan) -> None:
        self._stats = declared_stats(plan)

    def of(self, operator: str) -> OperatorStats:
        """See `Stats`."""
        return self._stats[operator]

    def stream_bytes(self, stream: str) -> float | None:
        """None: nothing is measured."""
        return None


def declared_stats(
    plan: Plan, unknown_cost_s: float | None = None, unknown_selectivity: float | None = None
) -> dict[str, OperatorStats]:
    """The statistics of every operator before anything has run. The caller may give values for what is not known."""
    found = estimate(plan)
    return {
        operator.id: _declared(operator, found, unknown_cost_s, unknown_selectivity)
        for operator in plan.operators.values()
    }


def _declared(
    operator: Operator, found: Estimates, unknown_cost_s: float | None, unknown_selectivity: float | None
) -> OperatorStats:
    declared = operator.declared
    if declared.match is not None:
        unknown_selectivity = (
            None  # it follows from what the windows hold, which is not known; a default would be wrong
        )
    sides = tuple(
        SideStats(
            _or(operator.side(index).cost_s, unknown_cost_s),
            _or(found.selectivities[Edge(operator.id, index)], unknown_selectivity),
        )
        for index in range(len(operator.inputs))
    )
    rates = [found.rates[port] for port in operator.inputs]
    branches = dict(declared.branches)
    selectivity = _mean([side.selectivity for side in sides], rates)
    if not branches and operator.branches != ("",) and unknown_selectivity is not None:
        branches = dict.fromkeys(operator.branches, (selectivity or 0.0) / len(operator.branches))
    return OperatorStats(
        declared.fixed_s,
        _mean([side.cost_s for side in sides], rates),
        selectivity,
        declared.tuple_bytes,
        branches,
        sides if len(sides) > 1 else (),
    )


def _or(value: float | None, other: float | None) -> float | None:
    return other if value is None else value


def _mean(values: Sequence[float | None], rates: Sequence[float | None]) -> float | None:
    """The mean over the sides of an operator, weighted by their rates if all are known. None if a value is unknown."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if len(set(known)) == 1:
        return known[0]
    weights = [rate for rate in rates if rate is not None]
    if len(weights) < len(rates) or not sum(weights):
        weights = [1.0] * len(values)
    return sum(value * weight for value, weight in zip(known, weights, strict=True)) / sum(weights)
