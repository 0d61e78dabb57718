"""rr, decision by decision."""

import pytest

from headgate.policies.predictable_order import EqualTurns
from headgate.policies.rr import RoundRobin
from tests.conformance.plans import feeder, make_plan, project
from tests.policies.boards import PolicyHarness


@pytest.fixture
def plan():
    operators = [project("q/a", "s"), project("q/b", "q/a"), project("r/c", "q/a")]
    return make_plan({"s": feeder()}, operators, {"q": "q/b", "r": "r/c"})


def rounds(harness):
    return [(decision.unit.id, decision.ends_round) for decision in iter(harness.run, None)]


def test_every_unit_in_turn_regardless_of_arrival_order(plan):
    harness = PolicyHarness(plan, "rr")
    for operator in ("r/c", "q/b", "q/a"):
        harness.feed(operator, 1.0, 2.0)
    assert harness.order() == ["q/a", "q/b", "r/c"] * 2


def test_the_rotation_resumes_where_it_stopped(plan):
    harness = PolicyHarness(plan, "rr")
    harness.feed("q/b", 1.0)
    assert harness.run().unit.id == "q/b"
    harness.feed("q/a", 2.0)
    harness.feed("r/c", 3.0)
    assert harness.order() == ["r/c", "q/a"]


def test_the_last_decision_of_a_round_ends_it(plan):
    harness = PolicyHarness(plan, "rr")
    harness.feed("q/a", 1.0, 2.0)
    harness.feed("q/b", 1.0, 2.0)
    harness.feed("r/c", 1.0)
    assert rounds(harness) == [("q/a", False), ("q/b", False), ("r/c", True), ("q/a", False), ("q/b", True)]
    assert harness.board.rounds == 2


def test_a_unit_that_stopped_being_ready_does_not_keep_a_round_open(plan):
    harness = PolicyHarness(plan, "rr", unit="query", slots=2)  # both queries use q/a
    harness.feed("q/a", 1.0)
    assert [unit.id for unit in harness.board.ready()] == ["q", "r"]
    claim = harness.board.claim(0)
    assert (claim.decision.unit.id, claim.decision.ends_round) == ("q", False)
    assert harness.board.claim(1) is None  # r is blocked
    harness.queues[harness.board.units[0].edges[0]].arrivals.clear()
    harness.feed("q/b", 2.0)
    harness.board.release(claim, 1, 0)
    assert rounds(harness) == [("q", True)]


@pytest.mark.parametrize(("given", "seconds"), [({}, 0.1), ({"quantum": 2}, 2.0), ({"quantum": None}, None)])
def test_quantum(plan, given, seconds):
    harness = PolicyHarness(plan, "rr", **given)
    harness.feed("q/a", 1.0)
    decision = harness.run()
    assert (decision.seconds, decision.tuples) == (seconds, None)


@pytest.mark.parametrize(
    ("unit", "ids"), [("operator", ["q/a", "q/b", "r/c"]), ("path", ["q#1", "r#1"]), ("query", ["q", "r"])]
)
def test_granularity(plan, unit, ids):
    assert [u.id for u in PolicyHarness(plan, "rr", unit=unit).board.units] == ids


def test_a_unit_announced_twice_is_listed_once(plan):
    harness = PolicyHarness(plan, "rr", unit="query")
    harness.feed("q/b", 1.0)
    harness.feed("q/b", 2.0)
    assert harness.order() == ["q", "q"]


def test_units_that_are_not_ready_are_not_chosen(plan):
    harness = PolicyHarness(plan, "rr")
    assert harness.policy.choose(0) is None
    harness.policy.became_ready(harness.board.units[1])  # announced, but not ready
    assert harness.policy.choose(0) is None
    assert harness.policy.choose(99) is None


def test_the_default_is_by_operator():
    assert RoundRobin().unit == "operator"


@pytest.mark.parametrize(
    ("name", "given", "seconds"),
    [
        ("rr", {"quantum": 2}, 2.0),
        ("rr", {"quantum": None}, None),
        ("wrr", {"leaf": 3}, None),
        ("wrr", {"quantum": 2, "leaf": 1}, 2.0),
    ],
)
def test_the_policy_says_when_all_turns_are_equal(plan, name, given, seconds):
    assert PolicyHarness(plan, name, **given).policy.equal_turn_s == seconds


def test_fifo_does_not_promise_equal_turns(plan):
    assert not isinstance(PolicyHarness(plan, "fifo").policy, EqualTurns)
