"""fifo, decision by decision."""

import pytest

from headgate.policies.fifo import Fifo
from tests.conformance.plans import feeder, make_plan, project, union
from tests.policies.boards import PolicyHarness


@pytest.fixture
def plan():
    operators = [project("q/a", "s"), project("r/b", "s"), project("t/c", "s")]
    return make_plan({"s": feeder()}, operators, {"q": "q/a", "r": "r/b", "t": "t/c"})


def joined():
    operators = [project("q/a", "s", 1.0), project("q/b", "t", 1.0), union("q/u", "q/a", "q/b", cost=1.0)]
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/u"})


def test_the_oldest_first(plan):
    harness = PolicyHarness(plan, "fifo")
    harness.feed("q/a", 3.0, 4.0)
    harness.feed("r/b", 1.0, 6.0)
    harness.feed("t/c", 2.0, 5.0)
    assert harness.order() == ["r#1", "t#1", "q#1", "q#1", "t#1", "r#1"]


def test_ties_go_to_the_first_unit(plan):
    harness = PolicyHarness(plan, "fifo", unit="operator")
    for operator in ("t/c", "r/b", "q/a"):
        harness.feed(operator, 1.0, 1.0)
    assert harness.order() == ["q/a", "q/a", "r/b", "r/b", "t/c", "t/c"]


def test_an_older_tuple_at_another_queue_of_a_ready_unit_counts():
    harness = PolicyHarness(joined(), "fifo", unit="operator")
    harness.feed("q/u", 5.0)
    harness.feed("q/a", 3.0)
    harness.feed("q/u", 1.0, port=1)
    assert harness.order() == ["q/u", "q/a", "q/u"]


def test_a_unit_moves_back_in_line_when_another_takes_its_oldest_tuple():
    harness = PolicyHarness(joined(), "fifo", slots=2)  # two paths share q/u
    harness.feed("q/u", 1.0)
    harness.feed("q/a", 3.0)
    harness.feed("q/b", 2.0)
    assert harness.order() == ["q#1", "q#2", "q#1"]


def test_calls_take_enough_tuples_to_offset_their_fixed_cost():
    harness = PolicyHarness(joined(), "fifo", call_fixed_s=7.0)
    harness.feed("q/a", 1.0)
    assert harness.run().tuples == 4  # 7 s over 2 s per tuple
    assert not harness.policy.in_arrival_order
    assert PolicyHarness(joined(), "fifo").policy.in_arrival_order
    assert not PolicyHarness(joined(), "fifo", unit="operator").policy.in_arrival_order


@pytest.mark.parametrize(
    ("unit", "ids"), [("operator", ["q/a", "q/b", "q/u"]), ("path", ["q#1", "q#2"]), ("query", ["q"])]
)
def test_granularity(unit, ids):
    assert [u.id for u in PolicyHarness(joined(), "fifo", unit=unit).board.units] == ids


def test_units_that_are_not_ready_are_not_chosen(plan):
    harness = PolicyHarness(plan, "fifo")
    assert harness.policy.choose(0) is None
    harness.policy.became_ready(harness.board.units[0])  # announced, but without input
    assert harness.policy.choose(0) is None
    harness.queues[harness.board.units[0].edges[0]].arrivals.append(1.0)
    harness.policy.became_ready(harness.board.units[0])  # and a unit that is not ready
    assert harness.policy.choose(0) is None
    assert harness.policy.choose(99) is None


def test_the_default_is_by_path():
    assert Fifo().unit == "path"
