"""Ways to group operators into units, for the class-based policies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from headgate.plan.boundaries import slides_before_results
from headgate.plan.model import Plan
from headgate.policies.query_shares import sharing_groups
from headgate.scheduling.units import Group, most_important


def operators_by_query(plan: Plan) -> list[Group]:
    """One unit per operator, query by query, inputs first. A shared operator comes with the first query using it."""
    names = dict.fromkeys(name for query in plan.queries.values() for name in query.operators)
    return [Group(name, (name,)) for name in names]


def separate_queries(plan: Plan) -> list[Group]:
    """One unit per query. Queries that share operators are one unit."""
    return [_unit(plan, members) for members in _sharing(plan)]


def combined_queries(plan: Plan, most: int) -> list[Group]:
    """As `separate_queries`, but up to `most` queries of a class form one unit: as few units as possible, of like size.

    On Spark a unit is one job, so its queries share the fixed cost of a job. Queries are combined only if they have
    work at the same times and of about the same cost, or one would wait for another: queries whose results come at
    the same window boundaries, queries without state, and all others. Queries of the same boundaries form at least two
    units: their work comes at the same moment, and two slots can share it.
    """
    if most == 1:
        return separate_queries(plan)
    alike: dict[tuple[str, bool, tuple[int, ...]], list[Sequence[str]]] = {}
    for members in _sharing(plan):
        operators = _unit(plan, members).operators
        remembers = any(plan.operators[name].stateful for name in operators)
        slides = sorted({*(slides_before_results(plan, operators) or {}).values()})
        alike.setdefault((most_important(plan, members), remembers, tuple(slides)), []).append(members)
    return [
        _unit(plan, together)
        for (_, _, slides), groups in alike.items()
        for together in _packed(groups, most, at_least=2 if slides else 1)
    ]


def _sharing(plan: Plan) -> list[tuple[str, ...]]:
    return sharing_groups({name: set(query.operators) for name, query in plan.queries.items() if query.operators})


def _packed(groups: Sequence[Sequence[str]], most: int, at_least: int) -> Iterable[list[str]]:
    left = sum(map(len, groups))
    units = max(math.ceil(left / most), at_least)
    packed: list[str] = []
    for group in groups:
        if packed and len(packed) + len(group) > math.ceil(left / max(1, units)):
            yield packed
            left, units, packed = left - len(packed), units - 1, []
        packed.extend(group)
    yield packed


def _unit(plan: Plan, queries: Sequence[str]) -> Group:
    members = {name for query in queries for name in plan.queries[query].operators}
    return Group("+".join(queries), tuple(name for name in plan.operators if name in members))
