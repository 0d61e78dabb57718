"""chain: first the operator on the steepest piece of its path's progress chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.plan.paths import find_paths
from headgate.policies.explanations import explain_charts
from headgate.policies.path_worths import ViewStats, steps_by_path
from headgate.policies.ranked import RankedPolicy
from headgate.policies.worth import Worth, operator_fixed_s
from headgate.scheduling.policy import View
from headgate.scheduling.progress_chart import lower_envelope, progress_chart
from headgate.scheduling.segments import Step


class Chain(RankedPolicy):
    """The steepest slope of the progress chart's lower envelope first: the most memory released per second.

    An operator has the slope of its piece; if several paths share it, the steepest of their slopes. A decision takes
    one tuple, so tuples may wait between any two operators (Jiang and Chakravarthy section 2.2; Babcock et al. 2003).
    """

    name = "chain"
    needs = ("fixed_s", "cost_s", "selectivity", "tuple_bytes")
    paper = (
        "Babcock, Babu, Datar, Motwani: Chain: Operator Scheduling for Memory Minimization in Data Stream Systems, "
        "as in Jiang, Chakravarthy: UTA TR CSE-2003-30, section 2.2"
    )

    def explain(self) -> dict[str, Any]:
        return super().explain() | {"charts": explain_charts(self.view.plan, ViewStats(self.view))}

    def worths(self) -> Sequence[Worth | None]:
        found: dict[str, Worth | None] = {}
        for steps in steps_by_path(self.view, find_paths(self.view.plan)).values():
            for operator, worth in _slopes(self.view, steps).items():
                before = found.get(operator)
                if before is None or (worth is not None and worth.per_second() > before.per_second()):
                    found[operator] = worth
        return [found[unit.operators[0]] for unit in self.view.units]


def _slopes(view: View, steps: Sequence[Step]) -> dict[str, Worth | None]:
    """Operator -> the slope of its piece on this path; None for all if the chart is not known.

    The chart is about one tuple that enters the path. A batch at an inner operator stands for more tuples that entered,
    so the share of the fixed costs per tuple entered is smaller by that factor.
    """
    chart = progress_chart(steps)
    fixed = [operator_fixed_s(view, step.operator) for step in steps]
    if chart is None:
        return dict.fromkeys((step.operator for step in steps), None)
    found: dict[str, Worth | None] = {}
    for first, end in lower_envelope(chart):
        costs = [cost for cost in fixed[first:end] if cost is not None]
        gain = chart[first].size - chart[end].size
        seconds = chart[end].seconds - chart[first].seconds
        for at in range(first, end):
            known = len(costs) == end - first
            found[steps[at].operator] = Worth(gain, seconds, sum(costs) * chart[at].reach) if known else None
    return found
