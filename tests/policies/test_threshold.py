"""threshold: its limits, its two modes, and switching between them."""

import pytest

from headgate.policies.threshold import limits
from tests.conformance.plans import feeder, make_plan, project, select
from tests.policies.boards import Bench


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


def bench_of(memory):
    return Bench(plan(), "threshold", memory=memory)


def test_paths_while_there_is_enough_memory_segments_while_it_is_short():
    """100 bytes: saving from 62.5 bytes (8 tuples) on, until 25 (3 tuples)."""
    bench = bench_of(100)
    assert [unit.id for unit in bench.board.units] == ["a#1", "b#1", "S1", "S2", "S3"]
    bench.feed("a/x", *[0.0] * 2)
    bench.feed("b/x", *[0.0] * 5)
    ids = []
    for now in range(7):
        bench.board.now = float(now)
        if now == 2:
            bench.feed("b/x", 2.0, 2.0, 2.0)
        ids.append(bench.run().unit.id)
        assert bench.policy.saving is (now in range(2, 7))
    assert ids == ["a#1", "a#1"] + ["S2"] * 5
    bench.board.now = 7.0
    assert bench.run().unit.id == "b#1"
    assert not bench.policy.saving


def test_checks_of_the_memory_are_rare_while_there_is_room():
    bench = bench_of(1000.0)
    bench.feed("b/x", *[0.0] * 50)
    bench.run()
    assert bench.policy.next_check == pytest.approx(1 - 400 / 1000)
    bench.feed("b/x", *[0.0] * 76)
    bench.board.now = 0.59
    bench.run()
    assert not bench.policy.saving  # it has not checked yet
    bench.board.now = 0.6
    bench.run()
    assert bench.policy.saving
    assert bench.policy.next_check == pytest.approx(0.6 + 0.01)


def test_segments_serve_the_oldest_tuple_while_saving():
    bench = Bench(plan(), "threshold", memory=100, starvation="oldest", period=2)
    bench.feed("b/x", *[0.0] * 12)
    ids = [bench.run().unit.id for _ in range(4)]
    assert bench.policy.saving
    assert ids == ["S2"] * 4


def test_tuples_inside_a_path_are_not_stranded():
    bench = bench_of(100)
    bench.feed("b/y", 0.0)
    assert bench.run().unit.id == "b#1"


def test_a_slot_that_would_be_idle_takes_a_unit_of_the_other_mode():
    bench = Bench(plan(), "threshold", slots=2)
    bench.feed("a/x", 0.0)
    first = bench.board.claim(0)
    assert first.decision.unit.id == "a#1"
    assert bench.board.claim(1) is None
    bench.feed("b/y", 0.0)
    assert bench.board.claim(1).decision.unit.id == "b#1"


@pytest.mark.parametrize(
    "parameters", [{"memory": 0}, {"memory": float("inf")}, {"beta": 0.5}, {"beta": 1.5}, {"share": 0.0}]
)
def test_wrong_settings(parameters):
    with pytest.raises(ValueError, match="must be a number above"):
        Bench(plan(), "threshold", **parameters)
