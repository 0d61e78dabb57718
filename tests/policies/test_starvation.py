"""The two remedies for starvation, shared by all ranked policies."""

import pytest

from headgate.policies.registry import POLICIES, make_policy, policy_parameters
from headgate.policies.starvation import aged, aging_factors
from tests.conformance.plans import feeder, make_plan, project
from tests.policies.boards import PolicyHarness

WITH_RELIEF = [name for name, kind in POLICIES.items() if "starvation" in policy_parameters(kind)]


def plan():
    operators = [project("a/fast", "s", 1.0), project("b/slow", "t", 5.0)]
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/fast", "b": "b/slow"})


def runs_slow(name):
    """Does a unit of this name run the slow operator?"""
    return name in ("b/slow", "b#1", "S2")


def fed(name, **parameters):
    """The slow operator has the oldest tuples; the fast one keeps getting new ones."""
    harness = PolicyHarness(plan(), name, **parameters)
    harness.feed("b/slow", *[0.0] * 10)
    harness.feed("a/fast", *[float(t) for t in range(1, 101)])
    return harness


def test_which_policies_offer_a_remedy():
    assert WITH_RELIEF == [
        "rb",
        "train",
        "hr",
        "hnr",
        "chain",
        "pcs",
        "segment",
        "simplified-segment",
        "threshold",
        "wehr",
    ]


@pytest.mark.parametrize("name", WITH_RELIEF)
def test_without_a_remedy_the_slow_one_waits(name):
    assert [runs_slow(unit) for unit in fed(name).order()] == [False] * 100 + [True] * 10


@pytest.mark.parametrize("name", WITH_RELIEF)
def test_every_nth_round_goes_to_the_oldest(name):
    order = [runs_slow(unit) for unit in fed(name, starvation="oldest", period=4).order()]
    assert order[:12] == [False, False, False, True] * 3
    assert sum(order) == 10


@pytest.mark.parametrize("name", WITH_RELIEF)
def test_priorities_age(name):
    """The slow queue's age and length outweigh its cost once it has waited ten times as long."""
    harness = PolicyHarness(plan(), name, starvation="dynamic", period=3)
    harness.feed("b/slow", *[0.0] * 50)
    harness.feed("a/fast", *[9.0] * 5)
    harness.board.now = 10.0
    order = [runs_slow(harness.run().unit.id) for _ in range(4)]
    assert order == [False, False, True, True]


def test_t8_dynamic_priorities():
    """C = (1.0, 0.2), waits (1, 10), queues (5, 50): f = (0.01, 1), so path 2 goes first."""
    harness = PolicyHarness(plan(), "pcs")
    harness.feed("a/fast", *[9.0] * 5)
    harness.feed("b/slow", *[0.0] * 50)
    factors = aging_factors(harness.board.ready(), 10.0, 2)
    assert factors == pytest.approx([0.01, 1.0], abs=2e-6)
    assert [aged(c, f) for c, f in zip((1.0, 0.2), factors, strict=True)] == pytest.approx([0.01, 0.2], abs=2e-6)


def test_units_without_input_have_the_least_factor():
    harness = PolicyHarness(plan(), "pcs")
    assert aging_factors([], 1.0, 2) == [1e-6, 1e-6]
    harness.feed("a/fast", 1.0)
    assert aging_factors(harness.board.ready(), 1.0, 2) == [1e-6, 1e-6]


def test_a_larger_factor_raises_a_negative_priority_too():
    assert aged(-1.0, 0.5) < aged(-1.0, 1.0) < aged(0.0, 0.1) == 0.0 < aged(1.0, 0.1)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"starvation": "never"}, "starvation is 'never'; it must be one of null, oldest, dynamic"),
        ({"period": 0}, "period is 0; it must be a whole number above 0"),
        ({"period": 2.5}, "period is 2.5"),
        ({"period": True}, "period is True"),
    ],
)
def test_wrong_settings(parameters, problem):
    with pytest.raises(ValueError, match=problem):
        make_policy("pcs", parameters)
