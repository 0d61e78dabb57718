"""Builds the plan: puts the operators of all queries into one checked DAG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Plan, Query, QueryClass, Stream, Table
from headgate.plan.operators import Aggregate, Changes, Distinct, Except, Intersect, RStream, Select
from headgate.plan.operators.base import Operator, Port
from headgate.plan.rstream_triggers import with_triggers
from headgate.sql.schema import EXTRA, Column, Schema


def build_plan(
    streams: Mapping[str, Stream],
    tables: Mapping[str, Table],
    classes: Mapping[str, QueryClass],
    operators: Iterable[Operator],
    queries: Iterable[Query],
    places: Mapping[str, str] | None = None,
    grows: Mapping[str, tuple[str, ...]] | None = None,
) -> Plan:
    """Sort the operators, derive every schema and flow, and find the operators of each query.

    If the last operator of a query produces a relation that can lose rows, an operator `changes` is added behind it,
    which tells the sink, instant by instant, what to write.

    Called by the loader and by tests. `queries` come without their operators; `places` says where in the application
    file each operator is (default: its id). Raises ApplicationError for cycles, type clashes and unused outputs.
    """
    at = dict(places or {})
    queries = list(queries)
    known = _let_aggregates_give_changes({operator.id: operator for operator in operators}, queries)
    ordered: dict[str, Operator] = {}
    schemas: dict[Port, Schema] = {Port(name): stream.schema for name, stream in streams.items()}
    flows: dict[Port, Flow] = {Port(name): stream.flow for name, stream in streams.items()}
    for port in _variants(streams, known.values()):
        schemas[port] = Schema((*streams[port.node].schema, Column(EXTRA, "BIGINT")))
        flows[port] = streams[port.node].flow

    def describe(operator: Operator) -> None:
        place = at.get(operator.id, operator.id)
        operator = ordered[operator.id] = operator.bound([schemas[port] for port in operator.inputs])
        schema = operator.output([schemas[port] for port in operator.inputs], place)
        flow = operator.flow([flows[port] for port in operator.inputs], place)
        schemas.update(dict.fromkeys(operator.ports, schema))
        flows.update(dict.fromkeys(operator.ports, flow))

    for name in _topological(known, at):
        operator = known[name]
        if isinstance(operator, RStream) and len(operator.inputs) == 1 and not operator.slides:
            operator, marks = with_triggers(operator, ordered, flows)
            for mark in marks:
                describe(mark)
        describe(operator)
    complete = {}
    for query in queries:
        root = query.root
        if flows[root].relation and not (flows[root].monotone or _gives_changes(root.node, ordered)):
            changes = Changes(id=_free(f"{query.name}/changes", ordered), inputs=(root,))
            describe(changes)
            root = Port(changes.id)
        needed = _upstream(root, ordered)
        members = tuple(name for name in ordered if name in needed)
        complete[query.name] = replace(query, root=root, operators=members)
    plan = Plan(streams, tables, classes, ordered, complete, schemas, flows, dict(grows or {}))
    _refuse_dead_ends(plan, at)
    return plan


def _variants(streams: Mapping[str, Stream], operators: Iterable[Operator]) -> set[Port]:
    """The variants of streams that operators read; see `weighing`."""
    return {port for one in operators for port in one.inputs if port.node in streams and port.branch}


def _free(name: str, taken: Mapping[str, Operator]) -> str:
    """The name, with a suffix if an operator has it already."""
    return name if name not in taken else _free(f"{name}-2", taken)


def _let_aggregates_give_changes(operators: dict[str, Operator], queries: Sequence[Query]) -> dict[str, Operator]:
    """Let aggregates that only a sink reads produce the changes themselves, where that costs little."""
    readers = Counter(port.node for operator in operators.values() for port in operator.inputs)
    readers.update(query.root.node for query in queries)
    found = dict(operators)
    for query in queries:
        name = query.root.node
        while readers[name] == 1 and isinstance(selection := operators.get(name), Select):
            name = selection.inputs[0].node
        aggregate = operators.get(name)
        if readers[name] == 1 and isinstance(aggregate, Aggregate) and aggregate.emits == "relation":
            found[name] = replace(aggregate, emits="changes") if aggregate.sliding else aggregate
    return found


def _gives_changes(name: str, operators: Mapping[str, Operator]) -> bool:
    """Are the operator's rows net changes of complete instants already?"""
    operator = operators.get(name)
    while isinstance(operator, Select):
        operator = operators.get(operator.inputs[0].node)
    net = isinstance(operator, Aggregate) and operator.emits == "changes"
    return net or isinstance(operator, (Changes, Distinct, Except, Intersect))


def _topological(operators: Mapping[str, Operator], at: Mapping[str, str]) -> list[str]:
    """Operator ids, inputs first; ties keep the order of the file, so that the order is the same in every run."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for operator in operators.values():
        sorter.add(operator.id, *(port.node for port in operator.inputs if port.node in operators))
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = [name.split("/")[-1] for name in reversed(error.args[1])]
        place = at.get(error.args[1][0], error.args[1][0])
        raise ApplicationError(
            place, f"the operators feed each other in a cycle: {' -> '.join(cycle)}", "break the cycle"
        ) from error
    position = {name: i for i, name in enumerate(operators)}
    order: list[str] = []
    while sorter.is_active():
        layer = sorted(sorter.get_ready(), key=position.__getitem__)
        order += layer
        sorter.done(*layer)
    return order


def _upstream(root: Port, operators: Mapping[str, Operator]) -> set[str]:
    found: set[str] = set()
    todo = [root.node]
    while todo:
        name = todo.pop()
        if name in operators and name not in found:
            found.add(name)
            todo += [port.node for port in operators[name].inputs]
    return found


def _refuse_dead_ends(plan: Plan, at: Mapping[str, str]) -> None:
    for operator in plan.operators.values():
        for port in operator.ports:
            if not plan.consumers[port] and port not in plan.sinks:
                raise ApplicationError(
                    at.get(operator.id, operator.id),
                    f"the output of '{str(port).split('/')[-1]}' goes nowhere",
                    "read it in another operator, or take it out; a query has one last operator",
                )
