"""The queries of the PRB paper (sections 4 and 5) as applications for the simulator. A time unit is a second here."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headgate.application.checked import CheckedApplication
from headgate_lab.sections import checked, feeder_stream
from headgate_lab.studies.sweep import Point

FAN_OUT = 50  # streams of the flat queries, section 5.1
DEPTH = 6  # of the trees, root at 0: 64 leaves and 127 operators, section 5.3
RANKS = 100  # of the Zipf distribution: costs 1 to 100, selectivities 0.01 to 1
CLASS = "normal"


@dataclass(frozen=True)
class QueryNode:
    """An operator with its children; one without children reads a stream of its own."""

    cost: float
    selectivity: float = 1.0
    children: tuple[QueryNode, ...] = ()


def application(point: Point) -> CheckedApplication:
    """The application of a point. Costs are drawn once per seed and do not depend on the policy."""
    parameters = {"quantum": 1.0} if point["policy"] == "rr" else {}
    roots = roots_of(point)
    interarrival = sum(path_cost for root in roots for path_cost in path_costs(root)) / point["rho"]
    return _application(roots, interarrival, point, {"name": point["policy"], **parameters})


def roots_of(point: Point) -> list[QueryNode]:
    """The root operators of a point's queries."""
    return WORKLOADS[point["workload"]](point)


def cost_skew(point: Point) -> list[QueryNode]:
    """Section 5.1: leaf costs 1 to 100, skewed towards cheap. The merge above the leaves costs nothing and is left out,
    so each leaf is a root."""
    return [QueryNode(float(rank)) for rank in zipf_ranks(point["theta"], FAN_OUT, point["seed"])]


def selectivity_skew(point: Point) -> list[QueryNode]:
    """Section 5.2: cost 100 everywhere, selectivities 0.01 to 1, skewed towards low."""
    return [QueryNode(100.0, rank / RANKS) for rank in zipf_ranks(point["theta"], FAN_OUT, point["seed"])]


def tree(point: Point) -> list[QueryNode]:
    """Sections 5.3 to 5.6: a binary tree of cheap operators, except `count` of them with `cost` at `depth`, from the
    left."""
    expensive = {(point["depth"], at): point["cost"] for at in range(point["count"])}
    draw = random.Random(f"prb tree {point['seed']}")
    cheap = {(depth, at): draw.uniform(1.0, 10.0) for depth in range(DEPTH + 1) for at in range(2**depth)}
    costs = cheap | expensive

    def node(depth: int, at: int) -> QueryNode:
        children = (node(depth + 1, 2 * at), node(depth + 1, 2 * at + 1)) if depth < DEPTH else ()
        return QueryNode(costs[depth, at], children=children)

    return [node(0, 0)]


WORKLOADS = {"cost": cost_skew, "selectivity": selectivity_skew, "tree": tree}


def zipf_ranks(theta: float, count: int, seed: int) -> list[int]:
    """Ranks 1 to 100 with probability ~ 1 / rank^theta; theta 0 is uniform. Drawn by inversion from the same uniform
    numbers for every theta, so that runs with different skew are paired as well."""
    weights = [rank**-theta for rank in range(1, RANKS + 1)]
    total, draw = sum(weights), random.Random(f"prb costs {seed}")
    return [_rank_at(weights, draw.random() * total) for _ in range(count)]


def _rank_at(weights: Sequence[float], level: float) -> int:
    for rank, weight in enumerate(weights, start=1):
        level -= weight
        if level < 0:
            return rank
    return len(weights)


def path_costs(root: QueryNode, above: float = 0.0) -> list[float]:
    """D of each leaf (the denominator of equation 1): the expected cost of a tuple on its way to the root. `above` is D
    of the root's parent."""
    own = root.cost + root.selectivity * above
    return [cost for child in root.children for cost in path_costs(child, own)] or [own]


def _application(
    roots: list[QueryNode], interarrival: float, point: Point, policy: dict[str, Any]
) -> CheckedApplication:
    stream = feeder_stream("v INT", arrivals="poisson", rate=1.0 / interarrival, rows=point["tuples"])
    streams: dict[str, Any] = {}
    queries: dict[str, Any] = {}
    count = 0  # of operators

    def add(node: QueryNode, operators: list[dict[str, Any]]) -> str:
        """Add an operator after those it reads; its id."""
        nonlocal count
        inputs = [add(child, operators) for child in node.children]
        if not inputs:
            inputs = [f"s{len(streams)}"]
            streams[inputs[0]] = stream
        operators.append(_operator(f"o{count}", inputs, node))
        count += 1
        return str(operators[-1]["id"])

    for at, root in enumerate(roots):
        operators: list[dict[str, Any]] = []
        add(root, operators)
        queries[f"q{at}"] = {"operators": operators}
    classes = {CLASS: {"priority": 1}}
    sections = {"streams": streams, "classes": classes, "queries": queries, "policy": policy}
    return checked({**sections, "slots": 1, "seed": point["seed"]})


def _operator(name: str, inputs: list[str], node: QueryNode) -> dict[str, Any]:
    common = {"id": name, "inputs": inputs, "fixed_cost": 0.0, "cost": node.cost, "selectivity": node.selectivity}
    if len(inputs) > 1:
        return {"kind": "union", **common}
    if node.selectivity < 1.0:
        return {"kind": "select", "where": "true", **common}
    return {"kind": "project", "columns": {"v": "v"}, **common}
