"""Statistics that the author of a CQL query declares for its operators, under `stats`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headgate.application.file import QuerySection
from headgate.application.operator_sections import StatsSection
from headgate.errors import ApplicationError, known_names
from headgate.plan.model import Plan
from headgate.plan.operators import Except, Intersect, StreamJoin, Union
from headgate.plan.operators.base import Declared, DeclaredSide, Operator

_SIDED = (Except, Intersect, StreamJoin, Union)  # count as one operator per input
_OF_ALL = ("cost", "fixed_cost", "selectivity", "bytes")


class QueryStats:
    """Gives operators their declared statistics. The loader makes one for each load and calls `applied` for every
    query, then `completed` with the whole plan."""

    def __init__(self, queries: Mapping[str, QuerySection]) -> None:
        self._stats = {name: query.stats for name, query in queries.items()}
        self._own: dict[str, set[str]] = {}  # query -> its operators, without "query/"

    def applied(self, query: str, operators: Iterable[Operator]) -> list[Operator]:
        """The operators of a query with their declared statistics. ApplicationError: a key does not fit."""
        found = list(operators)
        self._own[query] = {_short(operator.id) for operator in found}
        return [self._one(query, operator) for operator in found]

    def completed(self, plan: Plan) -> Plan:
        """The plan, with the declared statistics of operators that its builder added, such as `changes`.

        Raises ApplicationError for a name that no operator of the query has.
        """
        operators = dict(plan.operators)
        for query, stats in self._stats.items():
            own = self._own[query] | {_short(name) for name in operators if name.startswith(f"{query}/")}
            for name in stats:
                if name not in own:
                    place, known = f"queries.{query}.stats.{name}", known_names("operators", own, name)
                    raise ApplicationError(place, f"the query has no operator '{name}'", known)
                if name not in self._own[query]:
                    operators[f"{query}/{name}"] = self._one(query, operators[f"{query}/{name}"])
        return replace(plan, operators=operators)

    def _one(self, query: str, operator: Operator) -> Operator:
        name = _short(operator.id)
        stats = self._stats[query].get(name)
        if stats is None:
            return operator
        return replace(operator, declared=_declared(stats, operator, f"queries.{query}.stats.{name}"))


def _short(name: str) -> str:
    return name.partition("/")[2]


def _declared(stats: StatsSection, operator: Operator, place: str) -> Declared:
    sides: tuple[DeclaredSide, ...] = ()
    for key in ("costs", "selectivities"):
        given = getattr(stats, key)
        if given is None:
            continue
        if not isinstance(operator, _SIDED):
            known = known_names("keys", _OF_ALL)
            raise ApplicationError(f"{place}.{key}", f"an operator with one input has no '{key}'", known)
        if len(given) != len(operator.inputs):
            problem = f"there are {len(given)} {key} for {len(operator.inputs)} inputs"
            raise ApplicationError(f"{place}.{key}", problem, "give one for each input, in their order")
    if stats.costs or stats.selectivities:
        nothing: list[float | None] = [None] * len(operator.inputs)
        sides = tuple(map(DeclaredSide, stats.costs or nothing, stats.selectivities or nothing))
    if stats.match is not None and not isinstance(operator, StreamJoin):
        problem = "'match' is for a join of two streams or relations"
        raise ApplicationError(f"{place}.match", problem, "give a selectivity instead")
    return Declared(
        fixed_s=stats.fixed_cost,
        cost_s=stats.cost,
        selectivity=stats.selectivity,
        tuple_bytes=stats.bytes,
        sides=sides,
        match=stats.match,
    )
