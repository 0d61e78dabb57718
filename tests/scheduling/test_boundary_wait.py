"""How long a unit waits for the boundary of its windows."""

import math
from dataclasses import replace

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.policies.registry import make_policy
from headgate.scheduling import boundary_wait
from headgate.scheduling.board import Board
from headgate.scheduling.boundary_wait import BoundaryWait
from tests.policies.boards import Waiting
from tests.scheduling.timed import STREAMS, plan_of

COUNTED = "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 10 SLIDE 5] GROUP BY k)"
PASSED = "SELECT k FROM r WHERE k > 1"


class Asked:
    """A board whose windows reach their boundary when the test says so."""

    def __init__(self, most_bytes=1e9, promise=None, tuple_s=None):
        plan = plan_of({"count": COUNTED, "pass": PASSED})
        if promise is not None:
            promised = replace(plan.queries["count"], qos=(promise,))
            plan = replace(plan, queries={**plan.queries, "count": promised})
        self.reaches, self.due, self.pressed = False, False, False
        self.queues = {edge: Waiting() for edge in plan.edges}
        kept = BoundaryWait(
            lambda *_: self.reaches, lambda _: self.due, most_bytes, lambda: self.pressed, lambda _: tuple_s
        )
        policy = make_policy("rr", {"unit": "query"})
        self.board = Board(plan, self.queues, policy, DeclaredStats(plan), 1, boundary_wait=kept)
        self.boundary_wait = kept

    def feed(self, query, tuples=1):
        edge = next(edge for edge in self.board.plan.edges if edge.operator.startswith(f"{query}/"))
        self.queues[Edge(edge.operator, 0)].arrivals += [self.board.now] * tuples
        self.board.fed(edge)

    @property
    def ready(self):
        return [unit.id for unit in self.board.ready()]


def test_only_windows_wait_and_only_until_their_boundary():
    asked = Asked()
    asked.feed("count")
    asked.feed("pass")
    assert asked.ready == ["pass"]
    asked.reaches = True
    asked.board.recheck_waiting()
    assert asked.ready == ["count", "pass"]
    assert asked.board.ready_units == 2


def test_where_queues_are_named_only_their_units_are_looked_at():
    asked = Asked()
    asked.feed("count")
    asked.reaches = True
    count, passes = (next(e for e in asked.board.plan.edges if e.operator.startswith(q)) for q in ("count/", "pass/"))
    asked.board.recheck_waiting([])
    asked.board.recheck_waiting([passes])
    assert not asked.ready
    asked.board.recheck_waiting([count])
    assert asked.ready == ["count"]


def test_nobody_waits_while_memory_is_pressed():
    asked = Asked()
    asked.feed("count")
    asked.pressed = True
    asked.board.recheck_waiting()
    assert asked.ready == ["count"]


def test_one_that_is_due_does_not_wait():
    asked = Asked()
    asked.due = True
    asked.feed("count")
    assert asked.ready == ["count"]


def test_too_many_tuples_do_not_wait():
    asked = Asked()
    asked.feed("count", boundary_wait.MOST_TUPLES - 1)
    assert not asked.ready
    asked.feed("count")
    assert asked.ready == ["count"]


def test_nor_do_too_many_bytes():
    asked = Asked(most_bytes=80.0)  # 8 a tuple here
    asked.feed("count", 9)
    assert not asked.ready
    asked.feed("count")
    assert asked.ready == ["count"]


def promised(priority="must", name="latency"):
    return QosMeasure(name, priority, QosGraph(((0.0, 1.0), (100.0, 1.0))))


def test_nor_does_more_work_than_a_promised_latency_has_room_for():
    asked = Asked(promise=promised(), tuple_s=0.01)
    asked.feed("count", 25)
    assert not asked.ready
    asked.feed("count")
    assert asked.ready == ["count"]


@pytest.mark.parametrize(
    ("promise", "tuple_s"), [(None, 0.01), (promised("best-effort"), 0.01), (promised(name="memory"), 0.01)]
)
def test_without_such_a_promise_it_may_wait_with_any_work(promise, tuple_s):
    asked = Asked(promise=promise, tuple_s=tuple_s)
    asked.feed("count", 1000)
    assert not asked.ready


def test_as_long_as_the_work_is_not_known_it_may_wait():
    asked = Asked(promise=promised(), tuple_s=None)
    asked.feed("count", 1000)
    assert not asked.ready


def test_nor_does_a_tuple_wait_too_long():
    asked = Asked()
    asked.feed("count")
    asked.board.now = boundary_wait.MOST_S
    asked.feed("count")
    assert asked.ready == ["count"]


def test_after_a_call_the_unit_waits_again():
    asked = Asked()
    asked.reaches = True
    asked.feed("count")
    claim = asked.board.claim(0)
    asked.queues[claim.decision.unit.edges[0]].arrivals.clear()
    asked.reaches = False
    asked.feed("count")
    asked.board.release(claim, 1, 0)
    assert not asked.ready
    assert asked.board.claim(0) is None  # and nobody says that the policy leaves it idle


def of_arrival_time() -> BoundaryWait:
    """Of a query with boundaries every 5 seconds."""
    clocked = replace(STREAMS["s"], time=None, slack_s=0.0)
    plan = plan_of({"count": COUNTED.replace("10", "10 SECONDS").replace("5", "5 SECONDS")}, {"s": clocked})
    kept = BoundaryWait(lambda *_: False, lambda _: False, 1e9)
    Board(plan, {e: Waiting() for e in plan.edges}, make_policy("rr", {}), DeclaredStats(plan), 1, boundary_wait=kept)
    return kept


def test_boundaries_of_arrival_time_are_crossed_once_by_each_stream():
    kept = of_arrival_time()
    times = [1_000_000, 5_000_000, 5_000_001, 9_000_000, 17_000_000]  # at 5 s itself, more may still arrive
    assert [kept.crosses("s", time) for time in times] == [True, False, True, False, True]
    assert kept.crosses("r", 17_000_000)


@pytest.mark.parametrize("now", [0.0, 1.5, 4.999999, 5.0, 5.000001, 1e6 + 1 / 3])
def test_the_next_boundary_is_the_first_that_crosses(now: float):
    kept = of_arrival_time()
    kept.crosses("s", round(now * 1e6))
    assert not kept.crosses("s", math.floor(kept.next_boundary(now) * 1e6) - 20)
    assert kept.crosses("s", round(kept.next_boundary(now) * 1e6))
    assert kept.next_boundary(now) - now <= 5.0 + 2e-5


def test_time_that_tuples_bring_does_not_tick():
    assert not Asked().boundary_wait.crosses("s", 5_000_000)
    assert Asked().boundary_wait.next_boundary(1.0) == math.inf
