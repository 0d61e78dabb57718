"""headgate bench decisions: the cost of a decision, with few and with many queries registered.

Queries of one operator in three classes run on a board as on Spark, with queues that only count. A decision is
everything that board and policy do for one call: noting new input, choosing, and noting the end of the call.

* `busy`: every query has input all the time.
* `sparse`: one query in ten has input, never the same ones for long.
* `windows` (mbd only): queries over sliding windows whose input waits for a boundary, which they reach one by one. Here
  a decision includes keeping track of time.
* `together` (mbd only): the same with up to six queries per unit. Ten queries in three classes make units of only two,
  so this case does not show how the cost grows.

`microseconds` has the most expensive of the other cases of mbd. `share_of_unit_call` compares the most expensive of all
cases, with most queries, with a call of a small batch on Spark in the same run.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication
from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate.scheduling.board import Board, Claim
from headgate.scheduling.boundary_wait import BoundaryWait
from headgate.scheduling.progress import Progress
from headgate.sql.schema import parse_schema
from headgate_lab.bench.batches import key_batch
from headgate_lab.bench.parts import part
from headgate_lab.sections import checked, feeder_stream

QUERIES = (10, 100, 1000)
HEADLINE = "mbd"
POLICIES = (HEADLINE, "ambd", "abd", "cqc", "wehr", "mrr", "ml", "pct", "pcs", "chain", "rb", "fifo", "rr")
LOADS = {"busy": 1.0, "sparse": 0.1}  # the share of queries that have input
WINDOWS = {"windows": 1, "together": 6}  # case -> the most queries in a unit
SLIDE_US = 1_000_000
CLASSES = {"one": 6, "two": 3, "three": 1}
SCHEMA = parse_schema("k INT", "bench")
CALL_S = 0.01  # the fixed cost of a call, roughly as on Spark: policies take it into account
ROWS = 100  # per call on Spark
WARM = 50  # calls that do not count


@dataclass(frozen=True)
class DecisionsBenchSize:
    """The size of the measurement."""

    decisions: int
    calls: int  # on Spark
    queries: Sequence[int] = QUERIES
    warm: int = WARM


FULL = DecisionsBenchSize(decisions=20_000, calls=400)
QUICK = DecisionsBenchSize(decisions=2_000, calls=50)
SMALLEST = DecisionsBenchSize(decisions=50, calls=2, queries=(10, 20), warm=2)


def run(quick: bool = False, sizes: DecisionsBenchSize | None = None) -> dict[str, Any]:
    """Measure. Microseconds of a decision by number of queries are at the top level, other policies below."""
    chosen = sizes or (QUICK if quick else FULL)
    decisions, queries = chosen.decisions, chosen.queries
    found = {name: part(name, partial(_by_load, name, chosen)) for name in POLICIES}
    for case, most in WINDOWS.items():
        found[HEADLINE][case] = part(case, partial(_by_queries, windows_microseconds, chosen, most, decisions))
    call = part("unit_call_microseconds", lambda: unit_call_us(chosen.calls, chosen.warm))
    cases, largest = found[HEADLINE], str(queries[-1])
    headline = {str(n): max(cases[case][str(n)] for case in (*LOADS, "windows")) for n in queries}
    return {
        "bench": "decisions",
        "policy": HEADLINE,
        "microseconds": headline,
        "growth": headline[largest] / headline[str(queries[0])],
        "share_of_unit_call": max(case[largest] for case in cases.values()) / call,
        "unit_call_microseconds": call,
        "policies": found,
        "decisions": decisions,
    }


def _by_load(policy: str, sizes: DecisionsBenchSize) -> dict[str, dict[str, float]]:
    return {
        load: {str(n): microseconds(policy, n, share, sizes.decisions) for n in sizes.queries}
        for load, share in LOADS.items()
    }


def _by_queries(measure: Callable[..., float], sizes: DecisionsBenchSize, *rest: int) -> dict[str, float]:
    return {str(n): measure(n, *rest) for n in sizes.queries}


class CountedQueue:
    """A queue that only counts its tuples."""

    def __init__(self) -> None:
        self.count = 0
        self.entered = 0
        self.first = 0.0
        self.thinned = False

    @property
    def admitted(self) -> int:
        """Tuples put in so far."""
        return self.entered

    @property
    def oldest(self) -> float | None:
        """When the oldest waiting tuple arrived."""
        return self.first if self.count else None

    @property
    def bytes(self) -> float:
        """The size of the waiting tuples."""
        return 8.0 * self.count


def microseconds(policy: str, queries: int, share: float, decisions: int) -> float:
    """The mean time of a decision under a policy: the median of five runs."""
    return statistics.median(_run(policy, queries, share, decisions // 5, seed) for seed in range(5)) * 1e6


def _run(policy: str, queries: int, share: float, decisions: int, seed: int) -> float:
    """The mean seconds of a decision. Each call takes all input of a unit; then a query without input gets a tuple, so
    that the number of queries with input stays the same."""
    plan = many_queries(queries).plan
    queues = {edge: CountedQueue() for edge in plan.edges}
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


class WindowedQueries:
    """Queries over windows, each on a stream of its own, and the progress of time on each, as in a run."""

    def __init__(self, queries: int, together: int) -> None:
        self.plan = many_windows(queries).plan
        self.queues = {edge: CountedQueue() for edge in self.plan.edges}
        self._arrived = dict.fromkeys(self.plan.streams, 0)
        self._progress = Progress(self.plan, self.queues, self._arrived.get)
        boundary_wait = BoundaryWait(self._progress.reaches, lambda _: False, most_bytes=1e9)
        policy, stats = make_policy(HEADLINE, {"together": together}), DeclaredStats(self.plan)
        self.board = Board(self.plan, self.queues, policy, stats, 1, CALL_S, boundary_wait=boundary_wait)
        for edge in self.plan.edges:  # a stream's first tuple reaches a boundary, its second waits for one
            self.feed(edge)
        while (claim := self.board.claim(0)) is not None:
            self.call(claim)

    def feed(self, edge: Edge, boundary: bool = False) -> None:
        """A tuple arrives and advances time by a little, or to the next boundary."""
        (port,) = self.plan.operators[edge.operator].inputs
        self._arrived[port.node] += SLIDE_US if boundary else 1
        queue = self.queues[edge]
        queue.first = queue.first if queue.count else self.board.now
        queue.count, queue.entered = queue.count + 1, queue.entered + 1
        self._progress.advance(port, self._arrived[port.node])
        self._progress.settle((port.node,))
        self.board.fed(edge)

    def call(self, claim: Claim) -> None:
        """A call takes all input and yields its results up to the boundary; then each of its queries gets a tuple."""
        unit = claim.decision.unit
        for edge in unit.edges:
            self.queues[edge].count = 0
        self._progress.finish(self._progress.begin(unit.operators), {})
        self._progress.end(unit.operators)
        self.board.recheck_waiting(self._progress.settle(unit.operators).moved)
        self.board.release(claim, 1, 1)
        for edge in unit.edges:
            self.feed(edge)

    def decide(self, edge: Edge) -> None:
        """A query reaches a boundary and is called."""
        self.feed(edge, boundary=True)
        claim = self.board.claim(0)
        if claim is None:
            raise RuntimeError(f"policy {HEADLINE} found nothing to do")
        self.call(claim)


def windows_microseconds(queries: int, together: int, decisions: int) -> float:
    """The mean time of a decision of mbd about windows: the median of five stretches."""
    windows = WindowedQueries(queries, together)
    found = []
    for stretch in range(5):
        edges = random.Random(stretch).choices(windows.plan.edges, k=decisions // 5)
        start = time.perf_counter()
        for edge in edges:
            windows.board.now += 1e-3
            windows.decide(edge)
        found.append((time.perf_counter() - start) / len(edges))
    return statistics.median(found) * 1e6


def _feed(board: Board, queues: Mapping[Edge, CountedQueue], edge: Edge) -> None:
    queues[edge].count, queues[edge].first = 1, board.now
    board.fed(edge)


@cache
def many_queries(number: int) -> CheckedApplication:
    """An application of this many queries of one select each, a third in each class, with costs of 1 to 7 us."""
    select = {"id": "select", "kind": "select", "input": "s", "where": "k >= 0", "fixed_cost": 0.0, "selectivity": 0.5}
    operators = [{**select, "cost": (1 + at % 7) * 1e-6} for at in range(number)]
    return _application({"s": _STREAM}, operators)


@cache
def many_windows(number: int) -> CheckedApplication:
    """An application of this many queries that count over a sliding window, each on a stream of its own."""
    count = {
        "id": "count",
        "kind": "aggregate",
        "values": {"n": "count(*)"},
        "window": "RANGE 2 SECONDS SLIDE 1 SECOND",
    }
    operators = [{**count, "input": f"s{at}"} for at in range(number)]
    return _application({f"s{at}": _STREAM for at in range(number)}, operators)


_STREAM = feeder_stream("k INT", rate=1.0, rows=1)


def _application(streams: dict[str, Any], operators: Sequence[dict[str, Any]]) -> CheckedApplication:
    """One query for each of the operators, in the classes by turns."""
    names = list(CLASSES)
    queries = {
        f"q{at}": {"class": names[at % len(names)], "operators": [operator], "sink": {"kind": "none"}}
        for at, operator in enumerate(operators)
    }
    classes = {name: {"priority": priority} for name, priority in CLASSES.items()}
    return checked({"streams": streams, "classes": classes, "queries": queries, "policy": HEADLINE, "slots": 1})


def unit_call_us(calls: int, warm: int = WARM) -> float:
    """The median time of a call of one select on a small batch on Spark."""
    runtime = SparkRuntime(many_queries(1), _spark())
    runtime.open()
    seconds = []
    try:
        for number in range(calls + warm):
            runtime.deliver({"s": key_batch(SCHEMA, 100, ROWS, number)})
            start = time.perf_counter()
            runtime.step(0)
            seconds.append(time.perf_counter() - start)
    finally:
        runtime.stop()
    return statistics.median(seconds[warm:]) * 1e6


def _spark() -> SparkSession:
    return start_spark({"master": "local[2]"})
