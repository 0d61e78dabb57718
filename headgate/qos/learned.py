"""Chooses one policy for all queries with promises, by a table that is learned.

Queries with different policies take turns of the same length, whatever their load, so what one of them gets depends on
the policies of all others. Under the same policy they are compared with each other, and can be forecast. The
first choice is made before anything has gone wrong, by the forecasts alone. When all promises of all queries are kept
with room to spare, another candidate is tried for a period now and then, if it is expected to keep them too: a table
that never tries anything cannot learn that it is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headgate.qos.decision_maker import Choice, Situation
from headgate.qos.learned_table import LearnedTable

BETTER = 0.05  # by how much the score of another candidate must be better to be worth a switch
TRY_EVERY = 8  # a candidate is tried once in so many periods of queries,
TRY_ROUNDS = 2  # and only after so many of each query: with many queries, periods add up quickly


class CommonChoice:
    """The policy of all queries with promises. Their selectors share it."""

    def __init__(self, table: LearnedTable) -> None:
        self._table = table
        self._choice: Choice | None = None  # the latest; None: nothing was chosen yet
        self._periods = 0  # of all queries together
        self._scored: tuple[float, Mapping[str, float]] = (-1.0, {})  # when scores were found last, and which
        self._tried: dict[str, int] = {}  # candidate -> the period in which it was in charge last
        self._returns_to: str | None = None  # after a trial

    def reconsider(self, situation: Situation) -> Choice:
        """A promise is broken: the best candidate, unless the current one is about as good."""
        self._returns_to = None
        current = situation.current if self._choice is None else self._choice.policy
        if situation.now != self._scored[0]:  # once for all queries that are looked at together
            self._scored = (situation.now, self._table.scores())
        scores = self._scored[1]
        return self._choose(_best(scores, current), scores)

    def observe(self, situation: Situation) -> Choice | None:
        """A period of a query has ended."""
        self._table.learn(situation)
        self._periods += 1
        self._tried[situation.current] = self._periods
        if any(situation.is_violated(name) for name in situation.expected):
            return None
        if self._returns_to is not None:
            return self._end_trial(situation.current, self._returns_to)
        return self._trial(situation.current)

    def follow(self, current: str) -> Choice | None:
        """What a query with another policy should change to; None: nothing."""
        if self._choice is None and self._table.is_forecast:
            scores = self._table.scores()
            self._choose(_best(scores, current), scores, "forecast to be the best")
        if self._choice is None or self._choice.policy == current:
            return None
        return replace(self._choice, note=self._choice.note or "with the other queries")

    def _choose(self, policy: str, scores: Mapping[str, float], note: str = "") -> Choice:
        self._choice = Choice(policy, scores, note)
        return self._choice

    def _end_trial(self, current: str, before: str) -> Choice | None:
        """Back to what was in charge before, unless the other has turned out to be better."""
        if self._choice is None or current != self._choice.policy:
            return None  # the period was that of the policy before
        self._returns_to = None
        scores = self._table.scores()
        return self._choose(before, scores, "the trial is over") if scores[before] >= scores[current] else None

    def _trial(self, current: str) -> Choice | None:
        """Another candidate, if nothing is at stake: the one that was not in charge for the longest time."""
        if self._periods % max(TRY_EVERY, TRY_ROUNDS * self._table.queries) or not self._table.is_at_ease:
            return None
        safe = [one for one in self._table.candidates if one != current and self._table.keeps_all(one)]
        if not safe:
            return None
        scores = self._table.scores()
        self._returns_to = current
        policy = min(safe, key=lambda name: (self._tried.get(name, -1), -scores[name]))
        return self._choose(policy, scores, "nothing is at stake: tried for a period, to learn")


def _best(scores: Mapping[str, float], current: str) -> str:
    """The candidate with the best score, or the current policy if it is about as good."""
    best = max(scores, key=lambda name: scores[name])
    return current if current in scores and scores[best] < scores[current] + BETTER else best


class LearnedSelector:
    """One query's part in the common choice."""

    def __init__(self, common: CommonChoice) -> None:
        self._common = common

    def choose(self, situation: Situation) -> Choice:
        return self._common.reconsider(situation)

    def observe(self, situation: Situation) -> Choice | None:
        return self._common.observe(situation)

    def follow(self, current: str) -> Choice | None:
        return self._common.follow(current)
