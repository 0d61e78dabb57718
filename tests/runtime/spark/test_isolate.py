"""After a failed call: in which parts it is run again, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from headgate.control.stats import DeclaredStats
from headgate.flow.board import Board
from headgate.flow.queue import BatchQueue
from headgate.plan.model import Edge
from headgate.plan.operators import Port, Project, Select
from headgate.policies.registry import make_policy
from headgate.runtime.spark.flight import Call
from headgate.runtime.spark.isolate import run_apart
from headgate.runtime.spark.job import JobResult, shape_of
from headgate.runtime.spark.outcome import Outcome
from tests.runtime.spark.helpers import plan_of, queued_numbers

PLAN = plan_of(
    [
        operator
        for query in "abc"
        for operator in (
            Select(id=f"{query}/x", inputs=(Port("s"),), where="v > 0"),
            Project(id=f"{query}/y", inputs=(Port(f"{query}/x"),), columns={"k": "k"}),
        )
    ],
    {query: Port(f"{query}/y") for query in "abc"},
)
ROWS = queued_numbers(5, 1)


class Jobs:
    """A caller that gives out what it gets; jobs with one of some operators fail."""

    def __init__(self, failing: str = "", then: Callable[[], None] = lambda: None) -> None:
        self.ran: list[tuple[str, ...]] = []
        self._failing = failing
        self._then = then

    def run(self, operators: Any, inputs: Mapping[Edge, pa.Table], plan: Any, bounds: Any, now_us: int) -> JobResult:
        self.ran.append(tuple(operators))
        self._then()
        if self._failing in operators:
            raise ArithmeticError("division by zero")
        outputs = dict.fromkeys(shape_of(plan, operators, inputs).outputs, ROWS)
        return JobResult(outputs, dict.fromkeys(operators, 5), {}, {}, 0.1, prepared=False)


def apart(jobs: Jobs, policy: str = "mbd", stopping: Callable[[], bool] = lambda: False, **parameters: Any) -> Outcome:
    """A call of all that waits, run again."""
    queues = {edge: BatchQueue() for edge in PLAN.edges}
    board = Board(PLAN, queues, make_policy(policy, parameters), DeclaredStats(PLAN), 1)
    for edge in PLAN.consumers[Port("s")]:
        queues[edge].put(ROWS)
        board.fed(edge)
    claim = board.claim(0)
    assert claim is not None
    inputs = {edge: ROWS for edge in claim.decision.unit.edges if edge.input == 0 and edge.operator.endswith("x")}
    return run_apart(jobs, Call(claim, PLAN, inputs, {}, 0), stopping)  # type: ignore[arg-type]


def test_queries_of_a_unit_are_tried_before_operators() -> None:
    jobs = Jobs("b/y")
    outcome = apart(jobs, together=3)
    assert jobs.ran == [("a/x", "a/y"), ("b/x", "b/y"), ("b/x",), ("b/y",), ("c/x", "c/y")]
    assert list(outcome.failed) == ["b/y"]
    assert list(outcome.stranded) == [Edge("b/y", 0)]
    assert not outcome.unused
    assert len(outcome.results) == 3


def test_of_a_single_query_operators_are_tried_at_once() -> None:
    jobs = Jobs()
    apart(jobs, "fifo", unit="query")
    assert jobs.ran == [("a/x",), ("a/y",)]


def test_when_the_run_stops_no_more_is_tried() -> None:
    jobs = Jobs()
    outcome = apart(jobs, stopping=lambda: len(jobs.ran) > 1, together=3)
    assert jobs.ran == [("a/x", "a/y"), ("b/x", "b/y")]
    assert list(outcome.unused) == [Edge("c/x", 0)]
    assert not outcome.failed


def test_what_is_cut_off_is_no_failure() -> None:
    stopped: list[bool] = []
    jobs = Jobs("a/y", lambda: stopped.append(True) if len(jobs.ran) > 1 else None)
    outcome = apart(jobs, "fifo", lambda: bool(stopped), unit="query")
    assert jobs.ran == [("a/x",), ("a/y",)]
    assert not outcome.failed
    assert list(outcome.stranded) == [Edge("a/y", 0)]
