"""How a failed call is run again in parts, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Port, Project, Select
from headgate.policies.registry import make_policy
from headgate.runtime.spark.calls.job import shape_of
from headgate.runtime.spark.failures.rescue import Rescue, Rescued
from headgate.scheduling.board import Board
from headgate.scheduling.calls import Call, CallResult
from headgate.scheduling.queue import BatchQueue
from headgate.scheduling.suspect_rows import SuspectRows
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


class FakeCaller:
    """A caller that returns its input. Calls of the operator `failing` fail if they have a row whose number is bad."""

    def __init__(
        self, failing: str = "", then: Callable[[], None] = lambda: None, bad: Collection[int] = range(1000)
    ) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.rows: list[int] = []
        self._bad = bad
        self._failing = failing
        self._then = then

    def run(
        self, operators: Any, inputs: Mapping[Edge, pa.Table], plan: Any, bounds: Any, now_us: int, once: bool
    ) -> CallResult:
        self.ran.append(tuple(operators))
        self._then()
        given = next(iter(inputs.values()))
        self.rows.append(given.num_rows)
        if self._failing in operators and set(self._bad).intersection(given.column("_sequence").to_pylist()):
            raise ArithmeticError("division by zero")
        outputs = dict.fromkeys(shape_of(plan, operators, inputs).outputs, given)
        return CallResult(outputs, dict.fromkeys(operators, 5), {}, {}, 0.1, "fake")


def rescued(
    caller: FakeCaller,
    policy: str = "mbd",
    stopping: Callable[[], bool] = lambda: False,
    rows: pa.Table = ROWS,
    plan: Plan = PLAN,
    suspect: bool = False,
    **parameters: Any,
) -> Rescued:
    """Rescue a failed call that took everything waiting."""
    queues = {edge: BatchQueue() for edge in plan.edges}
    board = Board(plan, queues, make_policy(policy, parameters), DeclaredStats(plan), 1)
    for edge in plan.consumers[Port("s")]:
        queues[edge].put(rows)
        board.fed(edge)
    claim = board.claim(0)
    assert claim is not None
    inputs = {edge: rows for edge in claim.decision.unit.edges if edge.input == 0 and edge.operator.endswith("x")}
    call = Call(0, claim.decision.unit, claim.decision.unit.operators, plan, inputs, {}, 0)
    return Rescue(caller, call, suspect, stopping).run()  # type: ignore[arg-type]


def test_queries_of_a_unit_are_tried_one_by_one_and_rows_of_the_bad_one_go_back() -> None:
    caller = FakeCaller("b/y")
    outcome, _ = rescued(caller, together=3)
    assert caller.ran == [("a/x", "a/y"), ("b/x", "b/y"), ("c/x", "c/y")]
    assert not outcome.failed
    assert not outcome.stranded
    assert list(outcome.unused) == [Edge("b/x", 0)]
    assert len(outcome.results) == 2


def test_a_transient_fault_is_retried_once() -> None:
    caller = FakeCaller()
    outcome, _ = rescued(caller, "fifo", unit="query")
    assert caller.ran == [("a/x", "a/y")]
    assert not outcome.unused
    assert not rescued(FakeCaller("a/y"), "fifo", unit="query", suspect=True).outcome.results


def test_operators_are_tried_one_by_one_on_a_single_row() -> None:
    caller = FakeCaller("b/y")
    outcome, _ = rescued(caller, together=3, rows=ROWS.slice(3, 1))
    assert caller.ran == [("a/x", "a/y"), ("b/x", "b/y"), ("b/x",), ("b/y",), ("c/x", "c/y")]
    assert list(outcome.failed) == ["b"]
    assert "division by zero (operator y, stream s, position 3, row {" in str(outcome.failed["b"])
    assert list(outcome.stranded) == [Edge("b/y", 0)]
    assert len(outcome.results) == 3


def skipping(*queries: str) -> Plan:
    changed = {name: replace(query, on_error="skip") for name, query in PLAN.queries.items() if name in queries}
    return replace(PLAN, queries={**PLAN.queries, **changed})


def test_a_query_that_skips_bad_rows_goes_on() -> None:
    outcome, bad = rescued(FakeCaller("b/y"), together=3, rows=ROWS.slice(3, 1), plan=skipping("b"))
    assert not outcome.failed
    assert not outcome.stranded
    assert [(row.operator, row.stream, row.position, row.reason) for row in bad] == [
        ("b/y", "s", 3, "division by zero")
    ]


def test_bad_rows_are_found_by_halving() -> None:
    """Three of 1024 rows are bad: a few dozen calls find them, and no row is lost."""
    many, bad = queued_numbers(1024, 1), [0, 500, 501]
    caller = FakeCaller("a/x", bad=bad)
    outcome, found = rescued(caller, "fifo", rows=many, plan=skipping("a"), unit="query")
    assert [row.position for row in found] == bad
    given = [
        n
        for result in outcome.results
        if (table := result.outputs.get(Port("a/y"))) is not None
        for n in table.column("_sequence").to_pylist()
    ]
    assert given == [n for n in range(1024) if n not in bad]
    assert len(caller.ran) <= 2 * 10 * len(bad) + 1


def test_nothing_more_is_tried_once_the_run_stops() -> None:
    caller = FakeCaller()
    outcome, _ = rescued(caller, stopping=lambda: len(caller.ran) > 1, together=3)
    assert caller.ran == [("a/x", "a/y"), ("b/x", "b/y")]
    assert list(outcome.unused) == [Edge("c/x", 0)]
    assert not outcome.failed


def test_a_call_that_is_cut_off_is_not_a_failure() -> None:
    stopped: list[bool] = []
    caller = FakeCaller("a/y", lambda: stopped.append(True) if len(caller.ran) > 1 else None)
    outcome, _ = rescued(caller, "fifo", lambda: bool(stopped), unit="query", rows=ROWS.slice(0, 1))
    assert caller.ran == [("a/x",), ("a/y",)]
    assert not outcome.failed
    assert list(outcome.stranded) == [Edge("a/y", 0)]


def test_suspects_are_halved_until_one_row_is_left() -> None:
    """The scheduler's part: each call takes half of the rows that are known to contain a bad one."""
    edge, suspects = Edge("a/x", 0), SuspectRows()
    waiting, bad, calls = list(range(1000)), 700, 0
    suspects.failed({edge: queued_numbers(1000, 1)})
    while bad in waiting:
        took = waiting[: suspects.most(edge)]
        table = queued_numbers(len(took), 1)
        calls += 1
        suspects.clear({edge: table})
        if bad in took and len(took) > 1:
            suspects.failed({edge: table})
        else:
            waiting = waiting[len(took) :]
    assert waiting == list(range(701, 1000))
    assert calls <= 11
