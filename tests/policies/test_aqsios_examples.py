"""Worked examples of decisions from section 5 of the specification of AQSIOS, in exact numbers."""

from dataclasses import replace

import pytest

from headgate.plan.model import Edge
from tests.policies.boards import TimedHarness
from tests.policies.test_class_based import feed_all, plain, queries

# 5.6: the quota of abd ------------------------------------------------------------------------------------------


def busy_and_quiet():
    """One class: q has c0 = 10 and c1 = 8 us; r takes 1 us and fits into any quota."""
    plan = queries({"q": 8e-6, "r": 1e-6}, {"only": (1, ["q", "r"])})
    operator = plan.operators["q/x"]
    plan.operators["q/x"] = replace(operator, declared=replace(operator.declared, fixed_s=10e-6))
    return plan


def test_abd_quota_shrinks_by_its_last_growth_as_long_as_it_is_larger():
    """50 grows by 40 to 90. That round does not shrink it; quiet rounds do: 50, 10, and 10 > 40 is false."""
    harness = TimedHarness(busy_and_quiet(), "abd", quota=50e-6)
    harness.feed("q/x", 10)
    assert harness.run(50e-6).tuples == 5
    harness.feed("r/x")
    assert [harness.run(50e-6).unit.id, harness.run(1e-6).unit.id] == ["q/x", "r/x"]  # the next round, in one slice
    assert harness.policy.quota == pytest.approx(90e-6)
    quotas = []
    for _ in range(4):
        harness.feed("r/x")
        assert harness.run(1e-6).unit.id == "r/x"
        quotas.append(round(harness.policy.quota * 1e6, 6))
    assert quotas == [50.0, 10.0, 10.0, 10.0]


@pytest.mark.parametrize(("literal", "expected"), [(False, [40.0, 20.0, 10.0, 5.0]), (True, [40.0] * 4)])
def test_abd_first_quota_shrinks_until_it_grows(literal, expected):
    """No round has needed more time yet: as printed, the quota shrinks by its last growth, which is 0."""
    harness = TimedHarness(busy_and_quiet(), "abd", quota=40e-6, literal=literal)
    quotas = []
    for _ in range(4):
        harness.feed("r/x")
        assert harness.run(1e-6).unit.id == "r/x"
        quotas.append(round(harness.policy.quota * 1e6, 6))
    assert quotas == expected


# 5.10: the gate of mbd ------------------------------------------------------------------------------------------

PRIORITIES = {"a": 1.0, "b": 1.3, "c": 1.7, "d": 2.0}  # a round is b c d a b c d


def gated():
    return plain(queries({name: 10 * given for name, given in PRIORITIES.items()}, {"one": (1, list(PRIORITIES))}))


def test_mbd_gates_are_fractions_and_1_for_whole_numbers():
    harness = gated()
    assert harness.policy.gates == pytest.approx([1.0, 0.3, 0.7, 1.0])
    assert [len(places) for places in harness.policy.places] == [1, 2, 2, 2]


def test_mbd_runs_queries_as_often_as_their_priorities_say():
    harness = gated()
    counts = dict.fromkeys(PRIORITIES, 0)
    rounds = 40_000
    while counts["a"] < rounds:  # once per round
        feed_all(harness, PRIORITIES)
        counts[harness.run().unit.id] += 1
    assert {name: count / rounds for name, count in counts.items()} == pytest.approx(PRIORITIES, abs=0.01)


@pytest.mark.parametrize("name", ["b", "c"])
def test_mbd_gates_only_the_first_entry_of_a_round(name):
    """A unit with input only from its second entry on runs there in every round, before d, whose entry comes later."""
    harness = gated()
    for _ in range(50):
        harness.feed("a/x")  # between the first entries of the others and their second ones
        assert harness.run().unit.id == "a"
        harness.feed(f"{name}/x")
        harness.feed("d/x")
        assert [harness.run().unit.id, harness.run().unit.id] == [name, "d"]


# 5.12: mbd on several cores -------------------------------------------------------------------------------------


def running_x():
    """A round of x x y x y z x x y x; core 0 has taken x, core 1 has met x and taken y."""
    harness = plain(queries({"x": 60.0, "y": 30.0, "z": 10.0}, {"one": (1, ["x", "y", "z"])}), slots=2)
    feed_all(harness, "xyz")
    x, y = harness.begin(0), harness.begin(1)
    assert (x.decision.unit.id, y.decision.unit.id) == ("x", "y")
    return harness, x, y


def test_mbd_runs_x_once_more_without_the_schedule():
    """S = (x, x, y): the second x asks for another run on the same core, with the input that arrived meanwhile."""
    harness, x, _ = running_x()
    harness.feed("x/x", 3)
    harness.end(x, 1.0)
    at = harness.policy.position
    again = harness.begin(0)
    assert (again.decision.unit.id, harness.policy.position) == ("x", at)
    assert harness.queues[Edge("x/x", 0)].arrivals == []


def test_mbd_a_third_hit_leaves_a_single_rerun():
    harness, x, y = running_x()
    harness.end(y, 0.1)
    feed_all(harness, "xy")
    y = harness.begin(1)  # it meets x again first
    assert y.decision.unit.id == "y"
    harness.end(x, 1.0)
    again = harness.begin(0)
    assert again.decision.unit.id == "x"
    feed_all(harness, "x")
    harness.end(again, 1.0)
    assert harness.begin(0).decision.unit.id == "z"  # as the schedule says
