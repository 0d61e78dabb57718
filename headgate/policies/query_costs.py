"""What tuples cost on their way through a query, according to the current statistics."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.metrics.learning import FadingRatio
from headgate.plan.model import Edge, Query
from headgate.scheduling.costs import costs_on_the_way, fixed_cost
from headgate.scheduling.policy import View


class QueryCosts:
    """Expected costs of queries, and the selectivities they were computed with.

    The cost of a query is the sum over its inputs of what one tuple costs from there to the root, as if the query
    shared no operators (Al Moakar, section 6.1). A cost that is not known yet is taken as the mean of the known ones.

    With `trains`, the tuples per call of each class, a tuple also bears its share of the fixed cost of a call. The
    train is that of the class rather than the query's own: a query that is served often has short trains, would seem
    expensive, and would be served even more often.
    """

    def __init__(self, view: View, trains: Mapping[str, FadingRatio] | None = None) -> None:
        self._view = view
        self._trains = trains
        self._seen = self._sources()
        self._units = {query: unit for unit in view.units for query in unit.queries}
        self.adopt()

    def adopt(self) -> None:
        """Use the current statistics from now on."""
        self._take(self._costs())

    def became_known(self) -> bool:
        """Adopt the current statistics if they make the cost of another query known. True if so."""
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
        """Changes when more may be known: with the statistics, or with the first call of a class."""
        trains = self._trains or {}
        return self._view.stats_version, sum(train.value is not None for train in trains.values())

    def moved(self, by: float) -> bool:
        """Has any selectivity changed by more than the share `by` of its old value?"""
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
        """The share of the fixed cost of a call that one tuple bears."""
        if self._trains is None:
            return 0.0
        unit = self._units[query]
        fixed, train = fixed_cost(unit, self._view), self._trains[unit.class_name].value
        if not fixed:
            return fixed
        return fixed / train if train else None


def operator_costs(view: View) -> dict[str, float]:
    """Operator -> its expected cost for one tuple on each input of its query: its cost times how often it is reached.

    An operator that several queries share counts once for each. If a statistic is not known, all operators cost the
    same.
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
    """The inputs by which tuples of streams enter a query."""
    plan = view.plan
    return [
        Edge(name, index)
        for name in query.operators
        for index, source in enumerate(plan.operators[name].inputs)
        if source.node in plan.streams
    ]


def _by_operator(query: Query, view: View) -> dict[str, float] | None:
    """Operator -> its expected cost for one tuple on each input of the query, as if the query shared no operators."""
    return costs_on_the_way(query.operators, dict.fromkeys(_inputs(query, view), 1.0), view)
