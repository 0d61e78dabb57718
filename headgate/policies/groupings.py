"""Units of class-based policies."""

from __future__ import annotations

from headgate.flow.units import Group
from headgate.plan.model import Plan
from headgate.policies.shares import sharing_groups


def operators_by_query(plan: Plan) -> list[Group]:
    """A unit for each operator, query by query and inputs first; one that queries share stands with the first."""
    names = dict.fromkeys(name for query in plan.queries.values() for name in query.operators)
    return [Group(name, (name,)) for name in names]


def queries_apart(plan: Plan) -> list[Group]:
    """A unit for each query; those that share operators are one."""
    queries = {name: frozenset(query.operators) for name, query in plan.queries.items() if query.operators}
    places = {name: place for place, name in enumerate(plan.operators)}
    found = []
    for group in sharing_groups(queries):
        members = frozenset[str]().union(*(queries[name] for name in group))
        found.append(Group("+".join(group), tuple(sorted(members, key=lambda name: places[name]))))
    return found
