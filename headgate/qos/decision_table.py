"""The decision table: how well each policy serves each measure, and the scores that follow (Kendai section 4.2).

The table of the thesis ranks four strategies. Any other table can take its place: only the order of its policies and
their ranks count, and a larger rank is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.plan.quality import NATURAL, PRIORITIES, MeasureName, Priority, QosMeasure

CLASS_WEIGHT: dict[Priority, float] = {"must": 1.0, "best-effort": 0.5, "dont-care": 0.01}
MOST_REDUCTION = 1.0 - 1e-3  # a reduced weight stays above the weight of the next class

# Table 4.1: larger is better.
RANKS: dict[MeasureName, dict[str, float]] = {
    "latency": {"rr": 2, "pcs": 4, "segment": 1, "simplified-segment": 3},
    "memory": {"rr": 2, "pcs": 1, "segment": 4, "simplified-segment": 3},
    "throughput": {"rr": 2, "pcs": 4, "segment": 1, "simplified-segment": 3},
}


@dataclass(frozen=True)
class DecisionTable:
    """Ranks by measure and policy."""

    ranks: Mapping[MeasureName, Mapping[str, float]]

    @property
    def policies(self) -> Sequence[str]:
        """The policies of the table, in its order."""
        return list(next(iter(self.ranks.values())))

    def scores(self, weights: Mapping[MeasureName, float]) -> dict[str, float]:
        """The score of every policy for weighted measures, eq. (4.1)."""
        policies = self.policies
        return {
            policy: sum(weight * self.ranks[name][policy] / len(policies) for name, weight in weights.items())
            for policy in policies
        }

    def choose(self, weights: Mapping[MeasureName, float], priority: Priority, current: str) -> str:
        """The policy with the best score; the current one if it is as good.

        Of equally good ones the first in the table. A class that nobody cares about only ever asks for a better one.
        """
        scores = self.scores(weights)
        best = max(scores.values())
        if current in scores and scores[current] >= best:
            return current
        if priority == "dont-care" and current in scores:
            better = {policy: score for policy, score in scores.items() if score > scores[current]}
            return max(better, key=lambda policy: better[policy]) if better else current
        return next(policy for policy, score in scores.items() if score == best)


PAPERS_TABLE = DecisionTable(RANKS)


def reduced_weight(measure: QosMeasure, observed: float, expected: float) -> float:
    """The weight of a satisfied measure of a higher class: the better it is satisfied, the less it counts.

    Equations (4.2) and (4.3), with the sign of a measure that should be large, and never down to the next class.
    """
    weight = CLASS_WEIGHT[measure.priority]
    at = PRIORITIES.index(measure.priority)
    span = weight - CLASS_WEIGHT[PRIORITIES[at + 1]] if at + 1 < len(PRIORITIES) else weight
    if expected <= 0.0:
        return weight
    gap = (expected - observed) / expected
    reduction = gap if NATURAL[measure.name] == "minimize" else -gap
    return weight - min(MOST_REDUCTION, max(0.0, reduction)) * span
