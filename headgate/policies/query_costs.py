"""What tuples cost on their way through a query, from the statistics of now."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.metrics.learning import FadingRatio
from headgate.plan.model import Edge, Query
from headgate.scheduling.costs import costs_on_the_way, fixed_cost
from headgate.scheduling.policy import View


class QueryCosts:
    """Expected costs of queries, and the selectivities that they were worked out with.

    The cost of a query is the sum over its inputs of what one tuple costs from there to the root, each query as if it
    shared nothing (Al Moakar, section 6.1). One that is not known yet counts like the mean of those that are.

    With `trains`, the tuples a call of each class, a tuple also bears its part of what a call costs beside its tuples.
    The train is the class's and not the query's own: a query that is served often has short trains, would seem dear,
    and be served even more often.
    """

    def __init__(self, view: View, trains: Mapping[str, FadingRatio] | None = None) -> None:
        self._view = view
        self._trains = trains
        self._seen = self._sources()
        self._units = {query: unit for unit in view.units for query in unit.queries}
        self.adopt()

    def adopt(self) -> None:
        """Go by the statistics of now."""
        self._take(self._costs())

    def became_known(self) -> bool:
        """Adopt the statistics of now if the cost of a query has become known by them."""
        if not self._unknown or self._seen == self._sources():
            return False
        self._seen = self._sources()
        costs = self._costs()
        if sum(cost is None for cost in costs.values()) >= self._unknown:
            return False
        self._take(costs)
        return True

    def _take(self, costs: Mapping[str, float | None]) -> None:
        known = [cost for cost in costs.values() if cost is not None]
        usual = sum(known) / len(known) if known else 1.0
        self.seconds: Mapping[str, float] = {q: usual if cost is None else cost for q, cost in costs.items()}
        self._unknown = len(costs) - len(known)
        self._seen = self._sources()
        self._selectivities = {name: self._view.stats(name).selectivity for name in self._view.plan.operators}

    def _sources(self) -> tuple[int, int]:
        """Changes when more may be known: statistics, or the train of a class that had no call before."""
        trains = self._trains or {}
        return self._view.stats_version, sum(train.value is not None for train in trains.values())

    def moved(self, by: float) -> bool:
        """Has a selectivity changed by more than such a share of what it was?"""
        for name, before in self._selectivities.items():
            now = self._view.stats(name).selectivity
            if now is not None and (before is None or abs(now - before) > by * before):
                return True
        return False

    def _costs(self) -> dict[str, float | None]:
        return {name: self._cost(query) for name, query in self._view.plan.queries.items()}

    def _cost(self, query: Query) -> float | None:
        if not query.operators:
            return 0.0
        fixed, seconds = self._fixed(query.name), _by_operator(query, self._view)
        if fixed is None or seconds is None:
            return None
        return fixed * len(_inputs(query, self._view)) + sum(seconds.values())

    def _fixed(self, query: str) -> float | None:
        """What a tuple bears of the fixed cost of a call."""
        if self._trains is None:
            return 0.0
        unit = self._units[query]
        fixed, train = fixed_cost(unit, self._view), self._trains[unit.class_name].value
        if not fixed:
            return fixed
        return fixed / train if train else None


def operator_costs(view: View) -> dict[str, float]:
    """What each operator costs for one tuple on each input of its query: its cost times how often one gets there.

    An operator that several queries share counts as often. If a statistic is not known, all operators cost the same.
    """
    found = dict.fromkeys(view.plan.operators, 0.0)
    for query in view.plan.queries.values():
        seconds = _by_operator(query, view)
        if seconds is None:
            return dict.fromkeys(found, 1.0)
        for operator, one in seconds.items():
            found[operator] += one
    return found


def _inputs(query: Query, view: View) -> list[Edge]:
    """Where tuples of streams come into a query."""
    plan = view.plan
    return [
        Edge(name, index)
        for name in query.operators
        for index, source in enumerate(plan.operators[name].inputs)
        if source.node in plan.streams
    ]


def _by_operator(query: Query, view: View) -> dict[str, float] | None:
    """What one tuple on each input of a query is expected to cost in each operator, as if the query shared none."""
    return costs_on_the_way(query.operators, dict.fromkeys(_inputs(query, view), 1.0), view)
