"""The application of `headgate bench policies`, and what its operators cost on this machine.

Six queries over two streams, each a path of 3 or 4 selections. A selection costs a given number of hashes of a tuple's
key and one of the last hash. As in our replica of the study of paths and segments, operators at the leaves are cheap,
from 1 to 40 in log-uniform steps, and those above cost 1 to 5 times as much (there they are joins); selectivities are
uniform from 0.05 to 1. All of it is drawn once, from a fixed seed, so that the plan is always the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import SparkSession

import headgate as hg
from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.runtime.spark.engine import SparkRuntime
from headgate.sql.schema import parse_schema
from headgate_lab.bench.batches import key_batch

SEED = 7
LENGTHS = (4, 4, 3, 3, 3, 3)  # operators of each path
STREAMS = ("a", "b")  # the first half of the paths reads the first stream
LEAF_HASHES = (10, 400)
DEARER = (1.0, 5.0)  # relative to the leaf of its path
SELECTIVITY = (0.05, 1.0)
SCHEMA = "key INT"
KEYS = 1_000_000_000

HASH_S = 0.4e-6  # roughly; it only decides how many rows measure an operator
PROBES_S = (0.002, 0.08, 0.02, 0.04)  # the work in the calls that measure costs, below and above a fixed cost
WARM_ROUNDS = 12  # rounds until the JVM has compiled the code; they cost up to twice as much
LEAST_COST_S = 1e-7

Sources = Mapping[str, Mapping[str, Any]]  # by stream


class Selection(NamedTuple):
    """One operator of a path."""

    id: str
    hashes: int
    share: float  # the share of tuples that pass


@dataclass(frozen=True)
class Costs:
    """The measured fixed cost of a call, size of a tuple in a queue, and cost per tuple of each operator."""

    call_s: float
    tuple_bytes: float
    operators: Mapping[str, float]


class TimedCall(NamedTuple):
    """A timed call of one operator."""

    operator: str
    rows: int
    seconds: float


def draw_paths() -> dict[str, list[Selection]]:
    """Query -> its operators, leaf first."""
    rng = np.random.default_rng(SEED)
    paths = {}
    for number, length in enumerate(LENGTHS, start=1):
        leaf = math.exp(rng.uniform(*np.log(LEAF_HASHES)))
        hashes = [leaf] + [leaf * rng.uniform(*DEARER) for _ in range(length - 1)]
        shares = rng.uniform(*SELECTIVITY, size=length)
        paths[f"q{number}"] = [
            Selection(f"q{number}/s{at + 1}", round(hashes[at]), round(float(shares[at]), 4)) for at in range(length)
        ]
    return paths


def stream_of(query: str) -> str:
    return STREAMS[(int(query[1:]) - 1) * len(STREAMS) // len(LENGTHS)]


def application(
    policy: PolicySettings, sources: Sources, costs: Costs, call_s: float | None = None
) -> CheckedApplication:
    """What both runtimes run. To the simulator the costs are the truth, to Spark a first estimate; `call_s` gives the
    simulator another fixed cost of a call."""
    app = _application(policy, sources, {"call": costs.call_s if call_s is None else call_s})
    for query, steps in draw_paths().items():
        source, operators = stream_of(query), []
        for step in steps:
            operators.append(_select(step, source) | _declared(step, costs))
            source = operators[-1]["id"]
        app.query(query, operators=operators, in_class="only", sink=hg.sinks.Nothing())
    found = app.checked()
    return replace(found, simulator=replace(found.simulator, stops_calls=False))


def full_rates(costs: Costs) -> dict[str, float]:
    """The tuples per second of each stream that keep one slot busy, half of the work each, without fixed costs."""
    work = dict.fromkeys(STREAMS, 0.0)
    for query, steps in draw_paths().items():
        reach = 1.0
        for step in steps:
            work[stream_of(query)] += reach * costs.operators[step.id]
            reach *= step.share
    return {stream: 1.0 / len(work) / seconds for stream, seconds in work.items()}


def feeder(rate: float, seconds: float, arrivals: str | Mapping[str, Any], tuple_bytes: float) -> dict[str, Any]:
    """A source. It states the size of tuples because the simulator would otherwise go by the schema, without the stamps
    that queues hold on Spark: selections would seem to make tuples larger, and policies that save memory would do the
    opposite."""
    return {
        "kind": "feeder",
        "rate": rate,
        "rows": round(rate * seconds),
        "arrivals": arrivals,
        "bytes": tuple_bytes,
        "values": {"key": f"uniform 0 {KEYS}"},
    }


def _application(policy: PolicySettings, sources: Sources, simulator: Mapping[str, Any]) -> hg.Application:
    settings = {"name": policy.name, **policy.parameters}
    app = hg.Application(policy=settings, slots=1, seed=SEED, simulator=simulator, rehearse=True)
    for name, source in sources.items():
        app.stream(name, SCHEMA, source=source)
    app.add_class("only", priority=1)
    return app


def _select(step: Selection, source: str) -> dict[str, Any]:
    return {"id": step.id.partition("/")[2], "kind": "select", "input": source, "where": _condition(step)}


def _declared(step: Selection, costs: Costs) -> dict[str, Any]:
    return {"cost": costs.operators[step.id], "selectivity": step.share, "bytes": costs.tuple_bytes}


def _condition(step: Selection) -> str:
    """A condition that holds for the step's share of keys, at the cost of its number of hashes."""
    key = f"concat(cast(key AS STRING), '{step.id}')"
    text = f"aggregate(sequence(1, {step.hashes}), {key}, (found, n) -> sha2(found, 256))"
    return f"pmod(crc32({text}), 10000) < {round(step.share * 10000)}"


