"""Policies that give classes time: idle time, when no query has input, is charged to no class."""

import pytest

from headgate.application.checked import RunLimits
from headgate.runtime.simulated.simulation import simulate
from tests.conformance.plans import make_app, make_plan, project, recorded
from tests.policies.boards import TimedHarness
from tests.policies.test_abd_slices import slow
from tests.policies.test_class_based import queries

US = 1e-6


def traced(tmp_path, policy, parameters, gaps, classes, cost=1.0, simulator=None):
    """The calls of a run: a query of one operator for each stream, each in the class of its own name."""
    streams = {f"s-{name}": recorded(tmp_path, f"s-{name}", *times) for name, times in gaps.items()}
    operators = [project(f"{name}/x", f"s-{name}", cost) for name in gaps]
    plan = make_plan(streams, operators, {name: f"{name}/x" for name in gaps}, classes, {name: name for name in gaps})
    app = make_app(plan, policy, parameters, folder=tmp_path, simulator=simulator or {})
    return simulate(app, RunLimits(until_idle=True), trace=True).trace.calls


def test_idle_time_is_no_debt_under_cqc(tmp_path):
    """Slices of 6 and 3 s. b runs for 1 s; 100 s later both have input, and each gets a whole slice."""
    gaps = {"a": (100.0, *[0.0] * 8), "b": (0.0, 100.0, *[0.0] * 8)}
    calls = traced(tmp_path, "cqc", {"cycle": 9.0}, gaps, {"a": 6, "b": 3}, cost=0.5)
    assert [call.unit[0] for call in calls] == ["b", "a", "b"]


def test_long_pauses_cost_no_class_switches_under_cqc(tmp_path):
    """One class, 1,000 s between tuples and a slice of 1 ms: there is one switch to the class per tuple."""
    calls = traced(
        tmp_path, "cqc", {"cycle": 1e-3}, {"a": (0.0, 1000.0, 1000.0)}, {"a": 1}, 1e-4, {"class_switch_s": 1.0}
    )
    assert [call.start for call in calls] == pytest.approx([1.0, 1001.0, 2001.0])


def test_switching_to_a_class_is_not_charged_to_it_under_cqc():
    """Slices of 2 and 1 s, and 1 s per switch to a class: a nevertheless gets two calls of 1 s."""
    harness = TimedHarness(queries({"a": 1.0, "b": 1.0}, {"one": (2, ["a"]), "two": (1, ["b"])}), "cqc", cycle=3.0)
    ran = ""
    for _ in range(6):
        harness.feed("a/x")
        harness.feed("b/x")
        claim = harness.begin()
        claim.started += claim.decision.switches
        harness.end(claim, 1.0 + claim.decision.switches)
        ran += claim.decision.unit.id[0]
    assert ran == "aabaab"


def test_a_pause_does_not_make_the_quota_of_abd_grow():
    """A slice without input has ended, however soon its class has input again."""
    harness = TimedHarness(
        queries({"q": 8 * US, "r": 8 * US}, {"one": (1, ["q", "r"])}), "abd", quota=50 * US, passes=None, literal=True
    )
    harness.feed("q/x")
    assert harness.run(8 * US).unit.id == "q/x"
    harness.board.now += 1.0
    harness.feed("r/x")
    assert harness.run(8 * US).unit.id == "r/x"
    assert harness.policy.quota == 50 * US


def test_a_slice_of_abd_ends_where_it_began_after_a_whole_pass():
    """One pass over three operators: two run, the last is found empty, and the next slice begins with the first."""
    operators = [slow("a/x", "s"), slow("b/x", "t"), slow("c/x", "u")]
    streams = {name: {"kind": "feeder", "rate": 1.0} for name in "stu"}
    harness = TimedHarness(make_plan(streams, operators, {name: f"{name}/x" for name in "abc"}), "abd", quota=1.0)
    harness.feed("a/x")
    harness.feed("b/x")
    assert [harness.run(US).unit.id for _ in range(2)] == ["a/x", "b/x"]
    for name in "abc":
        harness.feed(f"{name}/x")
    assert [harness.run(US).unit.id for _ in range(3)] == ["a/x", "b/x", "c/x"]


def test_abd_reports_the_operators_it_found_empty():
    """The round is h h l. Class h has two operators without input, which counts 2 per slot; then one of l's three."""
    members = {"high": (2, ["h", "i"]), "low": (1, ["l", "m", "n"])}
    harness = TimedHarness(queries(dict.fromkeys("hilmn", 8 * US), members), "abd", quota=1.0)
    harness.feed("m/x")
    decision = harness.run(US)
    assert (decision.unit.id, decision.switches) == ("m/x", harness.policy.schedule.index(1) + 1)
    assert decision.inspected == 2 * harness.policy.schedule.index(1) + 1


def test_an_overrun_of_abd_counts_where_no_tuple_fits():
    """A call overruns the slice of 50 us by 10, so the 18 us of the next operator do not fit: 28 us are missing."""
    streams = {name: {"kind": "feeder", "rate": 1.0} for name in "st"}
    plan = make_plan(streams, [slow("a/x", "s"), slow("b/x", "t")], {"a": "a/x", "b": "b/x"})
    harness = TimedHarness(plan, "abd", quota=50 * US)
    harness.feed("a/x")
    harness.feed("b/x")
    harness.run(60 * US)
    harness.run()
    assert harness.policy.quota == pytest.approx((50 + 18 + 10) * US)
