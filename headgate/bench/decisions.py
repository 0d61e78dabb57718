"""headgate bench decisions: what a decision costs, with few and with many queries registered.

Queries of one operator in three classes, on a board as in a run on Spark, with queues that are only numbers. A decision
is all that board and policy do for one call: being told of new input, choosing, being told of the end. `busy`: every
query has input all the time. `sparse`: one in ten has, never the same ones for long. `share_of_unit_call` is the
dearest case of mbd against a call of a small batch on Spark, measured in the same run.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from headgate.bench.batches import key_batch
from headgate.control.stats import DeclaredStats
from headgate.flow.board import Board
from headgate.plan.application import Application, PolicySettings
from headgate.plan.graph import build_plan
from headgate.plan.model import Edge, Plan, Query, QueryClass, Stream
from headgate.plan.operators import Declared, Operator, Port, Select
from headgate.plan.schema import parse_schema
from headgate.policies.registry import make_policy
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.session import start_spark

QUERIES = (10, 100, 1000)
HEADLINE = "mbd"
POLICIES = (HEADLINE, "ambd", "abd", "cqc", "wehr", "mrr", "ml", "pct", "pcs", "chain", "rb", "fifo", "rr")
LOADS = {"busy": 1.0, "sparse": 0.1}  # the share of queries that have input
CLASSES = {"one": 6, "two": 3, "three": 1}
SCHEMA = parse_schema("k INT", "bench")
CALL_S = 0.01  # a call beside its tuples, roughly as on Spark: policies reckon with it
ROWS = 100  # of a call on Spark
WARM = 50  # calls before any counts


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; microseconds of a decision by the number of queries at the top level, other policies below."""
    decisions = 2_000 if quick else 20_000
    found = {
        name: {
            load: {str(n): microseconds(name, n, share, decisions) for n in QUERIES} for load, share in LOADS.items()
        }
        for name in POLICIES
    }
    call = unit_call_us(50 if quick else 400)
    headline = {str(n): max(found[HEADLINE][load][str(n)] for load in LOADS) for n in QUERIES}
    return {
        "bench": "decisions",
        "policy": HEADLINE,
        "microseconds": headline,
        "growth": headline[str(QUERIES[-1])] / headline[str(QUERIES[0])],
        "share_of_unit_call": headline[str(QUERIES[-1])] / call,
        "unit_call_microseconds": call,
        "policies": found,
        "decisions": decisions,
    }


class Waiting:
    """A queue of tuples that are only counted."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0.0

    @property
    def oldest(self) -> float | None:
        return self.first if self.count else None

    @property
    def bytes(self) -> float:
        return 8.0 * self.count


def microseconds(policy: str, queries: int, share: float, decisions: int) -> float:
    """The mean time of a decision under a policy, the median of five runs."""
    return statistics.median(_run(policy, queries, share, decisions // 5, seed) for seed in range(5)) * 1e6


def _run(policy: str, queries: int, share: float, decisions: int, seed: int) -> float:
    """Each call takes what waits for a unit; then a query without input gets a tuple, so that as many have some."""
    plan = many_queries(queries)
    queues = {edge: Waiting() for edge in plan.edges}
    board = Board(plan, queues, make_policy(policy), DeclaredStats(plan), slots=1, call_fixed_s=CALL_S, seed=seed)
    empty = list(plan.edges)
    random.Random(seed).shuffle(empty)
    for _ in range(max(1, round(share * queries))):
        _feed(board, queues, empty.pop())
    spent = 0.0
    for number in range(decisions):
        board.now = number * 1e-3
        start = time.perf_counter()
        claim = board.claim(0)
        spent += time.perf_counter() - start
        if claim is None:
            raise RuntimeError(f"policy {policy} found nothing to do")
        (edge,) = claim.decision.unit.edges
        queues[edge].count = 0
        empty.insert(0, edge)
        start = time.perf_counter()
        board.release(claim, 1, 1)
        _feed(board, queues, empty.pop())
        spent += time.perf_counter() - start
    return spent / decisions


def _feed(board: Board, queues: Mapping[Edge, Waiting], edge: Edge) -> None:
    queues[edge].count, queues[edge].first = 1, board.now
    board.fed(edge)


def many_queries(number: int) -> Plan:
    """So many queries of one select, a third of them in each class, with costs of 1 to 7 us."""
    names = list(CLASSES)
    operators: list[Operator] = [
        Select(
            id=f"q{at}/select",
            inputs=(Port("s"),),
            where="k >= 0",
            declared=Declared(fixed_s=0.0, cost_s=(1 + at % 7) * 1e-6, selectivity=0.5),
        )
        for at in range(number)
    ]
    queries = [
        Query(f"q{at}", names[at % len(names)], Port(f"q{at}/select"), (), sink={"kind": "none"})
        for at in range(number)
    ]
    classes = {name: QueryClass(name, priority) for name, priority in CLASSES.items()}
    stream = Stream("s", SCHEMA, {"kind": "feeder", "rate": 1.0, "rows": 1})
    return build_plan({"s": stream}, {}, classes, operators, queries)


def unit_call_us(calls: int) -> float:
    """A call of one select on a small batch on Spark, the median."""
    runtime = SparkRuntime(Application(many_queries(1), PolicySettings(HEADLINE), slots=1), _spark())
    runtime.open()
    seconds = []
    try:
        for number in range(calls + WARM):
            runtime.deliver({"s": key_batch(SCHEMA, 100, ROWS, number)})
            start = time.perf_counter()
            runtime.step(0)
            seconds.append(time.perf_counter() - start)
    finally:
        runtime.stop()
    return statistics.median(seconds[WARM:]) * 1e6


def _spark() -> SparkSession:
    return start_spark({"master": "local[2]"})
