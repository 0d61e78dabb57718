"""The plans of the study, drawn at random: some to develop the learned selector with, and others that it never saw.

A plan has one to three streams and one to four queries. A query is a row of two to six selections and projections on
one stream, or a join of two streams with selections in front of it and one behind it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

DEVELOPMENT = tuple(f"development {number}" for number in range(6))
HELD_OUT = tuple(f"held-out {number}" for number in range(6))
ARRIVALS = ("surges", "on-off", "self-similar", "steps")  # the plans of a group take turns
RATE = 100.0  # tuples per second and stream, on average
COSTS = (1.0, 20.0)  # the range of relative costs, log-uniform
LOADS = (0.75, 0.95)  # seconds of work per second, on average
PASSED = (0.1, 1.0)  # the range of selectivities
BYTES = (16, 400)  # of a tuple, log-uniform
PRIORITIES = ("must", "best-effort", "dont-care")
PRIORITY_SHARES = (0.5, 0.35, 0.15)
LEANINGS = ({"latency": 3, "memory": 1, "throughput": 1}, {"latency": 1, "memory": 3, "throughput": 1})  # weights
STRICTER = 0.3  # the share of promises that become strict in the middle of the run


@dataclass(frozen=True)
class Promise:
    """What a query is promised, but for the value."""

    measure: str
    priority: str
    lax_first: bool  # more is allowed in the first half of the run


@dataclass(frozen=True)
class DrawnPlan:
    """A plan without its arrivals and the values of its promises."""

    arrivals: str
    load: float
    rates: Mapping[str, float]  # by stream
    stream_bytes: Mapping[str, int]
    queries: Mapping[str, tuple[dict[str, Any], ...]]  # operator sections
    promises: Mapping[str, tuple[Promise, ...]]


@cache
def drawn(name: str) -> DrawnPlan:
    """The plan with that name, such as one of HELD_OUT; always the same."""
    rng = random.Random(f"selectors {name}")
    number = int(name.rpartition(" ")[2])
    streams = [f"s{at}" for at in range(rng.randint(1, 3))]
    weights = {stream: float(rng.randint(1, 3)) for stream in streams}
    rates = {stream: weight * RATE * len(streams) / sum(weights.values()) for stream, weight in weights.items()}
    queries = [f"q{at}" for at in range(rng.randint(1, 4))]
    operators = {query: _operators(rng, streams) for query in queries}
    for stream in streams:  # every stream has a reader
        if not any(_reads(stream, sections) for sections in operators.values()):
            operators[f"q{len(operators)}"] = _row(rng, stream)
    load, leaning = rng.uniform(*LOADS), rng.choice(LEANINGS)
    scale = load / sum(_work(sections, rates) for sections in operators.values())
    return DrawnPlan(
        arrivals=ARRIVALS[number % len(ARRIVALS)],
        load=load,
        rates=rates,
        stream_bytes={stream: _bytes(rng) for stream in streams},
        queries={query: _scaled(sections, scale) for query, sections in operators.items()},
        promises={query: _promises(rng, leaning) for query in operators},
    )


def _operators(rng: random.Random, streams: list[str]) -> tuple[dict[str, Any], ...]:
    if len(streams) > 1 and rng.random() < 0.4:
        return _join(rng, *rng.sample(streams, 2))
    return _row(rng, rng.choice(streams))


def _row(rng: random.Random, stream: str) -> tuple[dict[str, Any], ...]:
    """Selections and projections, one behind the other."""
    sections, source = [], stream
    for at in range(rng.randint(2, 6)):
        name = f"o{at}"
        sections.append(_project(rng, name, source, stream) if rng.random() < 0.3 else _select(rng, name, source))
        source = name
    return tuple(sections)


def _join(rng: random.Random, first: str, second: str) -> tuple[dict[str, Any], ...]:
    join = {"id": "pairs", "kind": "join", "inputs": ["left", "right"], "cost": _cost(rng), "fixed_cost": 0.0}
    join |= {"selectivity": rng.uniform(0.2, 1.5), "bytes": _bytes(rng)}
    return _select(rng, "left", first), _select(rng, "right", second), join, _select(rng, "last", "pairs")


def _select(rng: random.Random, name: str, source: str) -> dict[str, Any]:
    passed = rng.uniform(*PASSED)
    return {"id": name, "kind": "select", "input": source, "where": "true", "selectivity": passed} | _declared(rng)


def _project(rng: random.Random, name: str, source: str, stream: str) -> dict[str, Any]:
    columns = [f"v_{stream}"]
    return {"id": name, "kind": "project", "input": source, "columns": columns, "bytes": _bytes(rng)} | _declared(rng)


def _declared(rng: random.Random) -> dict[str, Any]:
    return {"cost": _cost(rng), "fixed_cost": 0.0}


def _cost(rng: random.Random) -> float:
    low, high = COSTS
    return float(low * (high / low) ** rng.random())


def _bytes(rng: random.Random) -> int:
    low, high = BYTES
    return round(low * (high / low) ** rng.random())


def _promises(rng: random.Random, leaning: Mapping[str, int]) -> tuple[Promise, ...]:
    """One to three measures."""
    count, measures = rng.choice((1, 1, 2, 3)), list[str]()
    while len(measures) < count:
        left = {name: weight for name, weight in leaning.items() if name not in measures}
        measures += rng.choices(list(left), list(left.values()))
    return tuple(
        Promise(measure, rng.choices(PRIORITIES, PRIORITY_SHARES)[0], rng.random() < STRICTER) for measure in measures
    )


def _work(sections: tuple[dict[str, Any], ...], rates: Mapping[str, float]) -> float:
    """Seconds of work per second, with relative costs."""
    flows, work = dict(rates), 0.0
    for section in sections:
        coming = sum(flows[name] for name in section.get("inputs") or [section["input"]])
        flows[section["id"]] = coming * section.get("selectivity", 1.0)
        work += coming * section["cost"]
    return work


def _scaled(sections: tuple[dict[str, Any], ...], scale: float) -> tuple[dict[str, Any], ...]:
    return tuple({**section, "cost": section["cost"] * scale} for section in sections)


def _reads(stream: str, sections: tuple[dict[str, Any], ...]) -> bool:
    return any(section.get("input") == stream for section in sections)
