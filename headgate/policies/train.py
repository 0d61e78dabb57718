"""train: rb, but a decision takes a train of tuples."""

from __future__ import annotations

from headgate.policies.parameters import whole
from headgate.policies.rb import RateBased
from headgate.policies.starvation import Starvation
from headgate.scheduling.units import Unit


class Train(RateBased):
    """The operator with the largest output rate first, on a train of its waiting tuples, as in Aurora.

    Its outputs are passed on when the whole train is through. `length: 1` is rb; null takes all that waits.
    """

    name = "train"
    paper = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS, section 3.4"

    def __init__(self, length: int | None = None, starvation: Starvation = None, period: int = 20) -> None:
        super().__init__(starvation, period)
        self.length = None if length is None else whole("length", length)

    def most_tuples(self, unit: Unit) -> int | None:
        return self.length
