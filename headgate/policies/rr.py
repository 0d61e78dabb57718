"""rr: every unit in turn, for a quantum of time."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from headgate.policies.parameters import one_of, positive
from headgate.policies.predictable_order import EqualTurns
from headgate.policies.rotation import Rotation
from headgate.scheduling.policy import Decision, Policy, Preemption, View
from headgate.scheduling.units import Unit


class RoundRobin(Policy, EqualTurns):
    """Round robin with a quantum (Sharaf et al. sections 3.1 and 5.6). Ignores costs and selectivities.

    A unit runs until its quantum or its input is used up. Units without input are skipped and counted as inspected, so
    that the simulator can charge for them. The simulator preempts exactly at the end of the quantum, in the middle of a
    tuple if need be. `quantum: null` gives each unit all its input, as STREAM does.
    """

    name = "rr"
    preemption: ClassVar[Preemption] = "quantum"
    paper = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS, section 3.1"

    def __init__(self, quantum: float | None = 0.1, unit: Literal["operator", "path", "query"] = "operator") -> None:
        self.quantum = None if quantum is None else positive("quantum", quantum)
        self.unit = one_of("unit", unit, ("operator", "path", "query"))

    def start(self, view: View) -> None:
        super().start(view)
        self._rotation = Rotation(view.units)

    def became_ready(self, unit: Unit) -> None:
        self._rotation.add(unit)

    def choose(self, slot: int) -> Decision | None:
        rotation = self._rotation
        unit = rotation.next()
        if unit is None:
            return None
        return Decision(unit, seconds=self.turn(unit), ends_round=rotation.at_end, inspected=rotation.passed_over)

    @property
    def equal_turn_s(self) -> float | None:
        turns = {self.turn(unit) for unit in self.view.units}
        return turns.pop() if len(turns) == 1 else None

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        return {"turn": self.turn(unit)}

    def turn(self, unit: Unit) -> float | None:
        """Seconds that a unit gets in its turn; None: all its input."""
        return self.quantum
