"""train: rb with a train of tuples at each decision."""

from __future__ import annotations

from headgate.policies.parameters import whole
from headgate.policies.rb import RateBased
from headgate.policies.starvation import Starvation
from headgate.scheduling.units import Unit


class Train(RateBased):
    """The operator with the largest output rate runs a train of waiting tuples at once, as Aurora does.

    Its outputs are handed on when the train has passed. `length: 1` is rb; null takes all that waits.
    """

    name = "train"
    paper = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS, section 3.4"

    def __init__(self, length: int | None = None, starvation: Starvation = None, period: int = 20) -> None:
        super().__init__(starvation, period)
        self.length = None if length is None else whole("length", length)

    def most_tuples(self, unit: Unit) -> int | None:
        return self.length
