"""What tuples cost on their way through a query, from the statistics of now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from headgate.control.learning import Ratio
from headgate.plan.model import Edge
from headgate.plan.paths import Path, find_paths
from headgate.policies.base import View
from headgate.policies.costs import fixed_cost


class QueryCosts:
    """Expected costs of queries, and the selectivities that they were worked out with.

    The cost of a query is the sum over its inputs of what one tuple costs from there to the root, each query as if it
    shared nothing (Al Moakar, section 6.1). One that is not known yet counts like the mean of those that are.

    With `trains`, the tuples a call of each class, a tuple also bears its part of what a call costs beside its tuples.
    The train is the class's and not the query's own: a query that is served often has short trains, would seem dear,
    and be served even more often.
    """

    def __init__(self, view: View, trains: Mapping[str, Ratio] | None = None) -> None:
        self._view = view
        self._trains = trains
        self._seen = self._sources()
        self._units = {query: unit for unit in view.units for query in unit.queries}
        self._paths = _paths_by_query(view)
        self.adopt()

    def adopt(self) -> None:
        """Go by the statistics of now."""
        self._take({query: self._cost(query, paths) for query, paths in self._paths.items()})

    def became_known(self) -> bool:
        """Adopt the statistics of now if the cost of a query has become known by them."""
        if not self._unknown or self._seen == self._sources():
            return False
        self._seen = self._sources()
        costs = {query: self._cost(query, paths) for query, paths in self._paths.items()}
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

    def _cost(self, query: str, paths: Sequence[Path]) -> float | None:
        fixed, visits = self._fixed(query) if paths else 0.0, _visits(paths, self._view)
        if fixed is None or visits is None:
            return None
        inputs = {path.edges[:1] for path in paths}
        return fixed * len(inputs) + sum(seconds for _, seconds in visits)

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
    for paths in _paths_by_query(view).values():
        visits = _visits(paths, view)
        if visits is None:
            return dict.fromkeys(found, 1.0)
        for operator, seconds in visits:
            found[operator] += seconds
    return found


def _paths_by_query(view: View) -> dict[str, list[Path]]:
    paths: dict[str, list[Path]] = {name: [] for name in view.plan.queries}
    for path in find_paths(view.plan):
        paths[path.query].append(path)
    return paths


def _visits(paths: Sequence[Path], view: View) -> Collection[tuple[str, float]] | None:
    """The operators that one tuple on each input of a query comes to, with what it is expected to cost there; the way
    that paths have in common before they part counts once. None when a statistic is not known."""
    found: dict[tuple[Sequence[Edge], Sequence[str]], tuple[str, float]] = {}  # by the way up to the operator
    for path in paths:
        reach = 1.0
        for place, (edge, branch) in enumerate(zip(path.edges, path.branches, strict=True)):
            stats = view.stats(edge.operator)
            cost, passed = stats.side(edge.input).cost_s, stats.passing(edge.input, branch)
            if cost is None or passed is None:
                return None
            found[path.edges[: place + 1], path.branches[:place]] = (edge.operator, reach * cost)
            reach *= passed
    return found.values()
