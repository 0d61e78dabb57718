"""The application of a point: random trees, self-similar streams, and rates for the wanted load."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.seeds import derived_seed
from headgate_lab.sections import checked, feeder_stream
from headgate_lab.studies.paths.plans import (
    STREAMS,
    DrawnOperator,
    Numbers,
    draw_trees,
    leaf_work_by_stream,
    leaves_by_stream,
    work_by_stream,
)
from headgate_lab.studies.sweep import Point

TUPLE_BYTES = 100.0  # of every tuple: the paper's claims on memory assume equal sizes
CLASS = "normal"
HIGHEST = 0.95  # the highest load
SURGE = (0.5, 0.6)  # the part of a phase with higher rates: 400 of 4,000 s, as from 12,400 to 12,800 s in the report
MOST_IN_SURGE = 0.5  # of the work of a phase: it needs something left for the rest of the time
NUMBERS = (
    "lowest_cost_s",
    "highest_cost_s",
    "least_times",
    "most_times",
    "leaves_pass",
    "growing_joins",
    "leaves_first",
)
EVEN, UNEVEN = (1.0,) * STREAMS, tuple(float(number) for number in range(1, STREAMS + 1))


def application(point: Point) -> CheckedApplication:
    """The application of a point. Plans depend on the seed and on `Numbers`, arrivals on the seed, the load and the
    burst settings; neither depends on the policy."""
    trees = trees_of(point)
    rates = stream_rates(point)
    surge = surge_factor(point, trees, rates)
    streams = {f"s{at}": _stream(at, rate, surge, point) for at, rate in enumerate(rates)}
    queries: dict[str, Any] = {}
    count = 0
    for at, tree in enumerate(trees):
        operators = _operators(tree, count)
        queries[f"q{at}"] = {"operators": operators}
        count += len(operators)
    policy = {"name": point["policy"], **_parameters(point, trees, rates)}
    sections = {"streams": streams, "classes": {CLASS: {"priority": 1}}, "queries": queries, "policy": policy}
    seed = derived_seed(point["seed"], "paths")  # of 64 bits, which is one more than a file may give
    return replace(checked({**sections, "slots": 1}), seed=seed)


def trees_of(point: Point) -> list[DrawnOperator]:
    """The plans of a seed. All costs are scaled by one factor so that the highest load is exactly that: a run with more
    tuples has cheaper ones, and the same bursts."""
    numbers = Numbers(**{name: point[name] for name in NUMBERS})
    trees = draw_trees(point["seed"], numbers)
    rates = stream_rates({**point, "load": HIGHEST})
    busy = sum(rate * work for rate, work in zip(rates, work_by_stream(trees), strict=True))
    return [tree.scaled(HIGHEST / busy) for tree in trees]


def stream_rates(point: Point) -> list[float]:
    """Tuples per second of each stream, in the ratio 1 : 2 : .. : 5 or even. `tuples` is the mean number per stream at
    the highest load."""
    weights = UNEVEN if point["uneven"] else EVEN
    mean = point["tuples"] / point["seconds"] * point["load"] / HIGHEST
    return [mean * STREAMS * weight / sum(weights) for weight in weights]


def surge_factor(point: Point, trees: list[DrawnOperator], rates: list[float]) -> float:
    """The rate in the surge over that in the rest of the phase; 1 without a surge. At the highest load the leaves alone
    then take `surge` of the processor: under Chain "all the computational resource is allocated to these operators at
    the bottom of the query plans during the highly bursty input period" (section 3.2)."""
    if not point["surge"]:
        return 1.0
    length = SURGE[1] - SURGE[0]
    work = sum(rate * each for rate, each in zip(rates, work_by_stream(trees), strict=True))
    at_leaves = sum(rate * each for rate, each in zip(rates, leaf_work_by_stream(trees), strict=True))
    load = min(point["surge"] * work / at_leaves, MOST_IN_SURGE * HIGHEST / length)  # in the surge
    return load * (1.0 - length) / (HIGHEST - length * load)


def _stream(at: int, rate: float, surge: float, point: Point) -> dict[str, Any]:
    """A self-similar stream. `rows` stretches the arrivals to the wanted mean rate: with such heavy tails the mean, and
    with it the load, would be off by 6 % and more after 4,000 s."""
    source: dict[str, Any] = {
        "arrivals": {
            "kind": "self-similar",
            "flows": point["flows"],
            "on_scale": point["burst_s"],
            "off_scale": point["burst_s"],
        },
        "rate": rate,
        "rows": max(1, round(rate * point["seconds"])),
        "seed": derived_seed(point["seed"], "paths stream", str(at), str(point["load"])),
        "bytes": TUPLE_BYTES,
    }
    if surge != 1.0:
        begin, end = (share * point["seconds"] for share in SURGE)
        source["rate"] = rate / (1.0 + (SURGE[1] - SURGE[0]) * (surge - 1.0))  # keeps the mean
        source["changes"] = [[begin, surge], [end, 1.0]]
    return feeder_stream("v INT", **source)


def _operators(tree: DrawnOperator, first: int) -> list[dict[str, Any]]:
    """The operators of a tree, inputs first, numbered from `first` on."""
    found: list[dict[str, Any]] = []

    def add(node: DrawnOperator) -> str:
        inputs = [f"s{source}" if isinstance(source, int) else add(source) for source in node.inputs]
        kind = {"kind": "union"} if len(inputs) > 1 else {"kind": "select", "where": "true"}
        declared = {"fixed_cost": 0.0, "cost": node.cost_s, "selectivity": node.selectivity, "bytes": TUPLE_BYTES}
        name = f"o{first + len(found)}"
        found.append({"id": name, "inputs": inputs, **kind, **declared})
        return name

    add(tree)
    return found


def _parameters(point: Point, trees: list[DrawnOperator], rates: list[float]) -> dict[str, Any]:
    """Threshold's memory, given in seconds of input so that it means the same for every plan. A tuple waits once for
    each leaf that reads its stream."""
    if point["policy"] != "threshold":
        return {}
    readers = leaves_by_stream(trees)
    copies = sum(rate * count for rate, count in zip(rates, readers, strict=True))
    return {"memory": point["memory_s"] * copies * TUPLE_BYTES}
