"""Ways to choose a policy for a query whose promises are not kept: by the decision table, or by a roulette wheel."""

from __future__ import annotations

import random
from collections.abc import Sequence

from headgate.plan.quality import NATURAL, Goal, MeasureName
from headgate.policies.goal_scores import GoalScores, by_roulette
from headgate.qos.decision_maker import Choice, Situation
from headgate.qos.decision_table import CLASS_WEIGHT, PAPERS_TABLE, DecisionTable
from headgate.seeds import derived_seed


class TableSelector:
    """By a decision table, as MavStream does."""

    def __init__(self, table: DecisionTable = PAPERS_TABLE) -> None:
        self._table = table

    def choose(self, situation: Situation) -> Choice:
        weights = situation.weights
        policy = self._table.choose(weights, situation.priority, situation.current)
        return Choice(policy, self._table.scores(weights))

    def observe(self, situation: Situation) -> Choice | None:
        return None

    def follow(self, current: str) -> Choice | None:
        return None


class RouletteSelector:
    """By a roulette wheel of what was measured while each candidate ran, as CAPE does, for one query.

    The goals are the query's measures, weighted by their classes. Every candidate is tried once first.
    """

    def __init__(self, candidates: Sequence[str], seed: int, query: str, decay: float = 0.95) -> None:
        self._candidates = list(candidates)
        self._history = GoalScores(len(self._candidates), decay)
        self._random = random.Random(derived_seed(seed, "roulette", query))

    def choose(self, situation: Situation) -> Choice:
        untried = [name for at, name in enumerate(self._candidates) if not self._history.runs[at]]
        if untried:
            return Choice(untried[0], {}, "every candidate is tried once")
        scores = self._history.scores(_goals(situation))
        drawn = by_roulette(scores, self._random.random())
        return Choice(self._candidates[drawn], {self._candidates[at]: score for at, score in scores.items()})

    def observe(self, situation: Situation) -> Choice | None:
        """Counts what was measured; nothing else, because it only chooses when a promise is broken."""
        if situation.current in self._candidates:
            known: dict[MeasureName, float] = {
                name: value for name, value in situation.measured.items() if value is not None
            }
            self._history.add(self._candidates.index(situation.current), known)
        return None

    def follow(self, current: str) -> Choice | None:
        return None


def _goals(situation: Situation) -> list[Goal]:
    weights = {one.name: CLASS_WEIGHT[one.priority] for one in situation.measures}
    total = sum(weights.values())
    return [Goal(name, NATURAL[name], weight / total) for name, weight in weights.items()]
