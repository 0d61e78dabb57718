"""Queries added to a run: cuts their plan off from that of the running queries, then merges the two."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from headgate.plan.model import Plan
from headgate.plan.operators.base import Port


def plan_of_added(plan: Plan, running: Collection[str]) -> Plan:
    """The plan of the queries that are not running yet, with operators of their own.

    If a query reads a running one, it gets copies of its operators, without their state: what the originals have in
    their queues and windows depends on the schedule so far, and an answer must not.
    """
    added = plan.without(running)
    shared = {name for query in running for name in plan.queries[query].operators} & added.operators.keys()
    if not shared:
        return added
    prefix = next(iter(added.queries))

    def moved(port: Port) -> Port:
        return port._replace(node=f"{prefix}/{port.node}") if port.node in shared else port

    operators = [
        replace(op, id=moved(Port(name)).node, inputs=tuple(map(moved, op.inputs)))
        for name, op in added.operators.items()
    ]
    queries = {
        name: replace(
            query, root=moved(query.root), operators=tuple(moved(Port(member)).node for member in query.operators)
        )
        for name, query in added.queries.items()
    }
    return replace(
        added,
        operators={operator.id: operator for operator in operators},
        queries=queries,
        schemas={moved(port): schema for port, schema in added.schemas.items()},
        flows={moved(port): flow for port, flow in added.flows.items()},
    )


def merge_plans(running: Plan, added: Plan) -> Plan:
    """Both plans in one. Running queries keep their streams, their classes and the current priorities.

    ValueError: a query or an operator is in both.
    """
    for what, both in (
        ("query", running.queries.keys() & added.queries.keys()),
        ("operator", running.operators.keys() & added.operators.keys()),
    ):
        if both:
            raise ValueError(f"{what} {', '.join(sorted(both))} runs already")
    ports = [port for port in running.schemas if port.node in running.operators or port.node in running.streams]
    return Plan(
        streams={**added.streams, **running.streams},
        tables={**added.tables, **running.tables},
        classes={**added.classes, **running.classes},
        operators={**running.operators, **added.operators},
        queries={**running.queries, **added.queries},
        schemas={**added.schemas, **{port: running.schemas[port] for port in ports}},
        flows={**added.flows, **{port: running.flows[port] for port in ports}},
        grows={**running.grows, **added.grows},
    )
