"""abd: when slices begin and end, with several slots and simulator overheads; the length of a round."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.checked import RunLimits
from headgate.metrics.recent import RecentValues
from headgate.policies.inversion import SUM_MAX, first_frequencies, order_repair
from headgate.runtime.simulated.simulation import simulate
from tests.conformance.plans import make_app, make_plan, project, recorded
from tests.policies.boards import TimedHarness
from tests.policies.test_class_based import queries, slow_operator

US = 1e-6


# Latencies -------------------------------------------------------------------------------------------------------


class RecentLatencies(TimedHarness):
    """The latency of a class comes from its recent values."""

    def __init__(self, recent, *given, **parameters):
        self.recent = recent
        super().__init__(*given, **parameters)

    def latency(self, name, now, statistic, since):
        return self.recent[name].value(now, statistic, since)


def inverted_after_exchange(**parameters):
    """Class a is fast and b slow for 10 s; then b becomes the more important one."""
    times = np.arange(100) / 10
    recent = {"a": RecentValues(), "b": RecentValues()}
    for name, latency in (("a", 1.0), ("b", 3.0)):
        recent[name].add(times, np.full(100, latency))
    plan = queries({"a": 1e-3, "b": 1e-3}, {"a": (2, ["a"]), "b": (1, ["b"])})
    harness = RecentLatencies(recent, plan, "abd", quota=1.0, **parameters)
    harness.board.now = 10.0
    harness.board.set_classes(harness.board.plan.with_priority("a", 1).with_priority("b", 2))
    return harness, recent


def rounds(harness, number):
    for _ in range(number):
        harness.feed("b/x")
        harness.run(1e-3)


def test_latencies_from_before_a_change_of_priorities_do_not_count():
    harness, _ = inverted_after_exchange(window=2.0, samples=1)
    rounds(harness, 40)
    assert harness.policy.frequencies == [2, 1]
    assert harness.policy.updates == 2  # at the start and at the change


def test_latencies_from_after_a_change_of_priorities_count():
    harness, recent = inverted_after_exchange(window=2.0, samples=1)
    rounds(harness, 4)
    for name, latency in (("a", 1.0), ("b", 3.0)):
        recent[name].add(np.array([harness.board.now]), np.array([latency]))
    rounds(harness, 4)
    assert harness.policy.frequencies[0] > 2


# Several slots ---------------------------------------------------------------------------------------------------


def two_operators():
    """Operators of one class, at 10 us per call and 8 us per tuple."""
    streams = {"s": {"kind": "feeder", "rate": 1.0}, "t": {"kind": "feeder", "rate": 1.0}}
    return make_plan(streams, [slow("q/x", "s"), slow("r/x", "t")], {"q": "q/x", "r": "r/x"})


def slow(name, stream):
    operator = project(name, stream, 8 * US)
    return replace(operator, declared=replace(operator.declared, fixed_s=10 * US))


def test_quota_grows_although_another_slot_has_begun_the_next_slice():
    """Slot 0 takes 5 of 10 tuples and 40 us are missing; slot 1 begins the next slice before it is done."""
    harness = TimedHarness(two_operators(), "abd", slots=2, quota=50 * US, literal=True)
    harness.feed("q/x", 10)
    first = harness.begin(0)
    assert first.decision.tuples == 5
    harness.feed("r/x")
    second = harness.begin(1)
    assert second.decision.unit.id == "r/x"
    harness.end(first, 50 * US)
    assert harness.policy.quota == pytest.approx(90 * US)
    harness.end(second, 0.0)
    assert harness.policy.quota == pytest.approx(90 * US)


def test_quota_grows_although_another_slot_finds_nothing():
    harness = TimedHarness(slow_operator(), "abd", slots=2, quota=50 * US)
    harness.feed("q/x", 10)
    claim = harness.begin(0)
    assert harness.begin(1) is None
    harness.end(claim, 52 * US)
    assert harness.policy.quota == pytest.approx(92 * US)  # including an overrun of 2 us


# The clock of a slice --------------------------------------------------------------------------------------------


def test_a_slice_begins_with_its_first_call():
    """Switching to the class took 60 us, then the call took exactly its quota: no time is missing."""
    harness = TimedHarness(slow_operator(), "abd", quota=50 * US)
    harness.feed("q/x", 10)
    claim = harness.begin()
    claim.started += 60 * US
    harness.end(claim, 110 * US)
    assert harness.policy.quota == pytest.approx(90 * US)


def test_first_call_has_the_whole_quota_at_any_time():
    """42 us are exactly enough for 4 tuples, although 100.1 + 42 us - 100.1 is less than that."""
    harness = TimedHarness(slow_operator(), "abd", quota=10 * US + 4 * (8 * US))
    harness.board.now = 100.1
    assert harness.board.now + harness.policy.quota - harness.board.now < harness.policy.quota
    harness.feed("q/x", 4)
    assert harness.run(42 * US).tuples is None
    assert harness.policy.quota == pytest.approx(42 * US)


def simulated(tmp_path, gaps, overheads, seconds=0.5):
    """The trace of two operators whose class has one slot per round; the class with the other slots has no input."""
    sources = {name: recorded(tmp_path, name, *found) for name, found in {"high": (1.0,), **gaps}.items()}
    operators = [slow("h/x", "high"), slow("q/x", "s"), slow("r/x", "t")]
    plan = make_plan(
        sources,
        operators,
        {"h": "h/x", "q": "q/x", "r": "r/x"},
        {"high": 12, "low": 1},
        {"h": "high", "q": "low", "r": "low"},
    )
    app = make_app(plan, "abd", folder=tmp_path, simulator=overheads)
    return simulate(app, RunLimits(seconds=seconds), trace=True).trace


def test_passed_slots_are_not_taken_from_the_slice(tmp_path):
    """Passing seven slots takes 70 us, more than the quota; both operators of the class are called nevertheless."""
    first, second = simulated(tmp_path, {"s": (0.1,), "t": (0.1,)}, {"class_switch_s": 10 * US}).calls
    assert (first.unit, second.unit) == ("q/x", "r/x")
    assert first.start == pytest.approx(0.1 + 70 * US, abs=1e-9)
    assert first.end == pytest.approx(first.start + 18 * US, abs=1e-9)
    assert (second.start, second.end) == pytest.approx((first.end, first.end + 18 * US), abs=1e-9)


@pytest.mark.parametrize(
    ("overheads", "tuples"), [({}, [5]), ({"switch_s": 2 * US}, [4, 1]), ({"call_s": 2 * US}, [4, 1])]
)
def test_estimate_includes_the_switch_to_the_operator(tmp_path, overheads, tuples):
    """10 + 5 * 8 us fit into 50; 2 us more do not."""
    calls = simulated(tmp_path, {"s": (0.1, 0.0, 0.0, 0.0, 0.0), "t": (0.3,)}, overheads).calls
    assert [call.tuples for call in calls if call.unit == "q/x"] == tuples


def test_a_run_that_ends_during_a_switch_to_a_class(tmp_path):
    (call,) = simulated(tmp_path, {"s": (0.1,), "t": (0.3,)}, {"class_switch_s": 10 * US}, 0.1 + 20 * US).calls
    assert (call.start, call.end, call.tuples) == (0.1 + 20 * US, 0.1 + 20 * US, 0)


# The round -------------------------------------------------------------------------------------------------------


def test_large_priorities_do_not_lengthen_the_round():
    plan = queries(dict.fromkeys("abc", 1.0), {"a": (50_000, ["a"]), "b": (25_000, ["b"]), "c": (1, ["c"])})
    policy = TimedHarness(plan, "abd").policy
    assert len(policy.schedule) <= SUM_MAX
    assert [policy.schedule.count(place) for place in range(3)] == [2729, 1365, 1]


@pytest.mark.parametrize(
    ("priorities", "frequencies"),
    [
        ([30, 20, 10], [30, 20, 10]),
        ([SUM_MAX - 1, 1], [SUM_MAX - 1, 1]),
        ([2**31 - 1, 1], [SUM_MAX - 1, 1]),
        ([2**31 - 1, 2, 1], [SUM_MAX - 3, 2, 1]),
        ([2**31 - 1] * 2, [SUM_MAX // 2] * 2),
        ([1] * 5000, [1] * 5000),  # there is no shorter round
        ([], []),
    ],
)
def test_initial_frequencies(priorities, frequencies):
    assert first_frequencies(priorities) == frequencies


@settings(deadline=None)
@given(st.lists(st.integers(1, 2**31 - 1), max_size=90))
def test_initial_frequencies_keep_the_order(drawn):
    priorities = sorted(drawn, reverse=True)
    found = first_frequencies(priorities)
    assert sum(found) <= SUM_MAX
    assert all(frequency >= 1 for frequency in found)
    assert order_repair(found, priorities) == found
    assert len(set(zip(priorities, found, strict=True))) == len(set(priorities))  # equal priorities stay equal


def test_more_classes_than_a_round_can_distinguish():
    found = first_frequencies([1000 * number for number in range(200, 0, -1)])
    assert sum(found) <= SUM_MAX
    assert found == sorted(found, reverse=True)
    assert found[-1] >= 1
