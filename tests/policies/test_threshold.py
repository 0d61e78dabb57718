"""threshold: its limits, its two modes, and switching between them."""

import pytest

from headgate.policies.threshold import limits
from tests.conformance.plans import feeder, make_plan, project, select
from tests.policies.boards import PolicyHarness


@pytest.mark.parametrize(
    ("mean", "high", "low"),
    [(0, 50, 0), (10, 55, 10), (40, 70, 40), (60, 80, 60), (80, 90, 80), (85, 90, 81), (100, 90, 81)],
)
def test_t6_limits(mean, high, low):
    assert limits(100, mean, 0.9) == pytest.approx((high, low))


def plan():
    """Path a#1 has the larger capacity (0.4), segment {b/x} the larger release (0.9 per tuple and second)."""
    operators = [
        project("a/x", "s", 1.0),
        project("a/y", "a/x", 1.5),
        select("b/x", "t", 1.0, 0.1),
        project("b/y", "b/x", 40.0),
    ]
    return make_plan({"s": feeder(bytes=8), "t": feeder(bytes=8)}, operators, {"a": "a/y", "b": "b/y"})


def harness_of(memory):
    return PolicyHarness(plan(), "threshold", memory=memory)


def test_paths_while_there_is_enough_memory_segments_while_it_is_short():
    """100 bytes: saving from 62.5 bytes (8 tuples) on, until 25 (3 tuples)."""
    harness = harness_of(100)
    assert [unit.id for unit in harness.board.units] == ["a#1", "b#1", "S1", "S2", "S3"]
    harness.feed("a/x", *[0.0] * 2)
    harness.feed("b/x", *[0.0] * 5)
    ids = []
    for now in range(7):
        harness.board.now = float(now)
        if now == 2:
            harness.feed("b/x", 2.0, 2.0, 2.0)
        ids.append(harness.run().unit.id)
        assert harness.policy.saving is (now in range(2, 7))
    assert ids == ["a#1", "a#1"] + ["S2"] * 5
    harness.board.now = 7.0
    assert harness.run().unit.id == "b#1"
    assert not harness.policy.saving


def test_checks_of_the_memory_are_rare_while_there_is_room():
    harness = harness_of(1000.0)
    harness.feed("b/x", *[0.0] * 50)
    harness.run()
    assert harness.policy.next_check == pytest.approx(1 - 400 / 1000)
    harness.feed("b/x", *[0.0] * 76)
    harness.board.now = 0.59
    harness.run()
    assert not harness.policy.saving  # it has not checked yet
    harness.board.now = 0.6
    harness.run()
    assert harness.policy.saving
    assert harness.policy.next_check == pytest.approx(0.6 + 0.01)


def test_segments_serve_the_oldest_tuple_while_saving():
    harness = PolicyHarness(plan(), "threshold", memory=100, starvation="oldest", period=2)
    harness.feed("b/x", *[0.0] * 12)
    ids = [harness.run().unit.id for _ in range(4)]
    assert harness.policy.saving
    assert ids == ["S2"] * 4


def test_tuples_inside_a_path_are_not_stranded():
    harness = harness_of(100)
    harness.feed("b/y", 0.0)
    assert harness.run().unit.id == "b#1"


def test_a_slot_that_would_be_idle_takes_a_unit_of_the_other_mode():
    harness = PolicyHarness(plan(), "threshold", slots=2)
    harness.feed("a/x", 0.0)
    first = harness.board.claim(0)
    assert first.decision.unit.id == "a#1"
    assert harness.board.claim(1) is None
    harness.feed("b/y", 0.0)
    assert harness.board.claim(1).decision.unit.id == "b#1"


@pytest.mark.parametrize(
    "parameters", [{"memory": 0}, {"memory": float("inf")}, {"beta": 0.5}, {"beta": 1.5}, {"share": 0.0}]
)
def test_wrong_settings(parameters):
    with pytest.raises(ValueError, match="must be a number above"):
        PolicyHarness(plan(), "threshold", **parameters)
