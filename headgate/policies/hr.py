"""hr: the operator with the highest rate, on its whole queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headgate.policies.output_rates import copied_to_roots, output_rates
from headgate.policies.parameters import one_of
from headgate.policies.ranked import Entry, RankedPolicy
from headgate.policies.starvation import Starvation
from headgate.policies.worth import Worth
from headgate.scheduling.policy import Decision, View
from headgate.scheduling.units import Unit


class HighestRate(RankedPolicy):
    """Highest rate first, on everything that waits there: many queries, shared operators (Al Moakar).

    For an operator with several readers, readers are added best first, as long as that does not lower its rate; the
    others do not count. Ties go to the operator that comes first in the plan. `leaves: last` runs operators that read
    streams only when no other is ready, and then all of them, as a core that also polls the sources does; those found
    empty count as inspected. `fixed_costs: ignored` ranks by the cost per tuple alone, as the source does. `roots:
    copied` gives an operator that only hands out results the rate of the operator that feeds it, as the source does
    with its output operators. An application has no such operators: results go to a sink without one.
    """

    name = "hr"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = (
        "Sharaf, Chrysanthis, Labrinidis, Pruhs: Algorithms and Metrics for Processing Multiple Heterogeneous "
        "Continuous Queries, as in Al Moakar's dissertation (Pittsburgh, 2013)"
    )

    def __init__(
        self,
        leaves: Literal["ranked", "last"] = "ranked",
        fixed_costs: Literal["amortised", "ignored"] = "amortised",
        starvation: Starvation = None,
        period: int = 20,
        roots: Literal["ranked", "copied"] = "ranked",
    ) -> None:
        super().__init__(starvation, period)
        self._leaves_last = one_of("leaves", leaves, ("ranked", "last")) == "last"
        self._amortised = one_of("fixed_costs", fixed_costs, ("amortised", "ignored")) == "amortised"
        self._roots_copied = one_of("roots", roots, ("ranked", "copied")) == "copied"

    def worths(self) -> Sequence[Worth | None]:
        rates = output_rates(self.view, best_branches=True)
        if self._roots_copied:
            rates = copied_to_roots(self.view.plan, rates)
        found = [rates[unit.operators[0]] for unit in self.view.units]
        return found if self._amortised else [None if w is None else w._replace(fixed_s=0.0) for w in found]

    def most_tuples(self, unit: Unit) -> int | None:
        return None

    def start(self, view: View) -> None:
        plan = view.plan
        reading = {o.id for o in plan.operators.values() if any(port.node in plan.streams for port in o.inputs)}
        self._leaves = [self._leaves_last and unit.operators[0] in reading for unit in view.units]
        self._polled: dict[int, list[Unit]] = {}  # ranking -> leaves that are to run before anything else
        self._empty = 0  # leaves found without input by the last decision
        super().start(view)
        self._leaves_of = [0] * self.ranking_count
        for ranking, leaf in zip(self._ranking_of, self._leaves, strict=True):
            self._leaves_of[ranking] += leaf

    def choose(self, slot: int) -> Decision | None:
        self._empty = 0
        decision = super().choose(slot)
        return decision._replace(inspected=self._empty) if decision is not None and self._empty else decision

    def best(self, ranking: int = 0) -> Unit | None:
        polled = self._polled.get(ranking)
        while polled:
            unit = polled.pop()
            if unit.ready:
                return unit
        first = super().best(ranking)
        if first is not None and self._leaves[first.index]:
            if not self.begins_poll(ranking):
                self.became_ready(first)
                return None
            others = [u for u in self.view.ready() if self._leaves[u.index] and self._ranking_of[u.index] == ranking]
            self._polled[ranking] = [unit for unit in reversed(others) if unit is not first]
            self._empty = self._leaves_of[ranking] - len(others)
        return first

    def begins_poll(self, ranking: int) -> bool:
        """May the leaves of a ranking be polled now? Called each time no other operator is ready; True begins it."""
        return True

    def polls(self, ranking: int) -> bool:
        """Is a poll of the leaves in a ranking under way?"""
        return any(unit.ready for unit in self._polled.get(ranking, ()))

    def _entry(self, unit: Unit, oldest: float) -> Entry:
        return (float(self._leaves[unit.index]), self.urgency(unit), unit.index)
