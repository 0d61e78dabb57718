"""Chooses one policy for all queries with promises, by a table that is learned.

Queries with different policies take turns of the same length, whatever their load, so what one of them gets depends on
the policies of all others. Under the same policy they are compared with each other, and can be forecast. The
first choice is made before anything has gone wrong, by the forecasts alone. When all promises of all queries are kept
with room to spare, another candidate is tried for a period now and then, if it is expected to keep them too: a table
that never tries anything cannot learn that it is wrong.
"""

from __future__ import annotations

from headgate.qos.decision_maker import Choice, Situation
from headgate.qos.learned_table import LearnedTable

BETTER = 0.02  # by how much the score of another candidate must be better to be worth a switch
TRY_EVERY = 8  # a candidate is tried once in so many periods


class CommonChoice:
    """The policy of all queries with promises. Their selectors share it."""

    def __init__(self, table: LearnedTable) -> None:
        self._table = table
        self._policy: str | None = None  # None: nothing was chosen yet
        self._note = ""
        self._periods = 0
        self._tried: dict[str, int] = {}  # candidate -> the period in which it was in charge last
        self._returns_to: str | None = None  # after a trial

    def reconsider(self, situation: Situation) -> Choice:
        """A promise is broken: the best candidate, unless the current one is about as good."""
        scores, self._returns_to = self._table.scores(), None
        current = situation.current if self._policy is None else self._policy
        best = max(scores, key=lambda name: scores[name])
        if current in scores and scores[best] < scores[current] + BETTER:
            best = current
        return self._choose(best, "", scores)

    def observe(self, situation: Situation) -> Choice | None:
        """A period of a query has ended."""
        self._table.learn(situation)
        self._periods += 1
        self._tried[situation.current] = self._periods
        if any(situation.is_violated(name) for name in situation.expected):
            return None
        if self._returns_to is not None:
            return self._end_trial()
        return self._trial(situation)

    def follow(self, current: str) -> Choice | None:
        """What a query with another policy should change to; None: nothing."""
        if self._policy is None and self._table.is_forecast:
            scores = self._table.scores()
            self._choose(max(scores, key=lambda name: scores[name]), "forecast to be the best", scores)
        if self._policy is None or self._policy == current:
            return None
        return Choice(self._policy, {}, self._note or "with the other queries")

    def _choose(self, policy: str, note: str, scores: dict[str, float]) -> Choice:
        self._policy, self._note = policy, note
        return Choice(policy, scores, note)

    def _end_trial(self) -> Choice | None:
        back, self._returns_to = self._returns_to, None
        scores = self._table.scores()
        if back is None or self._policy is None or scores[back] < scores.get(self._policy, 0.0):
            return None
        return self._choose(back, "the trial is over", scores)

    def _trial(self, situation: Situation) -> Choice | None:
        """Another candidate, if nothing is at stake: the one that was not in charge for the longest time."""
        if self._periods % TRY_EVERY or not self._table.is_at_ease:
            return None
        safe = [one for one in self._table.candidates if one != situation.current and self._table.keeps_all(one)]
        if not safe:
            return None
        scores = self._table.scores()
        self._returns_to = situation.current
        policy = min(safe, key=lambda name: (self._tried.get(name, -1), -scores[name]))
        return self._choose(policy, "nothing is at stake: tried for a period, to learn", scores)


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
