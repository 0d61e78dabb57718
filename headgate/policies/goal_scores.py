"""Scores of policies by weighted goals, and how the next one is chosen by them (Sutherland et al. section 5).

The formulas are the paper's with its signs and ranges mended: a score lies between 0 and 1, so a roulette wheel can be
made of scores, and what counts less and less is the policy that has not run for long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from headgate.plan.quality import Goal, MeasureName

LEAST_SHARE = 0.01  # of the roulette wheel, as a score: everyone stays within reach
BACK_AFTER = 50  # evaluations after which a candidate that was left out may try again
LEAST_RUNS = 3  # a candidate that ran less often is not left out


class GoalScores:
    """What was measured while each candidate ran, period by period, and the scores that follow.

    A score compares the mean under a candidate with the mean under all, as a share of the range of all samples.
    """

    def __init__(self, candidates: int, decay: float, remember: int | None = None) -> None:
        self.runs = [0] * candidates
        self._decay = decay
        self._remember = remember
        self._samples: dict[MeasureName, deque[tuple[int, float]]] = {}  # (candidate, value), oldest first
        self._last_run = [0] * candidates
        self._periods = 0

    def add(self, candidate: int, measured: Mapping[MeasureName, float]) -> None:
        """A period has ended in which a candidate ran."""
        self._periods += 1
        self.runs[candidate] += 1
        self._last_run[candidate] = self._periods
        for name, value in measured.items():
            self._samples.setdefault(name, deque(maxlen=self._remember)).append((candidate, value))

    def scores(self, goals: Sequence[Goal]) -> dict[int, float]:
        """The score of every candidate that has run: 0.5 is as good as all of them together."""
        ran = [candidate for candidate, runs in enumerate(self.runs) if runs]
        return {candidate: sum(one.weight * self._part(candidate, one) for one in goals) for candidate in ran}

    def _part(self, candidate: int, goal: Goal) -> float:
        samples = self._samples.get(goal.statistic, ())
        mine = [value for owner, value in samples if owner == candidate]
        values = [value for _, value in samples]
        spread = max(values, default=0.0) - min(values, default=0.0)
        if not mine or spread == 0.0:
            return 0.5
        distance = (sum(mine) / len(mine) - sum(values) / len(values)) / spread
        faded = distance * self._decay ** (self._periods - self._last_run[candidate])
        return min(1.0, max(0.0, 0.5 + (faded if goal.goal == "maximize" else -faded)))


class Elimination:
    """Leaves out a candidate that has been the worst for a long time. Off without `after`."""

    def __init__(self, candidates: int, after: int | None) -> None:
        self._after = after
        self._worst = [0] * candidates  # how many times in a row
        self._out: dict[int, int] = {}  # candidate -> evaluations until it may try again

    def allowed(self, scores: Mapping[int, float], runs: Sequence[int]) -> Collection[int]:
        """The candidates to choose from; to be called once for each evaluation."""
        if self._after is None:
            return list(scores)
        self._out = {candidate: left - 1 for candidate, left in self._out.items() if left > 1}
        inside = [candidate for candidate in scores if candidate not in self._out]
        lowest = min(inside, key=lambda candidate: scores[candidate])
        for candidate in inside:
            self._worst[candidate] = self._worst[candidate] + 1 if candidate == lowest else 0
        if self._worst[lowest] >= self._after and runs[lowest] >= LEAST_RUNS and len(inside) > 2:
            self._out[lowest] = BACK_AFTER
            self._worst[lowest] = 0
            inside.remove(lowest)
        return inside


def by_roulette(scores: Mapping[int, float], drawn: float) -> int:
    """The candidate that a number drawn from [0, 1) falls on: each has a share of the wheel as large as its score.

    >>> by_roulette({0: 0.75, 1: 0.25}, 0.74), by_roulette({0: 0.75, 1: 0.25}, 0.76)
    (0, 1)
    """
    shares = {candidate: max(LEAST_SHARE, score) for candidate, score in scores.items()}
    left = drawn * sum(shares.values())
    for candidate, share in shares.items():
        left -= share
        if left < 0.0:
            return candidate
    return candidate
