"""adaptive: one of several policies at a time, chosen by how well each has met weighted goals."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from headgate.metrics.latency import LatencyTotal
from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.plan.quality import MeasureName, read_goals
from headgate.policies.goal_scores import Elimination, GoalScores, by_roulette
from headgate.policies.making import make_policy, read_policy
from headgate.policies.parameters import between, one_of, positive, whole
from headgate.scheduling.policy import Decision, FinishedCall, Policy, View
from headgate.scheduling.units import Group, Unit
from headgate.seeds import derived_seed

SAMPLES = 10  # of the memory in a period
SKIPPED = 2  # samples at the start of a period, while the queues that the policy before left still count
ANY_GOALS = tuple({"statistic": name, "weight": 1 / 3} for name in ("latency", "memory", "throughput"))


class Adaptive(Policy):
    """Tries every candidate for a period, then draws the next one by how well each has met the goals so far.

    A score compares what was measured while a candidate ran with what was measured under all of them. Better
    candidates run more often, but all of them now and then, because the load changes (Sutherland et al. section 5).
    `selection: greedy` always takes the one with the best score. Ties go to the candidate that is listed first.
    """

    name = "adaptive"
    unit = "varies"
    paper = (
        "Sutherland, Pielech, Rundensteiner: Adaptive QoS-Driven Scheduling Framework for a Continuous Query System "
        "(CAPE), WPI-CS-TR-04-16, section 5"
    )

    def __init__(
        self,
        candidates: Sequence[Any] = ("rr", "fifo", "chain", "mtiq"),
        goals: Sequence[Any] | None = None,
        period: float = 1.0,
        decay: float = 0.95,
        selection: Literal["roulette", "greedy"] = "roulette",
        eliminate_after: int | None = None,
        remember: int | None = None,
    ) -> None:
        """`goals` are those of the application or the query unless they are given here; without any, all three count
        alike.

        `decay` is by how much a score moves towards the middle in every period in which the candidate does not run.
        `eliminate_after`: a candidate with the lowest score that many times in a row is left out for a while; None:
        never. `remember`: how many samples of a statistic are kept; None: all.
        """
        self.goals = read_goals(ANY_GOALS if goals is None else goals)
        self.period = positive("period", period)
        self.decay = between("decay", decay, 0.0, 1.0)
        self.selection = one_of("selection", selection, ("roulette", "greedy"))
        self._eliminate_after = None if eliminate_after is None else whole("eliminate_after", eliminate_after)
        self._remember = None if remember is None else whole("remember", remember)
        self._candidates = _made(candidates)
        self._current = 0
        self._operators: frozenset[str] = frozenset()  # those that the history is about
        self._random: random.Random | None = None
        self._began = self._since = 0.0  # of the period, and of the part of it that counts
        self._sample = 0
        self._memory: list[float] = []
        self._before = LatencyTotal()
        self._forget()

    # The current candidate decides -------------------------------------------------------------------------------

    @property
    def current(self) -> Policy:
        """The policy that schedules now."""
        return self._candidates[self._current]

    @property
    def preemptive(self) -> bool:
        return self.current.preemptive

    @property
    def watches_queues(self) -> bool:  # type: ignore[override]
        return self.current.watches_queues

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        operators = frozenset(plan.operators)
        if operators != self._operators:
            self._operators = operators
            self._forget()
        return self.current.units(plan, stats)

    def regroups(self, plan: Plan, stats: Stats) -> bool:
        return self.current.regroups(plan, stats)

    def start(self, view: View) -> None:
        super().start(view)
        if self._random is None:
            self._random = random.Random(derived_seed(view.seed, "adaptive"))
        if self.review_at == math.inf:
            self._begin_period()
        self.work_conserving = self.current.work_conserving
        self.current.start(view)

    def became_ready(self, unit: Unit) -> None:
        self.current.became_ready(unit)

    def choose(self, slot: int) -> Decision | None:
        return self.current.choose(slot)

    def preempts(self, running: Sequence[Unit], arrived: Unit) -> Unit | None:
        return self.current.preempts(running, arrived)

    def finished(self, call: FinishedCall) -> None:
        self.current.finished(call)

    def ran_dry(self) -> None:
        self.current.ran_dry()

    def round_ended(self) -> None:
        self.current.round_ended()

    def explain(self) -> dict[str, Any]:
        return {
            **self.current.explain(),
            "candidates": [one.name for one in self._candidates],
            "goals": [goal.as_data() for goal in self.goals],
            "period": self.period,
        }

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        return self.current.explain_unit(unit)

    # Which candidate is the current one --------------------------------------------------------------------------

    def review(self) -> bool:
        """Take a sample of the memory; at the end of a period, score the candidates and choose the next one."""
        self._sample += 1
        self.review_at = self._began + (self._sample + 1) * self.period / SAMPLES
        if self._sample == SKIPPED:
            self._before, self._since = self.view.results(self.view.plan.queries), self.view.now
        elif self._sample > SKIPPED:
            self._memory.append(self.view.memory)
        if self._sample < SAMPLES:
            return False
        self._scores.add(self._current, self._measured())
        before, self._current = self._current, self._next()
        self._begin_period()
        if self._current == before:
            return False
        self.updates, self.updated_at = self.updates + 1, self.view.now
        return True

    def scores(self) -> dict[str, float]:
        """The score of each candidate that has run, between 0 and 1."""
        scores = self._scores.scores(self.goals)
        return {self._candidates[at].name: score for at, score in scores.items()}

    def _forget(self) -> None:
        """Begin anew: every candidate runs once before any is chosen."""
        self._scores = GoalScores(len(self._candidates), self.decay, self._remember)
        self._elimination = Elimination(len(self._candidates), self._eliminate_after)
        self._current = 0
        self.review_at = math.inf

    def _begin_period(self) -> None:
        self._began = self._since = self.view.now
        self._sample = 0
        self._memory = []
        self._before = LatencyTotal()
        self.review_at = self._began + self.period / SAMPLES

    def _measured(self) -> Mapping[MeasureName, float]:
        """The statistics of the period that ends now, as far as they are defined."""
        came = self.view.results(self.view.plan.queries).since(self._before)
        seconds = self.view.now - self._since
        found: dict[MeasureName, float] = {"memory": sum(self._memory) / len(self._memory)}
        if seconds > 0.0:
            found["throughput"] = came.results / seconds
        if came.mean is not None:
            found["latency"] = came.mean
        return found

    def _next(self) -> int:
        untried = [at for at in range(len(self._candidates)) if not self._scores.runs[at]]
        if untried:
            return untried[0]
        scores = self._scores.scores(self.goals)
        allowed = self._elimination.allowed(scores, self._scores.runs)
        scores = {at: scores[at] for at in allowed}
        if self.selection == "greedy":
            return max(scores, key=lambda at: (scores[at], -at))
        assert self._random is not None
        return by_roulette(scores, self._random.random())


def _made(candidates: Sequence[Any]) -> list[Policy]:
    if isinstance(candidates, (str, Mapping)) or not candidates:
        raise ValueError(f"candidates is {candidates!r}; it must be a list of policies")
    made = []
    for given in candidates:
        settings = read_policy(given)
        if settings.name in (Adaptive.name, "master"):
            raise ValueError(f"'{settings.name}' cannot be one of the candidates")
        made.append(make_policy(settings.name, settings.parameters))
    return made
