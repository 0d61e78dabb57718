"""mtiq: first the operator with the most tuples in its queues."""

from __future__ import annotations

from headgate.policies.parameters import whole
from headgate.scheduling.costs import train_length
from headgate.scheduling.policy import Decision, Policy, View
from headgate.scheduling.units import Unit


class MostTuplesInQueue(Policy):
    """Most tuples in queue first (Sutherland et al. section 4.1). Ties go to the operator nearest to the source.

    Queues grow without notice, so every decision inspects all ready operators.
    """

    name = "mtiq"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = (
        "Sutherland, Pielech, Rundensteiner: Adaptive QoS-Driven Scheduling Framework for a Continuous Query System "
        "(CAPE), WPI-CS-TR-04-16, section 4.1"
    )

    def __init__(self, batch: int | None = None) -> None:
        self.batch = None if batch is None else whole("batch", batch)

    def start(self, view: View) -> None:
        super().start(view)
        self._depths = _depths(view)
        self._version = -1

    def choose(self, slot: int) -> Decision | None:
        ready = self.view.ready()
        if not ready:
            return None
        if self._version != self.view.stats_version:
            self._version = self.view.stats_version
            self._bounds = [self.batch or train_length(unit, self.view) for unit in self.view.units]
        best = min(ready, key=self._rank)
        return Decision(best, self._bounds[best.index], inspected=len(ready))

    def _rank(self, unit: Unit) -> tuple[int, int, int]:
        return -unit.waiting, self._depths[unit.index], unit.index


def _depths(view: View) -> list[int]:
    """Unit -> the number of operators between its operator and the nearest stream."""
    plan, found = view.plan, dict[str, int]()
    for operator in plan.operators.values():
        found[operator.id] = min(found[port.node] + 1 if port.node in found else 0 for port in operator.inputs)
    return [found[unit.operators[0]] for unit in view.units]
