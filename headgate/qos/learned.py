"""A decision table that is learned: what a simulation forecasts, corrected by what is observed.

For every candidate there is a forecast of what a query would get under it at the present rate. What is observed while a
candidate is in charge corrects its forecasts: they are off by a factor, which is learned for each measure. When all
promises are kept with room to spare, another candidate is tried for a period now and then, if its forecast keeps them
too: a table that never tries anything cannot learn that it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from headgate.plan.quality import NATURAL, MeasureName
from headgate.qos.decision_maker import Choice, Situation
from headgate.qos.decision_table import CLASS_WEIGHT, PAPERS_TABLE
from headgate.qos.satisfaction import satisfaction

Values = Mapping[MeasureName, float]
# (query, tuples per second that it has to deal with) -> candidate -> what it would get; empty: nothing is known.
Forecast = Callable[[str, float | None], Mapping[str, Values]]

BETTER = 0.02  # by how much the score of another candidate must be better to be worth a switch
LEARNING = 0.3  # the weight of a new observation
COMFORT = 0.7  # of what is expected: when all measures are that good, another candidate may be tried,
TRY_EVERY = 8  # once in so many periods


def no_forecast(query: str, offered: float | None) -> Mapping[str, Values]:
    """Where nothing can be forecast."""
    return {}


class LearnedSelector:
    """Chooses the candidate that is expected to keep the promises of one query best."""

    def __init__(self, candidates: Sequence[str], forecast: Forecast = no_forecast) -> None:
        self._candidates = list(candidates)
        self._forecast = forecast
        self._factors: dict[tuple[str, MeasureName], float] = {}  # the logarithm of observed over forecast
        self._seen: dict[tuple[str, MeasureName], float] = {}  # what was observed, where nothing is forecast
        self._periods = 0
        self._tried: dict[str, int] = {}  # candidate -> the period in which it was in charge last
        self._returns_to: str | None = None  # after a trial

    def choose(self, situation: Situation) -> Choice:
        """Promises are broken: the best candidate, unless the current one is about as good."""
        scores = self._scores(situation)
        self._returns_to = None
        if not scores:
            return Choice(situation.current, {})
        best = max(scores, key=lambda name: scores[name])
        if situation.current in scores and scores[best] < scores[situation.current] + BETTER:
            best = situation.current
        return Choice(best, scores)

    def observe(self, situation: Situation) -> Choice | None:
        self._periods += 1
        self._learn(situation)
        if any(situation.is_violated(name) for name in situation.expected):
            return None
        if self._returns_to is not None:
            back, self._returns_to = self._returns_to, None
            scores = self._scores(situation)
            if scores.get(back, 0.0) >= scores.get(situation.current, 0.0):
                return Choice(back, scores, "the trial is over")
            return None
        return self._trial(situation)

    def _learn(self, situation: Situation) -> None:
        policy, known = situation.current, self._forecast(situation.query, situation.offered)
        self._tried[policy] = self._periods
        for name, value in situation.measured.items():
            if value is None or value <= 0.0:
                continue
            forecast = known.get(policy, {}).get(name, 0.0)
            key = (policy, name)
            if forecast > 0.0:
                off = math.log(value / forecast)
                self._factors[key] = self._factors.get(key, 0.0) + LEARNING * (off - self._factors.get(key, 0.0))
            before = self._seen.get(key, value)
            self._seen[key] = before + LEARNING * (value - before)

    def _trial(self, situation: Situation) -> Choice | None:
        """Another candidate, if nothing is at stake: the one that was not in charge for the longest time."""
        if self._periods % TRY_EVERY or not self._is_comfortable(situation):
            return None
        scores = self._scores(situation)
        safe = [name for name in scores if name != situation.current and self._keeps_all(situation, name)]
        if not safe:
            return None
        policy = min(safe, key=lambda name: (self._tried.get(name, -1), -scores[name]))
        self._returns_to = situation.current
        return Choice(policy, scores, "nothing is at stake: tried for a period, to learn")

    def _is_comfortable(self, situation: Situation) -> bool:
        return all(
            satisfaction(one.name, value / COMFORT if NATURAL[one.name] == "minimize" else value * COMFORT, expected)
            >= 1.0
            for one in situation.measures
            if (value := situation.measured.get(one.name)) is not None
            and (expected := situation.expected[one.name]) >= 0.0
        )

    def _keeps_all(self, situation: Situation, policy: str) -> bool:
        values = self._expected(situation, policy)
        return all(
            satisfaction(one.name, values[one.name], situation.expected[one.name]) >= 1.0
            for one in situation.measures
            if one.name in values
        )

    def _scores(self, situation: Situation) -> dict[str, float]:
        total = sum(CLASS_WEIGHT[one.priority] for one in situation.measures)
        found: dict[str, float] = {}
        for policy in self._candidates:
            values = self._expected(situation, policy)
            score = 0.0
            for one in situation.measures:
                weight = CLASS_WEIGHT[one.priority] / total
                if one.name in values:
                    score += weight * satisfaction(one.name, values[one.name], situation.expected[one.name])
                else:
                    score += weight * _by_rank(one.name, policy)
            found[policy] = score
        return found

    def _expected(self, situation: Situation, policy: str) -> Values:
        """What the query would get under a candidate now, as far as anything is known."""
        known = self._forecast(situation.query, situation.offered).get(policy)
        if known is None:
            return {name: value for (of, name), value in self._seen.items() if of == policy}
        return {name: value * math.exp(self._factor(policy, name)) for name, value in known.items()}

    def _factor(self, policy: str, name: MeasureName) -> float:
        """By how much forecasts are off; for a candidate that was never in charge, as those of the others are."""
        if (policy, name) in self._factors:
            return self._factors[policy, name]
        others = [factor for (_, of), factor in self._factors.items() if of == name]
        return sum(others) / len(others) if others else 0.0


def _by_rank(name: MeasureName, policy: str) -> float:
    """A first guess from the table of the thesis; in the middle for policies that it does not have."""
    ranks = PAPERS_TABLE.ranks[name]
    return ranks[policy] / len(ranks) if policy in ranks else 0.5
