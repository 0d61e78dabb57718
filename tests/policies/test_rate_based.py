"""rb, prb, train, hr and hnr, decision by decision."""

from dataclasses import replace

import pytest

from headgate.metrics.stats import DeclaredStats
from tests.conformance.plans import feeder, make_plan, project, select, union
from tests.policies.boards import PolicyHarness


def two_costs(cheap=1.0, expensive=4.0):
    operators = [project("a/x", "s", expensive), project("b/x", "t", cheap)]
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/x", "b": "b/x"})


def merged():
    operators = [project("q/a", "s", 1.0), project("q/b", "t", 1.0), union("q/u", "q/a", "q/b", cost=0.0)]
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/u"})


@pytest.mark.parametrize("name", ["rb", "prb", "train", "hr", "hnr"])
def test_the_largest_rate_first(name):
    harness = PolicyHarness(two_costs(), name)
    harness.feed("a/x", 1.0, 2.0)
    harness.feed("b/x", 3.0, 4.0)
    assert harness.order() == ["b/x", "b/x", "a/x", "a/x"]


@pytest.mark.parametrize("name", ["rb", "prb", "train"])
def test_ties_go_to_the_oldest_tuple_then_nearest_to_the_root_then_first_in_the_plan(name):
    harness = PolicyHarness(merged(), name)  # both leaves have the same rate
    harness.feed("q/a", 2.0, 3.0)
    harness.feed("q/b", 1.0, 3.0)
    assert harness.order() == ["q/b", "q/a", "q/a", "q/b"]
    operators = [project("q/leaf", "s", 0.0), project("q/root", "q/leaf", 1.0), project("r/x", "s", 1.0)]
    harness = PolicyHarness(make_plan({"s": feeder()}, operators, {"q": "q/root", "r": "r/x"}), name)
    for operator in ("q/leaf", "q/root", "r/x"):
        harness.feed(operator, 1.0)
    assert list(harness.board.plan.operators) == ["q/leaf", "r/x", "q/root"]
    assert harness.order() == ["r/x", "q/root", "q/leaf"]


@pytest.mark.parametrize("name", ["hr", "hnr"])
def test_ties_of_hr_go_to_the_first_in_the_plan(name):
    harness = PolicyHarness(merged(), name)
    harness.feed("q/b", 1.0)
    harness.feed("q/a", 2.0)
    assert harness.order() == ["q/a", "q/b"]


@pytest.mark.parametrize(
    ("name", "parameters", "tuples"),
    [("rb", {}, 1), ("prb", {}, 1), ("train", {}, None), ("train", {"length": 7}, 7), ("hr", {}, None)],
)
def test_how_much_a_decision_takes(name, parameters, tuples):
    harness = PolicyHarness(two_costs(), name, **parameters)
    harness.feed("a/x", *[1.0] * 9)
    assert harness.run().tuples == tuples


def test_normalized_rates():
    """Rates 1/1 and 1/2 over ideal times 10 and 2: hr prefers the first, hnr the second."""
    operators = [project("a/p", "s", 9.0), project("a/q", "a/p", 1.0), project("b/q", "t", 2.0)]
    plan = make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/q", "b": "b/q"})
    for name, want in (("hr", ["a/q", "b/q"]), ("hnr", ["b/q", "a/q"])):
        harness = PolicyHarness(plan, name)
        harness.feed("a/q", 1.0)
        harness.feed("b/q", 1.0)
        assert harness.order() == want


