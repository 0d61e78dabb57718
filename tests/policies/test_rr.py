"""rr, decision by decision."""

import pytest

from headgate.policies.predictable_order import EqualTurns
from headgate.policies.rr import RoundRobin
from tests.conformance.plans import feeder, make_plan, project
from tests.policies.boards import Bench


@pytest.fixture
def plan():
    operators = [project("q/a", "s"), project("q/b", "q/a"), project("r/c", "q/a")]
    return make_plan({"s": feeder()}, operators, {"q": "q/b", "r": "r/c"})


def rounds(bench):
    return [(decision.unit.id, decision.ends_round) for decision in iter(bench.run, None)]


def test_every_unit_in_turn_regardless_of_arrival_order(plan):
    bench = Bench(plan, "rr")
    for operator in ("r/c", "q/b", "q/a"):
        bench.feed(operator, 1.0, 2.0)
    assert bench.order() == ["q/a", "q/b", "r/c"] * 2


def test_the_rotation_resumes_where_it_stopped(plan):
    bench = Bench(plan, "rr")
    bench.feed("q/b", 1.0)
    assert bench.run().unit.id == "q/b"
    bench.feed("q/a", 2.0)
    bench.feed("r/c", 3.0)
    assert bench.order() == ["r/c", "q/a"]


def test_the_last_decision_of_a_round_ends_it(plan):
    bench = Bench(plan, "rr")
    bench.feed("q/a", 1.0, 2.0)
    bench.feed("q/b", 1.0, 2.0)
    bench.feed("r/c", 1.0)
    assert rounds(bench) == [("q/a", False), ("q/b", False), ("r/c", True), ("q/a", False), ("q/b", True)]
    assert bench.board.rounds == 2


def test_a_unit_that_stopped_being_ready_does_not_keep_a_round_open(plan):
    bench = Bench(plan, "rr", unit="query", slots=2)  # both queries use q/a
    bench.feed("q/a", 1.0)
    assert [unit.id for unit in bench.board.ready()] == ["q", "r"]
    claim = bench.board.claim(0)
    assert (claim.decision.unit.id, claim.decision.ends_round) == ("q", False)
    assert bench.board.claim(1) is None  # r is blocked
    bench.queues[bench.board.units[0].edges[0]].arrivals.clear()
    bench.feed("q/b", 2.0)
    bench.board.release(claim, 1, 0)
    assert rounds(bench) == [("q", True)]


@pytest.mark.parametrize(("given", "seconds"), [({}, 0.1), ({"quantum": 2}, 2.0), ({"quantum": None}, None)])
def test_quantum(plan, given, seconds):
    bench = Bench(plan, "rr", **given)
    bench.feed("q/a", 1.0)
    decision = bench.run()
    assert (decision.seconds, decision.tuples) == (seconds, None)


@pytest.mark.parametrize(
    ("unit", "ids"), [("operator", ["q/a", "q/b", "r/c"]), ("path", ["q#1", "r#1"]), ("query", ["q", "r"])]
)
def test_granularity(plan, unit, ids):
    assert [u.id for u in Bench(plan, "rr", unit=unit).board.units] == ids


def test_announced_twice_is_in_the_list_once(plan):
    bench = Bench(plan, "rr", unit="query")
    bench.feed("q/b", 1.0)
    bench.feed("q/b", 2.0)
    assert bench.order() == ["q", "q"]


def test_a_strange_view_gives_nothing(plan):
    bench = Bench(plan, "rr")
    assert bench.policy.choose(0) is None
    bench.policy.became_ready(bench.board.units[1])  # announced, but not ready
    assert bench.policy.choose(0) is None
    assert bench.policy.choose(99) is None


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
def test_says_when_all_turns_are_equal(plan, name, given, seconds):
    assert Bench(plan, name, **given).policy.equal_turn_s == seconds


def test_fifo_does_not_promise_equal_turns(plan):
    assert not isinstance(Bench(plan, "fifo").policy, EqualTurns)
