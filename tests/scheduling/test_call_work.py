"""What the tuples of a query cost, from the time of its calls."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from headgate.plan.model import Edge
from headgate.scheduling.call_work import CallWork, Spent
from headgate.scheduling.calls import Call
from tests.conformance.plans import feeder, make_plan, project, select, union

OPERATORS = [select("a/x", "s", 0.001, 1.0), project("b/y", "s"), project("b/z", "s"), union("b/u", "b/y", "b/z")]
PLAN = make_plan({"s": feeder(1.0)}, OPERATORS, {"a": "a/x", "b": "b/u"})


class Run:
    """Calls one after the other, in one slot."""

    def __init__(self):
        self.work = CallWork()
        self.now = 0.0

    def call(self, queries, seconds, typical=True, **rows):
        """A call for these queries that took so many rows at the first input of each operator."""
        inputs = {Edge(name.replace("_", "/"), 0): pa.table({"k": list(range(n))}) for name, n in rows.items()}
        self.work.began(self.now, Call(0, SimpleNamespace(queries=queries), (), PLAN, inputs, {}, 0))
        self.now += seconds
        self.work.ended(self.now, 0, typical)


def test_nothing_is_known_before_a_call_has_ended():
    assert CallWork().per_tuple("a") is None
    assert CallWork().spent("a", 1.0) == Spent(0.0, 0.0, 0.0)


def test_what_calls_took_over_the_tuples_that_entered():
    run = Run()
    run.call(("a",), 0.2, a_x=100)
    run.call(("a",), 0.4, a_x=200)
    run.call(("b",), 0.1, b_y=10)
    assert run.work.per_tuple("a") == pytest.approx(0.002)
    assert run.work.spent("a", run.now) == pytest.approx((0.6, 300.0, 0.1))
    assert run.work.spent("b", run.now) == pytest.approx((0.1, 5.0, 0.6))  # half of what enters it at two places


def test_a_tuple_that_enters_a_query_at_two_places_counts_once_and_inside_not_at_all():
    run = Run()
    run.call(("b",), 0.3, b_y=100, b_z=100)
    run.call(("b",), 0.1, b_u=200)
    assert run.work.spent("b", run.now) == pytest.approx((0.4, 100.0, 0.0))


def test_calls_that_are_not_typical_keep_a_slot_busy_and_say_nothing_about_costs():
    run = Run()
    run.call(("a",), 5.0, typical=False, a_x=100)
    assert run.work.per_tuple("a") is None
    assert run.work.spent("a", run.now) == Spent(0.0, 0.0, 0.0)
    assert run.work.spent("b", run.now).others_s == 5.0


def test_a_call_in_flight_counts_for_others_as_far_as_it_has_come():
    run = Run()
    run.call(("a", "b"), 1.0, a_x=1, b_y=1)
    run.work.began(1.0, Call(0, SimpleNamespace(queries=("b",)), (), PLAN, {}, {}, 0))
    assert run.work.spent("a", 3.5).others_s == 2.5
    assert run.work.spent("b", 3.5).others_s == 0.0


def test_a_fixed_cost_is_told_from_the_cost_of_tuples_once_calls_are_of_different_sizes():
    run = Run()
    for _ in range(20):
        run.call(("a",), 0.015, a_x=1000)
    assert run.work.per_tuple("a") == pytest.approx(0.015 / 1000)
    for _ in range(20):
        run.call(("a",), 0.015, a_x=10)
    assert run.work.per_tuple("a") < 0.2 * 0.015 / 1000
    assert run.work.spent("a", run.now) == pytest.approx((0.6, 20_200.0, 0.0))


def test_old_calls_fade():
    run = Run()
    run.call(("a",), 1.0, a_x=10)
    for _ in range(300):
        run.call(("a",), 0.1, a_x=10)
    assert run.work.per_tuple("a") == pytest.approx(0.01, rel=0.02)


def test_a_query_of_the_same_name_begins_anew():
    run = Run()
    run.call(("a",), 1.0, a_x=10)
    run.work.forget("a")
    assert run.work.per_tuple("a") is None
    assert run.work.spent("a", run.now).seconds == 0.0


def test_a_call_in_flight_keeps_its_slot_busy_as_far_as_it_has_come():
    run = Run()
    run.work.began(0.0, Call(0, SimpleNamespace(queries=("a",)), (), PLAN, {}, {}, 0))
    assert run.work.busy_lately(0.1) is None  # too soon to tell
    assert run.work.busy_lately(4.0) == pytest.approx(1.0)
    assert run.work.busy_lately(25.0) == pytest.approx(1.0, abs=0.11)  # counted by steps, as far as somebody asks
    run.work.ended(26.0, 0, True)
    assert run.work.busy_lately(26.0) == pytest.approx(1.0, abs=0.11)
    assert run.work.busy_lately(31.0) == pytest.approx(0.6, abs=0.51)
    assert run.work.busy_lately(37.0) == 0.0


def test_a_long_call_that_nobody_asked_about_counts_with_its_last_seconds():
    run = Run()
    run.call(("a",), 60.0)
    assert run.work.busy_lately(61.0) == pytest.approx(1.0, abs=0.11)
