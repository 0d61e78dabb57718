"""wrr: round robin with longer turns for some."""

from __future__ import annotations

from typing import Literal

from headgate.plan.operators import StreamJoin, TableJoin
from headgate.policies.parameters import positive
from headgate.policies.rr import RoundRobin
from headgate.scheduling.policy import View
from headgate.scheduling.units import Unit


class WeightedRoundRobin(RoundRobin):
    """As rr, with longer quanta for units that read a stream and for units with a join (Kendai section 3.5).

    A unit's quantum is `quantum` times the largest weight that applies to any of its operators, else just `quantum`.
    """

    name = "wrr"
    paper = (
        "Kendai: Runtime Optimization and Load Shedding in MavStream: Design and Implementation, "
        "MS thesis, UT Arlington, 2006, section 3.5"
    )

    def __init__(
        self,
        quantum: float = 0.1,
        leaf: float = 2.0,
        join: float = 2.0,
        unit: Literal["operator", "path", "query"] = "operator",
    ) -> None:
        self._base = positive("quantum", quantum)
        super().__init__(quantum, unit)
        self.leaf, self.join = positive("leaf", leaf), positive("join", join)

    def start(self, view: View) -> None:
        super().start(view)
        self._quanta = [self._base * self._weight(unit) for unit in view.units]

    def turn(self, unit: Unit) -> float | None:
        return self._quanta[unit.index]

    def _weight(self, unit: Unit) -> float:
        plan, weights = self.view.plan, list[float]()
        for name in unit.operators:
            operator = plan.operators[name]
            if any(port.node in plan.streams for port in operator.inputs):
                weights.append(self.leaf)
            if isinstance(operator, (StreamJoin, TableJoin)):
                weights.append(self.join)
        return max(weights, default=1.0)
