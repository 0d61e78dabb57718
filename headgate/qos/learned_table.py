"""A decision table that is learned: what each candidate is expected to give all queries with promises.

For every candidate there is a forecast of what a query would get if all of them were scheduled by it. Forecasts are off
by a factor: how far off they are now is learned quickly, for all candidates alike, because it has more to do with
the input than with the policy; how much further off those of one candidate are is learned slowly.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence

from headgate.plan.model import Query
from headgate.plan.quality import NATURAL, MeasureName, QosMeasure
from headgate.qos.decision_maker import Situation
from headgate.qos.decision_table import CLASS_WEIGHT, PAPERS_TABLE
from headgate.qos.satisfaction import satisfaction

Values = Mapping[MeasureName, float]
# (query, tuples per second that it has to deal with; None: a busy time is assumed) -> candidate -> what the query would
# get if all queries with promises were scheduled by it; empty: nothing is known.
Forecast = Callable[[str, float | None], Mapping[str, Values]]

COMFORT = 0.7  # of what is expected: when all measures are that good, nothing is at stake
QUICKLY, SLOWLY = 0.3, 0.1  # the weight of a new observation: in what all candidates have in common, and of one
REMEMBERED = 20  # periods; a candidate should do well under the loads of all of them,
FADES = 0.8  # but a load counts for less by this factor with every period since


def no_forecast(query: str, offered: float | None) -> Mapping[str, Values]:
    """Where nothing can be forecast."""
    return {}


class LearnedTable:
    """The expected score of every candidate, as the mean over all queries with promises."""

    def __init__(
        self, candidates: Sequence[str], forecast: Forecast = no_forecast, present: Callable[[], Collection[str]] = list
    ) -> None:
        self.candidates = list(candidates)
        self._forecast = forecast
        self._present = present  # the queries that run and are promised something
        self._queries: dict[str, _Learned] = {}

    def add(self, query: Query) -> None:
        """A query has come, or is promised something else."""
        self._queries[query.name] = _Learned(query.name, query.qos)

    def learn(self, situation: Situation) -> None:
        """A period of a query has ended."""
        forecast = self._forecast(situation.query, situation.offered)
        self._queries[situation.query].learn(situation, forecast.get(situation.current, {}))

    def scores(self) -> dict[str, float]:
        """The score of every candidate; empty if nothing is known of any query."""
        found = [self._scores_of(one) for one in self._running()]
        return {name: sum(one[name] for one in found) / len(found) for name in self.candidates} if found else {}

    @property
    def queries(self) -> int:
        """How many queries with promises run."""
        return len(self._running())

    @property
    def is_forecast(self) -> bool:
        """Is there a forecast for every query?"""
        present = self._running()
        return bool(present) and all(self._forecast(one.query, None) for one in present)

    @property
    def is_at_ease(self) -> bool:
        """Are the promises of all queries kept with room to spare?"""
        return all(one.is_at_ease for one in self._running())

    def keeps_all(self, candidate: str) -> bool:
        """Is the candidate expected to keep all promises under the present loads?"""
        return all(one.keeps_all(candidate, self._forecast(one.query, one.offered)) for one in self._running())

    def _running(self) -> list[_Learned]:
        present = self._present()
        return [one for name, one in self._queries.items() if name in present]

    def _scores_of(self, one: _Learned) -> dict[str, float]:
        weights: dict[int, float] = {}  # of each forecast: many loads have the same
        forecasts: dict[int, Mapping[str, Values]] = {}
        for offered, weight in one.loads():
            forecast = self._forecast(one.query, offered)
            key = id(forecast) if forecast else 0
            forecasts[key] = forecast
            weights[key] = weights.get(key, 0.0) + weight
        total = sum(weights.values())
        return {
            name: sum(weights[key] * one.score(name, forecast) for key, forecast in forecasts.items()) / total
            for name in self.candidates
        }


class _Learned:
    """What is known of one query."""

    def __init__(self, query: str, measures: Sequence[QosMeasure]) -> None:
        self.query = query
        self._measures = measures
        self._loads: deque[float | None] = deque([None], maxlen=REMEMBERED)
        self._expected = {one.name: one.graph.expected(0.0) for one in measures}
        self._last: Situation | None = None
        self._common: dict[MeasureName, float] = {}  # logarithms of what was observed over what was forecast
        self._own: dict[tuple[str, MeasureName], float] = {}
        self._seen: dict[tuple[str, MeasureName], float] = {}  # what was observed, where nothing is forecast

    @property
    def offered(self) -> float | None:
        return self._loads[-1]

    @property
    def is_at_ease(self) -> bool:
        if self._last is None:
            return False
        found = [(name, self._last.measured.get(name), self._expected[name]) for name in self._expected]
        return all(_is_comfortable(name, value, expected) for name, value, expected in found if value is not None)

    def loads(self) -> list[tuple[float | None, float]]:
        """The loads of the last periods and how much each counts."""
        return [(load, FADES**age) for age, load in enumerate(reversed(self._loads))]

    def learn(self, situation: Situation, forecast: Values) -> None:
        self._last, self._expected = situation, dict(situation.expected)
        self._loads.append(situation.offered)
        for name, value in situation.measured.items():
            if value is None or value <= 0.0:
                continue
            key = (situation.current, name)
            before = self._seen.get(key, value)
            self._seen[key] = before + QUICKLY * (value - before)
            if forecast.get(name, 0.0) > 0.0:
                off, common = math.log(value / forecast[name]), self._common.get(name, 0.0)
                own = self._own.get(key, 0.0)
                self._own[key] = own + SLOWLY * (off - common - own)
                self._common[name] = common + QUICKLY * (off - own - common)
                self._center(name)

    def _center(self, name: MeasureName) -> None:
        """What the candidates have in common is not held against those that were in charge: theirs add up to 0."""
        keys = [key for key in self._own if key[1] == name]
        shift = sum(self._own[key] for key in keys) / len(keys)
        self._common[name] += shift
        for key in keys:
            self._own[key] -= shift

    def score(self, candidate: str, forecast: Mapping[str, Values]) -> float:
        """How well a candidate is expected to keep the promises, weighted by their priorities."""
        values = self._values(candidate, forecast)
        total = sum(CLASS_WEIGHT[one.priority] for one in self._measures)
        score = 0.0
        for one in self._measures:
            value = values.get(one.name)
            met = satisfaction(one.name, value, self._expected[one.name]) if value is not None else None
            score += CLASS_WEIGHT[one.priority] / total * (_by_rank(one.name, candidate) if met is None else met)
        return score

    def keeps_all(self, candidate: str, forecast: Mapping[str, Values]) -> bool:
        """Is the candidate expected to keep all promises, as far as anything is known of it?"""
        values = self._values(candidate, forecast)
        return all(satisfaction(name, value, self._expected[name]) >= 1.0 for name, value in values.items())

    def _values(self, candidate: str, forecast: Mapping[str, Values]) -> Values:
        names = {one.name for one in self._measures}
        if candidate in forecast:
            known = forecast[candidate].items()
            return {name: value * math.exp(self._off(candidate, name)) for name, value in known if name in names}
        return {name: value for (of, name), value in self._seen.items() if of == candidate and name in names}

    def _off(self, candidate: str, name: MeasureName) -> float:
        return self._common.get(name, 0.0) + self._own.get((candidate, name), 0.0)


def _is_comfortable(name: MeasureName, value: float, expected: float) -> bool:
    return value <= COMFORT * expected if NATURAL[name] == "minimize" else COMFORT * value >= expected


def _by_rank(name: MeasureName, candidate: str) -> float:
    """A first guess from the table of the thesis; in the middle for policies that it does not have."""
    ranks = PAPERS_TABLE.ranks[name]
    return ranks[candidate] / len(ranks) if candidate in ranks else 0.5
