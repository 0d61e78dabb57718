"""What a call takes: the oldest tuples over all queues of its unit. Needs no Spark."""

from __future__ import annotations

from itertools import chain

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from headgate.scheduling.call_input import oldest_first, operators_to_run, take_input
from headgate.scheduling.policy import Decision
from headgate.scheduling.queue import BatchQueue, SpillError
from headgate.scheduling.suspect_rows import SuspectRows
from tests.conformance.plans import feeder, make_plan, project, union

arrivals = st.lists(st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=4), min_size=1, max_size=4)


def batch(times: list[int], first: int = 0) -> pa.Table:
    stamps = pa.array(times, pa.int64()), pa.array(range(first, first + len(times)), pa.int64())
    return pa.table({"_arrival": stamps[0], "_sequence": stamps[1]})


def queue_of(batches: list[list[int]]) -> BatchQueue:
    queue = BatchQueue()
    for times in batches:
        queue.put(batch(times, queue.entered))
    return queue


def by_heads(queues: list[list[int]], limit: int) -> list[int]:
    """One tuple at a time, from the queue with the oldest head."""
    left = [list(times) for times in queues]
    for _ in range(limit):
        heads = [(times[0], at) for at, times in enumerate(left) if times]
        if not heads:
            break
        left[min(heads)[1]].pop(0)
    return [len(times) - len(rest) for times, rest in zip(queues, left, strict=True)]


@settings(max_examples=300, deadline=None)
@given(arrivals, st.integers(1, 40), st.booleans())
def test_shares_are_those_of_a_merge(drawn: list[list[list[int]]], limit: int, in_order: bool) -> None:
    if in_order:
        drawn = [[sorted(chain.from_iterable(batches))] for batches in drawn]
    flat = [list(chain.from_iterable(batches)) for batches in drawn]
    shares = oldest_first([queue_of(batches) for batches in drawn], limit)
    assert shares == by_heads(flat, limit)
    if in_order:
        merged = sorted(time for times in flat for time in times)
        taken = [time for times, share in zip(flat, shares, strict=True) for time in times[:share]]
        assert sorted(taken) == merged[:limit]


def test_a_call_takes_the_oldest_of_all_queues() -> None:
    operators = [project("q/a", "s"), project("q/b", "t"), union("q/u", "q/a", "q/b")]
    plan = make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/u"})
    queues = {edge: BatchQueue() for edge in plan.edges}
    queues[Edge("q/a", 0)].put(batch([1, 3, 5, 7]))
    queues[Edge("q/b", 0)].put(batch([2, 4, 6]))
    board = Board(plan, queues, make_policy("rr", {"unit": "query"}), DeclaredStats(plan), 1)
    taken = take_input(Decision(board.units[0], tuples=5), board.units[0].operators, board, SuspectRows())
    times = {edge.operator: table.column("_arrival").to_pylist() for edge, table in taken.items()}
    assert times == {"q/a": [1, 3, 5], "q/b": [2, 4]}
    rest = take_input(Decision(board.units[0], tuples=1), board.units[0].operators, board, SuspectRows())
    assert {edge.operator for edge in rest} == {"q/b"}
    for queue in queues.values():
        queue.check()


def test_what_was_taken_goes_back_when_another_queue_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = [project("q/a", "s"), project("q/b", "t"), union("q/u", "q/a", "q/b")]
    plan = make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/u"})
    queues = {edge: BatchQueue() for edge in plan.edges}
    queues[Edge("q/a", 0)].put(batch([1, 3]))
    queues[Edge("q/b", 0)].put(batch([2, 4]))
    board = Board(plan, queues, make_policy("rr", {"unit": "query"}), DeclaredStats(plan), 1)

    def fails(limit: int | None = None) -> None:
        raise SpillError("the disk is gone")

    monkeypatch.setattr(queues[Edge("q/b", 0)], "take", fails)
    with pytest.raises(SpillError, match="the disk is gone"):
        take_input(Decision(board.units[0]), board.units[0].operators, board, SuspectRows())
    assert [queues[Edge(name, 0)].count for name in ("q/a", "q/b")] == [2, 2]
    for queue in queues.values():
        queue.check()


def test_what_an_earlier_policy_left_inside_a_unit_is_run_first_by_the_operator_it_waits_at() -> None:
    operators = [project("q/a", "s"), project("q/b", "q/a"), project("q/c", "q/b")]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/c"})
    queues = {edge: BatchQueue() for edge in plan.edges}
    board = Board(plan, queues, make_policy("rr", {"unit": "query"}), DeclaredStats(plan), 1)
    (unit,) = board.units
    queues[Edge("q/a", 0)].put(batch([1, 2]))
    assert operators_to_run(unit, plan) == ("q/a", "q/b", "q/c")
    queues[Edge("q/b", 0)].put(batch([3, 4, 5]))
    queues[Edge("q/c", 0)].put(batch([6]))
    assert operators_to_run(unit, plan) == ("q/c",)
    taken = take_input(Decision(unit), ("q/c",), board, SuspectRows())
    assert {edge.operator: table.num_rows for edge, table in taken.items()} == {"q/c": 1}
    assert operators_to_run(unit, plan) == ("q/b",)


def test_units_that_share_operators_leave_tuples_inside_each_other_and_run_whole() -> None:
    operators = [project("q/a", "s"), project("q/b", "q/a"), project("r/b", "q/a")]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/b", "r": "r/b"})
    queues = {edge: BatchQueue() for edge in plan.edges}
    board = Board(plan, queues, make_policy("rr", {"unit": "query"}), DeclaredStats(plan), 1)
    queues[Edge("r/b", 0)].put(batch([1]))
    unit = next(one for one in board.units if "r/b" in one.operators)
    assert operators_to_run(unit, plan) == unit.operators
