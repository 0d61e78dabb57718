"""Output rates: the worked examples of Sharaf et al., then shared operators, sides, and what is not known."""

import math

import pytest
from hypothesis import given, settings

from headgate.plan.operators import Declared, Port, Union
from headgate.plan.operators.base import DeclaredSide
from headgate.policies.output_rates import distances_to_sink, output_rates
from headgate.policies.worth import ratio
from tests.conformance.plans import feeder, make_plan, project, select, split, union
from tests.conformance.strategies import plans
from tests.policies.boards import PolicyHarness


def rates(plan, call_fixed_s=0.0, **options):
    board = PolicyHarness(plan, "rr", call_fixed_s).board
    return {name.removeprefix("q/"): worth for name, worth in output_rates(board, **options).items()}


def figure_2():
    operators = [
        project("q/O1", "s1", 10.0),
        project("q/O4", "s2", 40.0),
        union("q/O2", "q/O1", "q/O4", cost=10.0),
        project("q/O3", "q/O2", 10.0),
    ]
    return make_plan({"s1": feeder(), "s2": feeder()}, operators, {"q": "q/O3"})


def test_t1_rates_of_figure_2():
    found = {name: worth.per_second() for name, worth in rates(figure_2()).items()}
    assert found == {"O1": 1 / 30, "O4": 1 / 60, "O2": 1 / 20, "O3": 1 / 10}


def test_t3_selectivities():
    plan = make_plan({"s": feeder()}, [select("q/O1", "s", 2.0, 0.5), select("q/O2", "q/O1", 4.0, 0.5)], {"q": "q/O2"})
    found = rates(plan)
    assert (found["O1"].per_second(), found["O2"].per_second()) == (0.0625, 0.125)
    assert found["O2"].per_second(spent_s=2.0) == 0.25  # N / (D - delta)


def test_hr_example_of_al_moakar():
    """select(5.5, 0.5) -> project(3.5) -> output(5.5): 0.05 and 1/9."""
    operators = [select("q/s", "s", 5.5, 0.5), project("q/p", "q/s", 3.5), project("q/o", "q/p", 5.5)]
    found = rates(make_plan({"s": feeder()}, operators, {"q": "q/o"}), best_branches=True)
    assert found["s"].per_second() == 0.05
    assert found["p"].per_second() == 1 / 9


def test_all_readers_count_or_only_those_that_raise_the_rate():
    operators = [project("q/a", "s", 1.0), project("q/good", "q/a", 1.0), project("r/bad", "q/a", 98.0)]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/good", "r": "r/bad"})
    assert rates(plan)["a"].per_second() == 2 / 100
    assert rates(plan, best_branches=True)["a"].per_second() == 1 / 2
    level = make_plan({"s": feeder()}, [*operators[:2], project("r/bad", "q/a", 1.0)], {"q": "q/good", "r": "r/bad"})
    assert rates(level, best_branches=True)["a"] == (2.0, 3.0, 0.0)


def test_branches_and_results_inside():
    operators = [split("q/x", "s", {"l": 0.25, "r": 0.5}, cost=1.0), project("q/l", "q/x.l", 8.0)]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/l", "r": "q/x.r", "again": "q/x.r"})
    assert rates(plan)["x"] == (0.25 + 2 * 0.5, 1 + 0.25 * 8, 0.0)


def test_a_tuple_counts_by_its_side():
    sides = (DeclaredSide(10.0, 2.0), DeclaredSide(4.0, 0.5))
    both = Union(id="q/both", inputs=(Port("q/a"), Port("q/b")), declared=Declared(fixed_s=0.0, sides=sides))
    operators = [project("q/a", "s", 1.0), project("q/b", "t", 1.0), both]
    found = rates(make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/both"}))
    assert found["a"].per_second() == 2 / 11
    assert found["b"].per_second() == 0.5 / 5
    assert found["both"] == (1.25, 7.0, 0.0)  # equal rates of both sides


def test_fixed_costs_of_all_calls_to_the_root_are_shared_by_the_batch():
    worth = rates(figure_2(), call_fixed_s=6.0)["O1"]
    assert worth == (1.0, 30.0, 18.0)
    assert worth.per_second(9) == 1 / 32
    assert worth.per_second(0) == worth.per_second(1) == 1 / 48
    assert worth.per_second(10**9) == pytest.approx(1 / 30)


def test_what_is_not_known_and_what_costs_nothing():
    operators = [select("q/a", "s", 1.0), select("q/b", "q/a", None), select("q/c", "q/b", 0.0), select("q/d", "q/c")]
    found = rates(make_plan({"s": feeder()}, operators, {"q": "q/d"}))
    assert (found["a"], found["b"]) == (None, None)
    assert found["c"].per_second() == math.inf
    nothing = make_plan({"s": feeder()}, [select("q/a", "s", 0.0, 0.0)], {"q": "q/a"})
    assert rates(nothing)["a"].per_second() == 0.0
    assert rates(figure_2(), call_fixed_s=None)["O3"] is None


def test_distances_to_the_sink():
    board = PolicyHarness(figure_2(), "rr").board
    assert distances_to_sink(board) == {"q/O1": 2, "q/O4": 2, "q/O2": 1, "q/O3": 0}


@settings(max_examples=60, deadline=None)
@given(plan=plans())
def test_f1_the_best_reader_is_never_worse_than_what_feeds_it(plan):
    """GOR(parent) >= GOR(O), or for several parents the best of theirs. It holds without fixed costs: an operator that
    gives two tuples for one halves each tuple's share of the fixed costs that follow."""
    found = rates(plan)
    for operator in plan.operators.values():
        edges = [edge for port in operator.ports for edge in plan.consumers[port]]
        worth = found[operator.id.removeprefix("q/")]
        if edges and worth is not None and not any(port in plan.sinks for port in operator.ports):
            onward = [found[edge.operator.removeprefix("q/")] for edge in edges]
            if all(other is not None for other in onward):
                best = max(ratio(other.gain, other.cost_s) for other in onward)
                assert ratio(worth.gain, worth.cost_s) <= best * (1 + 1e-12)
