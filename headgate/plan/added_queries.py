"""Plans of queries that join a run: apart from what runs already, then merged with it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from headgate.plan.model import Plan
from headgate.plan.operators.base import Port


def plan_of_added(plan: Plan, running: Collection[str]) -> Plan:
    """The plan of the queries that are not among the running ones, with operators of their own.

    A query that reads a running one gets copies of its operators, without their state: what the originals have in their
    queues and windows depends on the schedule so far, and an answer must not.
    """
    joining = plan.without(running)
    shared = {name for query in running for name in plan.queries[query].operators} & joining.operators.keys()
    if not shared:
        return joining
    prefix = next(iter(joining.queries))

    def moved(port: Port) -> Port:
        return port._replace(node=f"{prefix}/{port.node}") if port.node in shared else port

    operators = [
        replace(op, id=moved(Port(name)).node, inputs=tuple(map(moved, op.inputs)))
        for name, op in joining.operators.items()
    ]
    queries = {
        name: replace(
            query, root=moved(query.root), operators=tuple(moved(Port(member)).node for member in query.operators)
        )
        for name, query in joining.queries.items()
    }
    return replace(
        joining,
        operators={operator.id: operator for operator in operators},
        queries=queries,
        schemas={moved(port): schema for port, schema in joining.schemas.items()},
        flows={moved(port): flow for port, flow in joining.flows.items()},
    )


def merge_plans(running: Plan, joining: Plan) -> Plan:
    """Both in one. What runs keeps its streams, its classes and their priorities as they are now.

    ValueError: a query or an operator is in both.
    """
    for what, both in (
        ("query", running.queries.keys() & joining.queries.keys()),
        ("operator", running.operators.keys() & joining.operators.keys()),
    ):
        if both:
            raise ValueError(f"{what} {', '.join(sorted(both))} runs already")
    return Plan(
        streams={**joining.streams, **running.streams},
        tables={**joining.tables, **running.tables},
        classes={**joining.classes, **running.classes},
        operators={**running.operators, **joining.operators},
        queries={**running.queries, **joining.queries},
        schemas={**joining.schemas, **running.schemas},
        flows={**joining.flows, **running.flows},
        grows={**running.grows, **joining.grows},
    )
