"""Statistics learned from the calls that run: costs by regression on row counts, selectivities by smoothed ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headgate.control.stats import OperatorStats, declared_stats
from headgate.plan.model import Plan
from headgate.plan.operators.base import Operator, Port

# Where learning starts when nothing is declared. They fade with the first dozen calls.
START_FIXED_S = 0.01
START_COST_S = 1e-6
START_SELECTIVITY_WEIGHT = 100.0  # tuples that a declared selectivity counts for

FORGET = 0.98  # weight of the past at each call: about the last 50 calls count
NOISE = 0.3  # job times scatter by about this share


class CostFit:
    """Job time = fixed + sum over operators of cost * rows, fitted as calls come in.

    Recursive least squares with forgetting, started at the declared values. Inside a fused unit the operators' row
    counts rise and fall together, so their costs cannot be told apart by data alone; the start values then keep
    their ratio while their sum follows the measurements.
    """

    def __init__(self, fixed_s: float, costs_s: Sequence[float]) -> None:
        self._estimate = np.array([fixed_s, *costs_s])
        self._start_spread = np.diag(self._estimate**2) * 4.0
        self._spread = self._start_spread.copy()

    def learn(self, rows: Sequence[int], seconds: float) -> None:
        """Take in one call: the rows that each operator took, and its time."""
        x = np.array([1.0, *rows])
        expected = float(x @ self._estimate)
        noise = (NOISE * max(expected, seconds, 1e-6)) ** 2
        gain = self._spread @ x / (float(x @ self._spread @ x) + noise)
        self._estimate = np.maximum(self._estimate + gain * (seconds - expected), 0.0)
        spread = (self._spread - np.outer(gain, x) @ self._spread) / FORGET
        # Forgetting without new information would let the spread grow for ever.
        self._spread = spread if np.trace(spread) < np.trace(self._start_spread) else self._start_spread.copy()

    @property
    def fixed_s(self) -> float:
        return float(self._estimate[0])

    @property
    def costs_s(self) -> tuple[float, ...]:
        return tuple(map(float, self._estimate[1:]))


class Ratio:
    """A ratio of counts in which old counts fade."""

    def __init__(self, start: float | None) -> None:
        self._over = 0.0 if start is None else start * START_SELECTIVITY_WEIGHT
        self._under = 0.0 if start is None else START_SELECTIVITY_WEIGHT

    def learn(self, over: float, under: float) -> None:
        if under > 0:
            self._over = self._over * FORGET + over
            self._under = self._under * FORGET + under

    @property
    def value(self) -> float | None:
        return self._over / self._under if self._under else None


class LearnedStats:
    """The statistics of a running plan. Not thread-safe: the runtime's lock covers it."""

    def __init__(self, plan: Plan) -> None:
        self._operators = dict(plan.operators)
        self._declared = {name: declared_stats(operator) for name, operator in plan.operators.items()}
        self._costs: dict[str, float | None] = {name: s.cost_s for name, s in self._declared.items()}
        self._passing = {
            port: Ratio(_declared_share(operator, port))
            for operator in plan.operators.values()
            for port in operator.ports
        }
        self._sizes = {name: Ratio(s.tuple_bytes) for name, s in self._declared.items()}
        self._fits: dict[tuple[str, ...], CostFit] = {}
        self._fixed: Ratio = Ratio(None)

    @property
    def call_fixed_s(self) -> float | None:
        """Mean fixed cost of a call over all units; None before the first call."""
        return self._fixed.value

    def learn(
        self, taken: Mapping[str, int], given: Mapping[Port, int], seconds: float, sizes: Mapping[Port, int]
    ) -> None:
        """Take in one call: rows into each operator, rows out of each port, its time, bytes of what came out."""
        names = tuple(taken)
        fit = self._fits.get(names)
        if fit is None:
            fixed = self.call_fixed_s or START_FIXED_S
            fit = self._fits[names] = CostFit(fixed, [self._costs[n] or START_COST_S for n in names])
        fit.learn(list(taken.values()), seconds)
        self._fixed.learn(fit.fixed_s, 1.0)
        for name, cost in zip(names, fit.costs_s, strict=True):
            self._costs[name] = cost
        for port, rows in given.items():
            self._passing[port].learn(rows, taken[port.node])
        for port, size in sizes.items():
            self._sizes[port.node].learn(size, given[port])

    def of(self, operator: str) -> OperatorStats:
        kind = self._operators[operator]
        shares = {branch: self._passing[Port(operator, branch)].value for branch in kind.branches}
        known = [share for share in shares.values() if share is not None]
        named = {branch: share for branch, share in shares.items() if branch and share is not None}
        return OperatorStats(
            fixed_s=0.0,  # what a call costs beside its tuples is the call's, not the operator's: call_fixed_s
            cost_s=self._costs[operator],
            selectivity=sum(known) if known else None,
            tuple_bytes=self._sizes[operator].value,
            branches=named,
        )


def _declared_share(operator: Operator, port: Port) -> float | None:
    return operator.declared.branches.get(port.branch, operator.declared.selectivity)