# Measuring --------------------------------------------------------------------------------------------------------


def measure(spark: SparkSession, rounds: int) -> Costs:
    """Measure costs by calling every operator alone, on a stream of its own, so that operators reached by few tuples
    are measured as well as the leaves. Times are wall-clock: a call includes what the runtime does around the job."""
    steps, schema = [step for path in draw_paths().values() for step in path], parse_schema(SCHEMA, "bench")
    runtime = SparkRuntime(_apart(steps), spark)
    runtime.open()
    timed: list[TimedCall] = []
    try:
        for number in range(WARM_ROUNDS + rounds):
            work = PROBES_S[number % len(PROBES_S)]
            for place, step in enumerate(steps):
                rows = max(1, round(work / (step.hashes * HASH_S)))
                runtime.deliver({_own_stream(step): key_batch(schema, KEYS, rows, (number, place))})
                started = time.perf_counter()
                runtime.step(0)
                timed.append(TimedCall(step.id, rows, time.perf_counter() - started))
        sizes = [found["bytes"] for found in runtime.report()["stats"]["operators"].values()]
    finally:
        runtime.stop()
    call_s, operators = fit(timed[WARM_ROUNDS * len(steps) :])
    return Costs(call_s, float(np.median(sizes)), operators)


def fit(timed: Sequence[TimedCall]) -> tuple[float, dict[str, float]]:
    """Fit a fixed cost of a call, the same for all operators, and each operator's cost per tuple, by least squares.

    The result is a mean, as a run pays it; what policies learn while they run is lower on a busy machine, since they
    learn from a low percentile of the calls.
    """
    names = list(dict.fromkeys(call.operator for call in timed))
    table = np.zeros((len(timed), 1 + len(names)))
    table[:, 0] = 1.0
    for at, call in enumerate(timed):
        table[at, 1 + names.index(call.operator)] = call.rows
    seconds = np.array([call.seconds for call in timed])
    call_s, *costs = np.linalg.lstsq(table, seconds, rcond=None)[0].tolist()
    return max(0.0, call_s), {name: max(LEAST_COST_S, cost) for name, cost in zip(names, costs, strict=True)}


def _apart(steps: Sequence[Selection]) -> CheckedApplication:
    sources = {_own_stream(step): feeder(1.0, 1.0, "poisson", 1.0) for step in steps}
    app = _application(PolicySettings("rr", {"unit": "operator", "quantum": None}), sources, {})
    for step in steps:
        select = _select(step, _own_stream(step))
        app.query(f"of_{_own_stream(step)}", operators=[select], in_class="only", sink=hg.sinks.Nothing())
    return app.checked()


def _own_stream(step: Selection) -> str:
    return step.id.replace("/", "_")
