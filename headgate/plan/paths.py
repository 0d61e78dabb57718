"""Operator paths: the routes by which tuples get from a stream to a sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port


@dataclass(frozen=True)
class Path:
    """A leaf-to-root sequence of operators of one query.

    `edges[i]` is the input through which the path enters `operators[i]`; `branches[i]` is the output through which it
    leaves.
    """

    id: str  # "query#1", numbered within the query
    query: str
    stream: str
    edges: tuple[Edge, ...]
    branches: tuple[str, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The ids of its operators, from the stream to the sink."""
        return tuple(edge.operator for edge in self.edges)


def find_paths(plan: Plan) -> tuple[Path, ...]:
    """Every path of every query, in plan order; a shared operator is on several of them."""
    found: list[Path] = []
    places = {name: place for place, name in enumerate((*plan.streams, *plan.operators))}
    for query in plan.queries.values():
        routes = sorted(_routes_to(plan, query.root), key=lambda route: _rank(places, route[0], route[1]))
        for number, (stream, edges, branches) in enumerate(routes, start=1):
            found.append(Path(f"{query.name}#{number}", query.name, stream, edges, branches))
    return tuple(found)


_Route = tuple[str, tuple[Edge, ...], tuple[str, ...]]


def _routes_to(plan: Plan, port: Port) -> list[_Route]:
    """All routes from a stream to a port."""
    if port.node in plan.streams:
        return [(port.node, (), ())]
    operator = plan.operators[port.node]
    return [
        (stream, (*edges, Edge(operator.id, index)), (*branches, port.branch))
        for index, source in enumerate(operator.inputs)
        for stream, edges, branches in _routes_to(plan, source)
    ]


def _rank(places: Mapping[str, int], stream: str, edges: tuple[Edge, ...]) -> tuple[tuple[int, int], ...]:
    return ((places[stream], 0), *((places[edge.operator], edge.input) for edge in edges))
