"""The query of the thesis's experiments, with its promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.application.checked import CheckedApplication
from headgate_lab.sections import checked, feeder_stream
from headgate_lab.studies.sweep import Point

RATES = {"6.1": (100, 90, 110), "6.2": (80, 95, 50), "6.3a": (100, 75, 50), "6.3b": (76, 100, 69)}  # tuples a second
WINDOWS = {"6.1": 500, "6.2": 500, "6.3a": 1000, "6.3b": 500}
MATCH = 1 / 500  # of two tuples in their windows
LOAD = 0.8
SURGES = (0.3, 0.7)  # where rates are doubled, as shares of the run,
SURGE = 0.1  # and for how long
WEIGHTS = {"first": 1.0, "second": 1.0, "third": 1.0, "pairs": 3.0, "few": 1.0, "triples": 3.0, "last": 1.0, "out": 1.0}
PASSED = {"first": 0.6, "second": 0.5, "third": 0.7, "few": 0.4, "last": 0.5}
QUERY = "q"
CHECK_S = 3.0
STRATEGIES = ("pcs", "segment", "simplified-segment")


def application(point: Point, promises: dict[str, Any] | None = None) -> CheckedApplication:
    """The application of a point. With promises it starts with segment and is optimized; else it has a fixed policy."""
    rates, seconds = RATES[point["experiment"]], run_seconds(point)
    costs = operator_costs(point["experiment"])
    changes = surges(seconds) if point["surges"] else []
    names = ("s1", "s2", "s3")
    streams = {
        name: feeder_stream(f"v{name} INT", arrivals="poisson", rate=rate, rows=_rows(rate, seconds), changes=changes)
        for name, rate in zip(names, rates, strict=True)
    }
    query: dict[str, Any] = {"operators": _operators(costs, WINDOWS[point["experiment"]])}
    if promises is not None:
        query |= {"qos": promises, "policy": "segment"}
        if point["tolerance"]:
            query["tolerance"] = point["tolerance"]
    sections = {"streams": streams, "queries": {QUERY: query}, "slots": 1, "seed": point["seed"]}
    sections["policy"] = "segment" if promises is not None else point["policy"]
    sections["optimizer"] = {"selection": "table", "shortest": CHECK_S, "longest": CHECK_S, "linger": False}
    return checked(sections)


def run_seconds(point: Point) -> float:
    """How long the input of a point lasts at the mean rate of the first experiment."""
    return float(point["tuples"]) / RATES["6.1"][0]


def surges(seconds: float) -> list[list[float]]:
    """The changes of all rates: doubled for a while, twice."""
    found = []
    for share in SURGES:
        found += [[share * seconds, 2.0], [(share + SURGE) * seconds, 1.0]]
    return found


def operator_costs(experiment: str) -> dict[str, float]:
    """Seconds per tuple of each operator, such that the mean rates are a load of LOAD."""
    flows = flows_of(experiment)
    work = sum(WEIGHTS[name] * flows[name] for name in WEIGHTS)
    return {name: weight * LOAD / work for name, weight in WEIGHTS.items()}


def flows_of(experiment: str) -> dict[str, float]:
    """Tuples a second that enter each operator. A tuple meets WINDOW tuples of the other side in a join."""
    first, second, third = RATES[experiment]
    matches = MATCH * WINDOWS[experiment]
    flows = {"first": float(first), "second": float(second), "third": float(third)}
    flows["pairs"] = first * PASSED["first"] + second * PASSED["second"]
    flows["few"] = flows["pairs"] * matches
    flows["triples"] = flows["few"] * PASSED["few"] + third * PASSED["third"]
    flows["last"] = flows["triples"] * matches
    flows["out"] = flows["last"] * PASSED["last"]
    return flows


def _rows(rate: float, seconds: float) -> int:
    return max(1, round(rate * seconds * (1 + len(SURGES) * SURGE)))


def _operators(costs: dict[str, float], window: int) -> list[dict[str, Any]]:
    return [
        _select("first", "s1", costs),
        _select("second", "s2", costs),
        _select("third", "s3", costs),
        _join("pairs", ("first", "second"), costs, window),
        _select("few", "pairs", costs),
        _join("triples", ("few", "third"), costs, window),
        _select("last", "triples", costs),
        {"id": "out", "kind": "project", "input": "last", "columns": {"v": "vs1"}, **_declared("out", costs)},
    ]


def _select(name: str, source: str, costs: dict[str, float]) -> dict[str, Any]:
    declared = _declared(name, costs) | {"selectivity": PASSED[name]}
    return {"id": name, "kind": "select", "input": source, "where": "true", **declared}


def _join(name: str, sources: Sequence[str], costs: dict[str, float], window: int) -> dict[str, Any]:
    declared = _declared(name, costs) | {"selectivity": MATCH * window}
    return {"id": name, "kind": "join", "inputs": list(sources), **declared}


def _declared(name: str, costs: dict[str, float]) -> dict[str, Any]:
    return {"cost": costs[name], "fixed_cost": 0.0}
