"""How long calls take, by what they took lately."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.metrics.learning import CAUTION
from headgate.scheduling.call_profile import TimedCall
from headgate.scheduling.calls import Call
from headgate.scheduling.costs import cost_per_tuple
from headgate.scheduling.policy import View

ENOUGH = 5  # calls of a unit before its own times are used
UNKNOWN_S = 0.01  # a call, where nothing was called yet


@dataclass(frozen=True)
class _Fit:
    """The time of a unit's calls as a straight line over their tuples, and how far the calls were off it."""

    fixed_s: float
    tuple_s: float
    factors: Sequence[float]
    beside: Mapping[int, Sequence[float]] = field(default_factory=dict)  # other calls in flight -> factors

    def seconds(self, rows: int) -> float:
        return self.fixed_s + self.tuple_s * rows

    def factors_beside(self, others: int) -> Sequence[float]:
        """Those of calls that had so many others beside them; all, where there were hardly any."""
        found = self.beside.get(others, ())
        return found if len(found) >= ENOUGH else self.factors


class CallTimes:
    """Draws the time of calls: a line through those of the same operators, and one of their deviations from it, among
    those of calls that had as many others beside them.

    Of operators that were never called together, the fixed part is what it is for others, and the rest follows from the
    costs of the operators.
    """

    def __init__(self, calls: Mapping[tuple[str, ...], Sequence[TimedCall]], seed: int) -> None:
        self._calls = calls
        self._random = random.Random(seed)
        self._fits: dict[tuple[str, ...], _Fit] = {}
        self._typical: _Fit | None = None

    def seconds(self, call: Call, view: View, others: int) -> float:
        """The time of a call that begins while so many others are in flight."""
        fit = self._fits.get(call.operators)
        if fit is None:
            fit = self._fits[call.operators] = self._fit(call, view)
        return fit.seconds(call.rows) * self._random.choice(fit.factors_beside(others))

    def _fit(self, call: Call, view: View) -> _Fit:
        whole = call.operators == call.unit.operators
        costs = [view.stats(name).cost_s or 0.0 for name in call.operators]
        cost = (cost_per_tuple(call.unit, view) or 0.0) if whole else sum(costs)
        calls = self._calls.get(call.operators, ())
        if len(calls) >= ENOUGH:
            return fitted(calls, cost)
        typical = self._typical_fit(view)
        own = sum(view.stats(name).fixed_s or 0.0 for name in call.operators)
        return _Fit(typical.fixed_s + own, cost, typical.factors, typical.beside)

    def _typical_fit(self, view: View) -> _Fit:
        """The mean over all units that were called often, weighted by their calls."""
        if self._typical is None:
            known = [(fitted(calls, 0.0), len(calls)) for calls in self._calls.values() if len(calls) >= ENOUGH]
            if known:
                fixed_s = sum(fit.fixed_s * count for fit, count in known) / sum(count for _, count in known)
                beside: dict[int, list[float]] = {}
                for fit, _ in known:
                    for others, factors in fit.beside.items():
                        beside.setdefault(others, []).extend(factors)
                self._typical = _Fit(fixed_s, 0.0, [factor for fit, _ in known for factor in fit.factors], beside)
            else:
                self._typical = _Fit(view.call_fixed_s or UNKNOWN_S, 0.0, [1.0])
        return self._typical


def fitted(calls: Sequence[TimedCall], expected_s: float) -> _Fit:
    """A line through calls. As long as their sizes hardly vary, a tuple is taken to cost `expected_s`."""
    rows = np.array([call.rows for call in calls], dtype=np.float64)
    seconds = np.array([call.seconds for call in calls])
    spread, doubt = float(rows.var()), CAUTION * float(rows.mean()) ** 2
    together = float(((rows - rows.mean()) * (seconds - seconds.mean())).mean())
    slope = max(0.0, (together + doubt * expected_s) / (spread + doubt)) if spread + doubt > 0.0 else 0.0
    fixed = float(seconds.mean() - slope * rows.mean())
    if fixed < 0.0:  # then the tuples explain all of it
        fixed, slope = 0.0, float(seconds.mean() / rows.mean())
    line = fixed + slope * rows
    beside: dict[int, list[float]] = {}
    for call, at in zip(calls, line, strict=True):
        if at > 0.0:
            beside.setdefault(call.others, []).append(float(call.seconds / at))
    return _Fit(fixed, slope, [one for factors in beside.values() for one in factors] or [1.0], beside)
