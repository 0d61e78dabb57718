"""rb: first the operator with the largest output rate."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.output_rates import distances_to_sink, output_rates
from headgate.policies.ranked import RankedPolicy
from headgate.policies.worth import Worth


class RateBased(RankedPolicy):
    """Most results per second first: the global output rate of each operator (Sharaf et al. section 3.2, eq. 1).

    A decision takes one tuple. Ties go to the oldest tuple, then to the operator nearer to the root.
    """

    name = "rb"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS, section 3.2"

    def worths(self) -> Sequence[Worth | None]:
        rates = output_rates(self.view)
        return [rates[unit.operators[0]] for unit in self.view.units]

    def places(self) -> Sequence[int]:
        away, units = distances_to_sink(self.view), self.view.units
        ranked = sorted(units, key=lambda unit: (away[unit.operators[0]], unit.index))
        return [place for _, place in sorted((unit.index, place) for place, unit in enumerate(ranked))]
