"""prb: rb in which an arrival may interrupt a call."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headgate.policies.rb import RateBased
from headgate.policies.worth import Worth, operator_fixed_s
from headgate.scheduling.units import Unit


class PreemptiveRateBased(RateBased):
    """As rb, but an arrival with a larger rate stops the operator in progress (Sharaf et al. section 3.3).

    An operator's rate rises with the time already spent on its tuple: N / (D - delta), delta summed over all calls. The
    tuple resumes later where it was stopped. Equal rates do not interrupt.
    """

    name = "prb"
    preemption = "arrival"
    paper = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS, section 3.3"

    def __init__(self) -> None:
        super().__init__()  # no starvation option: an arrival would stop the call that serves the oldest tuple

    def urgency(self, unit: Unit) -> float:
        worth = self._worths[unit.index] if unit.spent else None
        return super().urgency(unit) if worth is None else -worth.per_second(unit.waiting, unit.spent)

    def preempts(self, running: Sequence[Unit], arrived: Unit) -> Unit | None:
        urgencies = [self._urgency_in_progress(unit) for unit in running]
        weakest = max(urgencies)
        return running[urgencies.index(weakest)] if self.urgency(arrived) < weakest else None

    def _urgency_in_progress(self, unit: Unit) -> float:
        """As `urgency`, but the fixed cost of the call in progress is already paid; that of later calls is not."""
        worth, paid = self._worths[unit.index], operator_fixed_s(self.view, unit.operators[0])
        if worth is None or paid is None:
            return -math.inf
        return -Worth(worth.gain, worth.cost_s, worth.fixed_s - paid).per_second(unit.waiting, unit.spent)
