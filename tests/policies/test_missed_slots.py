"""mbd and units that wait for a window boundary: which missed slots are made up for, and before which units."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.mbd import MultiBroadcastDisk, places_of
from headgate.policies.missed_slots import MissedSlots
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from headgate.scheduling.boundary_wait import BoundaryWait
from tests.policies.boards import Waiting
from tests.scheduling.timed import plan_of

COUNTED = "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 10 SLIDE 5] GROUP BY k)"
PASSED = "SELECT k FROM s WHERE k > 1"
QUERIES = {"window1": COUNTED, "filter1": PASSED, "window2": COUNTED, "filter2": PASSED}
CLASSES = {"window1": "high", "filter1": "high", "window2": "low", "filter2": "low"}


READY: Any = SimpleNamespace(ready=True)  # a unit


class WindowsHarness:
    """mbd over windows and filters of two classes; the test says when windows reach their boundary."""

    def __init__(
        self, queries: Mapping[str, str] = QUERIES, class_of: Mapping[str, str] = CLASSES, variant: str = "disjoint"
    ) -> None:
        self.plan = plan_of(queries, classes={"high": 2, "low": 1}, class_of=class_of)
        self.queues = {edge: Waiting() for edge in self.plan.edges}
        self.at_boundary = False
        options = {"inversion": None, "selectivity": None, "weights": "equal", "variant": variant}
        policy = make_policy("mbd", options)
        wait = BoundaryWait(lambda *_: self.at_boundary, lambda _: False, 1e9)
        self.board = Board(self.plan, self.queues, policy, DeclaredStats(self.plan), 1, 0.0, boundary_wait=wait)

    def feed(self, *queries: str) -> None:
        for name in queries:
            edge = Edge(self.plan.queries[name].operators[0], 0)
            self.queues[edge].arrivals.append(0.0)
            self.board.fed(edge)

    def reach(self) -> None:
        self.at_boundary = True
        self.board.recheck_waiting()

    def run(self) -> str | None:
        claim = self.board.claim(0)
        if claim is None:
            return None
        for queue in claim.decision.unit.queues:
            queue.arrivals.clear()
        self.board.release(claim, 1, 0)
        return claim.decision.unit.id

    def order(self) -> list[str]:
        return list(iter(self.run, None))


def filters(harness: WindowsHarness, times: int) -> None:
    """Let rounds pass in which only filters run."""
    for _ in range(times):
        harness.feed("filter1", "filter2")
        harness.order()


def test_a_missed_slot_goes_before_the_one_that_is_due():
    """The round is w1 f1 w2 f2 w1 f1; next is w2."""
    harness = WindowsHarness()
    harness.feed("window1", "window2")
    filters(harness, 5)
    harness.feed("filter1")
    assert harness.run() == "filter1"
    harness.reach()
    harness.feed("filter1", "filter2")
    assert harness.order() == ["window1", "window2", "filter2", "filter1"]


def test_a_postponed_unit_is_next():
    harness = WindowsHarness()
    harness.feed("window1")
    filters(harness, 5)
    harness.feed("filter1")
    harness.run()
    harness.feed("filter2")
    harness.reach()
    assert harness.order() == ["window1", "filter2"]


def test_a_missed_slot_does_not_go_before_a_more_important_one():
    """Next is the second w1, of the other class."""
    harness = WindowsHarness()
    harness.feed("window2")
    filters(harness, 5)
    harness.feed("filter2")
    assert harness.run() == "filter2"
    harness.feed("filter1")
    harness.reach()
    assert harness.order() == ["filter1", "window2"]


def test_many_missed_slots_do_not_stop_the_round():
    """All windows are owed a slot, and one of them is next: the important filter still gets its turn."""
    windows = [f"window{number}" for number in range(6)]
    queries = {"high": PASSED, "low": PASSED, **dict.fromkeys(windows, COUNTED)}
    harness = WindowsHarness(queries, {**dict.fromkeys(queries, "low"), "high": "high"}, variant="staggered")
    policy = cast(MultiBroadcastDisk, harness.board.policy)
    harness.feed(*windows)
    for _ in range(2 * len(policy.base_schedule)):
        harness.feed("high", "low")
        harness.run()
    while harness.board.units[policy.schedule[policy.position]].id not in windows:
        harness.feed("high", "low")
        harness.run()
    harness.feed("high", "low")
    harness.reach()
    order = harness.order()
    assert sorted(order) == sorted(queries)
    assert order.index("high") <= 2


@given(st.lists(st.sampled_from([*QUERIES, "reach", "run"]), max_size=60))
def test_every_entry_of_a_round_is_used_once(steps: list[str]):
    """Entries change places, none is lost or duplicated, and the next round is the original one."""
    harness = WindowsHarness()
    policy = cast(MultiBroadcastDisk, harness.board.policy)
    for step in steps:
        if step == "run":
            harness.run()
            harness.at_boundary = False
        elif step == "reach":
            harness.reach()
        else:
            harness.feed(step)
        assert sorted(policy.schedule) == sorted(policy.base_schedule)
        assert policy.places == places_of(policy.schedule, len(QUERIES))
        assert policy.position > 0 or policy.schedule == policy.base_schedule
    harness.reach()
    harness.order()
    assert not any(queue.arrivals for queue in harness.queues.values())


def test_without_a_missed_slot_the_round_decides():
    """No slot has passed since the last call, so nothing is owed."""
    missed = MissedSlots()
    missed.restart(1)
    missed.end_round()
    missed.ran(0, at=3)
    missed.reached(0, 0, [2, 7], at=7)
    assert missed.take(0, [None]) is None  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("rounds", "ran_at", "now_at", "owed"),
    [(0, 3, 8, True), (0, 8, 9, False), (1, 3, 0, True), (1, 8, 2, False), (1, 8, 3, True), (2, 8, 0, True)],
)
def test_a_slot_is_missed_when_it_came_up(rounds: int, ran_at: int, now_at: int, owed: bool):
    missed = MissedSlots()
    missed.restart(1)
    missed.ran(0, ran_at)
    for _ in range(rounds):
        missed.end_round()
    missed.reached(0, 1, [2, 7], now_at)
    assert (missed.take(1, [READY]) is READY) is owed


def test_equal_weights_go_by_the_number_of_queries():
    harness = WindowsHarness()
    assert sorted(harness.board.policy.schedule) == [0, 0, 1, 1, 2, 3]  # type: ignore[attr-defined]
