"""hr, wehr and cqc with output operators, which have the rate of their feeders (example 5.4 of spec/aqsios.md)."""

import math

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.policies.output_rates import copied_to_roots, output_rates
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from headgate_lab.studies.aqsios.schedulers import settings
from headgate_lab.studies.aqsios.workload import application
from tests.conformance.plans import feeder, make_plan, project, select, union
from tests.policies.boards import PolicyHarness, Waiting

SELECT, PROJECT, OUTPUT = "q/select", "q/project", "q/output"


def example(priority=30):
    operators = [select(SELECT, "s", 5.5, 0.5), project(PROJECT, SELECT, 3.5), project(OUTPUT, PROJECT, 5.5)]
    return make_plan({"s": feeder()}, operators, {"q": OUTPUT}, {"only": priority})


def priorities(name, plan, **parameters):
    """Operator -> its priority."""
    harness = PolicyHarness(plan, name, **parameters)
    return {unit.operators[0]: -harness.policy.urgency(unit) for unit in harness.board.units}


@pytest.mark.parametrize(("name", "factor"), [("hr", 1), ("cqc", 1), ("wehr", 30)])
def test_an_output_has_the_rate_of_its_feeder(name, factor):
    """5.4: HR 0.05, 1/9 and 1/9; WeHR with priority 30: 1.5, 3.333 and 3.333."""
    expected = {SELECT: factor * 0.05, PROJECT: factor / 9, OUTPUT: factor / 9}
    assert priorities(name, example(), roots="copied") == pytest.approx(expected)


@pytest.mark.parametrize("name", ["hr", "cqc", "rb", "prb"])
def test_a_root_that_does_work_has_its_own_rate(name):
    """An application has no output operators: its roots are ordinary operators."""
    assert priorities(name, example())[OUTPUT] == pytest.approx(1 / 5.5)


def test_an_output_waits_for_its_feeder_at_the_same_rate():
    harness = PolicyHarness(example(), "hr", roots="copied")
    harness.feed(OUTPUT, 1.0)
    harness.feed(PROJECT, 2.0)
    assert harness.order() == [PROJECT, OUTPUT]


def test_an_output_has_the_rate_of_its_best_feeder_unless_one_is_unknown():
    def rates(second):
        operators = [project("q/a", "s", 1.0), project("q/b", "t", second), union("q/out", "q/a", "q/b", cost=2.0)]
        board = PolicyHarness(make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/out"}), "rr").board
        return copied_to_roots(board.plan, output_rates(board))

    assert rates(0.5)["q/out"].per_second() == 1 / 2.5
    assert rates(4.0)["q/out"].per_second() == 1 / 3
    assert rates(None)["q/out"] is None


def test_operators_that_read_streams_or_feed_others_keep_their_own_rate():
    operators = [project("q/a", "s", 1.0), project("q/b", "q/a", 1.0), project("r/x", "s", 4.0)]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/b", "also": "q/a", "r": "r/x"})
    board = PolicyHarness(plan, "rr").board
    before, after = output_rates(board), copied_to_roots(plan, output_rates(board))
    assert (after["q/a"], after["r/x"]) == (before["q/a"], before["r/x"])
    assert after["q/b"] == before["q/a"]


@pytest.mark.parametrize("roots", ["own", None])
def test_wrong_roots(roots):
    with pytest.raises(ValueError, match="roots"):
        make_policy("hr", {"roots": roots})


@pytest.mark.parametrize(
    ("workload", "scheduler"), [("A", "HR"), ("A", "CQC single"), ("D", "CQC"), ("D", "CQC literal"), ("D", "WeHR")]
)
def test_no_output_goes_before_its_feeder_in_the_study(workload, scheduler):
    app = application({"workload": workload, "scheduler": scheduler, "tuples": 10, "seed": 1})
    chosen = settings(scheduler)
    policy = make_policy(chosen.name, chosen.parameters)
    board = Board(app.plan, {edge: Waiting() for edge in app.plan.edges}, policy, DeclaredStats(app.plan), 1)
    found = {unit.operators[0]: policy.urgency(unit) for unit in board.units}
    outputs = [operator for operator in app.plan.operators.values() if operator.id.endswith("/output")]
    assert outputs
    for output in outputs:
        assert math.isfinite(found[output.id])
        assert found[output.id] == found[output.inputs[0].node]
