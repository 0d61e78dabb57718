"""hr: the operator with the highest rate, on its whole queue."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.flow.units import Unit
from headgate.policies.ranked import Entry, RankedPolicy
from headgate.policies.rates import output_rates
from headgate.policies.worth import Worth


class HighestRate(RankedPolicy):
    """Highest rate first, and everything that waits there: many queries, shared operators (Al Moakar).

    The rate of an operator that several read counts only the readers for whose sake it is worth running: they are
    added best first, as long as the rate does not fall. Ties: the operator that comes first in the plan.
    """

    name = "hr"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = (
        "Sharaf, Chrysanthis, Labrinidis, Pruhs: Algorithms and Metrics for Processing Multiple Heterogeneous "
        "Continuous Queries, as in Al Moakar's dissertation (Pittsburgh, 2013)"
    )

    def worths(self) -> Sequence[Worth | None]:
        rates = output_rates(self.view, best_branches=True)
        return [rates[unit.operators[0]] for unit in self.view.units]

    def bound(self, unit: Unit) -> int | None:
        return None

    def _entry(self, unit: Unit, oldest: float) -> Entry:
        return (self.urgency(unit), unit.index)
