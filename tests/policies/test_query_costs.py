"""What a tuple costs on its way through a query, computed by hand: before a fork, costs count once."""

from collections import Counter

import pytest

from headgate.policies.query_costs import QueryCosts, operator_costs
from tests.conformance.plans import feeder, make_plan, project, split, union
from tests.policies.boards import TimedHarness


def forked():
    """10 for the split, then 4 + 2 on each of two branches with half of the tuples. Another query costs as much."""
    operators = [
        split("q/split", "s", {"l": 0.5, "r": 0.5}, cost=10.0),
        project("q/l", "q/split.l", 4.0),
        project("q/r", "q/split.r", 4.0),
        union("q/all", "q/l", "q/r", cost=2.0),
        project("r/x", "t", 16.0),
    ]
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/all", "r": "r/x"})


def test_branches_share_the_cost_before_their_fork():
    harness = TimedHarness(forked(), "mbd")
    assert QueryCosts(harness.board).seconds == pytest.approx({"q": 16.0, "r": 16.0})
    assert Counter(harness.policy.base_schedule) == {0: 1, 1: 1}


def test_an_operator_where_branches_meet_counts_for_each():
    costs = operator_costs(TimedHarness(forked(), "mol").board)
    assert costs == pytest.approx({"q/split": 10.0, "q/l": 2.0, "q/r": 2.0, "q/all": 2.0, "r/x": 16.0})


def test_each_input_bears_its_share_of_the_fixed_cost():
    """Two inputs: 2 + 3 for s and 7 + 3 for t."""
    operators = [project("q/a", "s", 2.0), project("q/b", "t", 7.0), union("q/all", "q/a", "q/b", cost=3.0)]
    plan = make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/all"})
    assert QueryCosts(TimedHarness(plan, "mbd").board).seconds == pytest.approx({"q": 15.0})
