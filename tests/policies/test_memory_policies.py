"""chain, segment, simplified-segment and pcs: units, ranks, and cutting again."""

import pytest

from headgate.metrics.learning import LearnedStats
from headgate.metrics.stats import OperatorStats
from headgate.plan.operators import Declared, Port, Select
from headgate.scheduling.segments import halve
from tests.conformance.plans import feeder, make_plan, project, select, union
from tests.policies.boards import PolicyHarness


def path(*steps):
    """One path a: (cost, selectivity) of each operator; tuples of 8 bytes."""
    operators = [
        select(f"a/{at}", f"a/{at - 1}" if at else "s", cost, passed) for at, (cost, passed) in enumerate(steps)
    ]
    return make_plan({"s": feeder(bytes=8)}, operators, {"a": f"a/{len(steps) - 1}"})


T4 = ((1.0, 0.5), (2.0, 0.5), (4.0, 1.0))


def priorities(harness):
    return {unit.id: -harness.policy.urgency(unit) for unit in harness.board.units}


def test_t4_segments_become_units():
    assert priorities(PolicyHarness(path(*T4), "pcs")) == {"a#1": pytest.approx(1 / 3)}
    assert priorities(PolicyHarness(path(*T4), "chain")) == pytest.approx({"a/0": 4.0, "a/1": 2.0, "a/2": 2.0})
    harness = PolicyHarness(path(*T4), "segment")
    assert [unit.operators for unit in harness.board.units] == [("a/0",), ("a/1", "a/2")]
    assert priorities(harness) == pytest.approx({"S1": 4.0, "S2": 2.0})


@pytest.mark.parametrize(
    ("releases", "segments"),
    [
        ([0.8, 0.65, 0.5, 0.7], [{1, 2, 3, 4}]),
        ([0.8, 0.5, 0.6], [{1}, {2, 3}]),
        ([0.4, 0.5, 0.3, 0.6], [{1, 2}, {3, 4}]),
        ([0.9, 0.6, 0.3, 0.2], [{1}, {2, 3, 4}]),
        ([0.5, 0.9, 0.8], [{1, 2, 3}]),
        ([-1.0, -2.0, 5.0], [{1}, {2, 3}]),  # memory grows: cut where it grows faster
        ([-2.0, -1.0, 0.0], [{1, 2, 3}]),
        ([0.9, None, 0.1], [{1, 2, 3}]),
        ([], []),
    ],
)
def test_t5_simplified_segments(releases, segments):
    assert [set(range(first + 1, end + 1)) for first, end in halve(releases)] == segments


def test_the_first_simplified_segment_with_share_1_is_that_of_segment():
    harness = PolicyHarness(path(*T4), "simplified-segment", share=1.0)
    assert [unit.operators for unit in harness.board.units] == [("a/0",), ("a/1", "a/2")]


def test_an_operator_of_several_paths_has_its_steepest_slope():
    operators = [select("q/a", "s", 1.0, 0.5), select("q/b", "t", 4.0, 0.9), union("q/u", "q/a", "q/b", cost=0.1)]
    plan = make_plan({"s": feeder(bytes=8), "t": feeder(bytes=8)}, operators, {"q": "q/u"})
    # from s: one piece, 8 bytes in 1.05 s; from t: one piece, 8 bytes in 4.09 s
    assert priorities(PolicyHarness(plan, "chain"))["q/u"] == pytest.approx(8 / 1.05)


def test_tuples_inside_a_larger_segment_are_its_input():
    """Segments of two paths that share C, D: {X, C, D} absorbs {C, D}; tuples from B wait inside it."""
    operators = [
        select("q/B", "s", 1.0, 0.5),
        select("q/X", "t", 100.0, 0.9),
        union("q/C", "q/B", "q/X", cost=4.0, selectivity=0.5),
        project("q/D", "q/C", 0.1),
    ]
    plan = make_plan({"s": feeder(bytes=8), "t": feeder(bytes=8)}, operators, {"q": "q/D"})
    harness = PolicyHarness(plan, "segment")
    assert [unit.operators for unit in harness.board.units] == [("q/B",), ("q/X", "q/C", "q/D")]
    harness.feed("q/C", 1.0)
    assert harness.run().unit.operators == ("q/X", "q/C", "q/D")