def test_a_unit_without_statistics_goes_first():
    operators = [select("a/x", "s", 1.0), select("b/x", "t", None)]
    harness = PolicyHarness(make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/x", "b": "b/x"}), "rb")
    harness.feed("a/x", 1.0)
    harness.feed("b/x", 2.0)
    decision = harness.run()
    assert (decision.unit.id, decision.tuples) == ("b/x", None)


def test_the_waiting_batch_shares_fixed_costs():
    """1 s or 4 s per tuple, 30 s per call: a single cheap tuple costs 31 s, each of ten expensive ones 7 s."""
    harness = PolicyHarness(two_costs(), "rb", call_fixed_s=30.0)
    harness.feed("b/x", 1.0)
    harness.feed("a/x", *[2.0] * 10)
    first = harness.board.claim(0)
    assert first.decision.unit.id == "a/x"
    assert first.decision.tuples == 8 * 8  # grain is 30 / 4
    harness.board.release(first, 0, 0)
    harness.feed("b/x", *[3.0] * 9)  # now both have ten
    assert harness.run().unit.id == "b/x"


def test_changed_statistics_change_the_ranking():
    harness = PolicyHarness(two_costs(), "rb")
    harness.feed("a/x", 1.0, 2.0)
    harness.feed("b/x", 3.0, 4.0)
    assert harness.run().unit.id == "b/x"
    harness.stats = DeclaredStats(two_costs(cheap=9.0))
    assert harness.run().unit.id == "b/x"  # not notified yet
    harness.feed("b/x", 5.0)
    harness.board.learned()
    assert harness.order() == ["a/x", "a/x", "b/x"]


class TestPreemption:
    """prb compares an arrival with the calls in progress."""

    def harness(self):
        operators = [project(f"{name}/x", name, cost) for name, cost in (("a", 10.0), ("b", 20.0), ("c", 5.0))]
        return PolicyHarness(
            make_plan({n: feeder() for n in "abc"}, operators, {n: f"{n}/x" for n in "abc"}), "prb", slots=2
        )

    def test_the_weakest_of_several_slots_gives_way(self):
        harness = self.harness()
        a, b, c = harness.board.units
        assert harness.policy.preempts((a, b), c) is b
        assert harness.policy.preempts((b, a), c) is b
        b.spent = 12.0  # 8 s left of 20, so a is the weakest now
        assert harness.policy.preempts((a, b), c) is a
        a.spent = 6.0
        assert harness.policy.preempts((a, b), c) is b
        b.spent = 15.0
        assert harness.policy.preempts((a, b), c) is None  # equal to the arrival's
        assert harness.policy.preempts((a,), b) is None

    def test_fixed_costs_of_later_calls_count(self):
        """a/x has 0.5 s to go, but a/y behind it costs 10 s per tuple or per call. Either way c/x is worth more."""
        for cost, fixed in ((10.0, 0.0), (0.0, 10.0)):
            behind = project("a/y", "a/x", cost)
            behind = replace(behind, declared=replace(behind.declared, fixed_s=fixed))
            operators = [project("a/x", "a", 1.0), behind, project("c/x", "c", 1.0)]
            plan = make_plan({n: feeder() for n in "ac"}, operators, {"a": "a/y", "c": "c/x"})
            harness = PolicyHarness(plan, "prb")
            running, _, arrived = harness.board.units
            running.spent = 0.5
            assert harness.policy.preempts((running,), arrived) is running

    def test_a_stopped_tuple_is_ranked_by_what_it_still_needs(self):
        harness = self.harness()
        harness.board.spend(harness.board.units[1].edges[0], 16.0)
        for operator in ("a/x", "b/x", "c/x"):
            harness.feed(operator, 1.0)
        assert [harness.board.claim(slot).decision.unit.id for slot in (0, 1)] == ["b/x", "c/x"]


@pytest.mark.parametrize("name", ["rb", "prb", "train", "hr", "hnr", "chain", "pcs", "segment", "threshold", "mtiq"])
def test_units_that_are_not_ready_are_not_chosen(name):
    harness = PolicyHarness(two_costs(), name)
    assert harness.policy.choose(0) is None
    harness.policy.became_ready(harness.board.units[0])  # announced, but without input
    assert harness.policy.choose(99) is None
    harness.queues[harness.board.units[0].edges[0]].arrivals.append(1.0)
    harness.policy.became_ready(harness.board.units[0])  # and a unit that is not ready
    assert harness.policy.choose(0) is None