@pytest.mark.parametrize("name", ["pcs", "segment", "simplified-segment", "chain"])
def test_equal_priorities_go_to_the_oldest_tuple(name):
    operators = [project("a/x", "s", 1.0), project("b/x", "t", 1.0)]
    harness = PolicyHarness(make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/x", "b": "b/x"}), name)
    harness.feed("a/x", 2.0)
    harness.feed("b/x", 1.0, 3.0)
    assert [unit.startswith(("b", "S2")) for unit in harness.order()] == [True, False, True]


def test_a_batch_shares_the_fixed_cost():
    """The capacity of a path is 1 / (cost + fixed / waiting); inner operators of chain bear less of it."""
    harness = PolicyHarness(path(*T4), "pcs", call_fixed_s=6.0)
    harness.feed("a/0", *[1.0] * 4)
    assert priorities(harness) == {"a#1": pytest.approx(1 / (3 + 6 / 4))}
    harness = PolicyHarness(path(*T4), "chain", call_fixed_s=6.0)
    harness.feed("a/0", *[1.0] * 4)
    harness.feed("a/1", *[1.0] * 4)
    found = priorities(harness)
    assert found["a/0"] == pytest.approx(4 / (1 + 6 / 4))
    assert found["a/1"] == pytest.approx(4 / (2 + 0.5 * 12 / 4))  # half of the tuples that entered get there


class ChangingStats:
    """Statistics that a test sets."""

    def __init__(self, *selectivities):
        self.selectivities = selectivities

    def of(self, operator):
        passed = self.selectivities[int(operator.removeprefix("a/"))]
        return OperatorStats(fixed_s=0.0, cost_s=1.0, selectivity=passed)

    def stream_bytes(self, stream):
        return None


@pytest.mark.parametrize("name", ["segment", "simplified-segment", "threshold"])
def test_segments_are_cut_again_once_statistics_stay_changed(name):
    harness = PolicyHarness(path((1.0, 1.0), (1.0, 1.0), (1.0, 1.0)), name)
    board, stats = harness.board, ChangingStats(0.1, 0.9, 1.0)
    whole = ("a/0", "a/1", "a/2")
    assert board.units[-1].operators == whole
    harness.stats = stats
    harness.feed("a/0", 1.0)
    claim = board.claim(0)
    for _ in range(2):
        board.learned()
    stats.selectivities = (0.5, 0.5, 1.0)  # 4, 4, 8: one segment again, so the count restarts
    board.learned()
    stats.selectivities = (0.1, 0.9, 1.0)
    for _ in range(2):
        board.learned()
        assert board.units[-1].operators == whole
    board.learned()
    assert [unit.operators for unit in board.units][-2:] == [("a/0",), ("a/1", "a/2")]
    assert board.policy is harness.policy
    assert board.ready_units == 0  # the call that began earlier blocks the operators it uses
    board.release(claim, 0, 0)
    assert harness.run().unit.operators in (("a/0",), whole)


def test_sizes_of_streams_are_measured_like_those_of_operators():
    """8 bytes by the schema, 32 measured with stamps. Outputs of operators count the same until they are measured."""
    operators = [
        Select(id=f"q/{at}", inputs=(Port(p),), declared=Declared(), where="v > 0") for at, p in enumerate(["s", "q/0"])
    ]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/1"})
    stats = LearnedStats(plan)
    assert stats.stream_bytes("s") is None
    stats.arrived("s", 10, 320)
    assert stats.stream_bytes("s") == 32.0
    stats.learn({"q/0": 10}, {Port("q/0"): 5}, 1.0, {})
    stats.learn({"q/1": 10}, {Port("q/1"): 5}, 1.0, {})
    harness = PolicyHarness(plan, "segment")
    harness.stats = stats
    harness.board.call_fixed_s = 0.0
    harness.board.learned()
    harness.feed("q/0", 1.0)
    harness.run()
    assert harness.policy.explain_unit(harness.board.units[0])["gain"] == 32.0
