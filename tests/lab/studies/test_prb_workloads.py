"""The workloads of the PRB study are those of the paper."""

from collections import Counter
from dataclasses import replace

import pytest

from headgate.application.checked import RunLimits
from headgate.plan.operators import Declared, Port, Union
from headgate.runtime.simulated import simulate
from headgate_lab.studies.prb.points import points, run, tree_parameters
from headgate_lab.studies.prb.workloads import CLASS, QueryNode, application, path_costs, roots_of, zipf_ranks
from headgate_lab.studies.study import Profile
from tests.applications import bare_plan

FLAT = {"workload": "cost", "theta": 0.9, "rho": 0.9, "policy": "rb", "tuples": 30, "seed": 1, "traced": False}
TREE = {**tree_parameters(depth=5, count=2), "policy": "prb", "tuples": 5, "seed": 1, "traced": False}


def test_zipf_without_skew_is_uniform() -> None:
    ranks = zipf_ranks(0.0, 20_000, seed=1)
    assert (min(ranks), max(ranks)) == (1, 100)
    assert sum(ranks) / len(ranks) == pytest.approx(50.5, rel=0.02)


def test_zipf_with_skew() -> None:
    """P(1) = 1 / sum of i^-0.9 over 100 ranks."""
    ranks = Counter(zipf_ranks(0.9, 50_000, seed=1))
    assert ranks[1] / 50_000 == pytest.approx(1 / sum(i**-0.9 for i in range(1, 101)), rel=0.05)


def test_more_skew_raises_no_cost() -> None:
    assert all(a >= b for a, b in zip(zipf_ranks(0.3, 50, 2), zipf_ranks(0.6, 50, 2), strict=True))


def test_path_costs_are_those_of_equation_1() -> None:
    """Worked example T1: paths of 30 and 60; and with selectivities 0.5, D = 2 + 0.5 * 4."""
    root = QueryNode(10.0, children=(QueryNode(10.0, children=(QueryNode(10.0), QueryNode(40.0))),))
    assert path_costs(root) == [30.0, 60.0]
    assert path_costs(QueryNode(4.0, 0.5, (QueryNode(2.0, 0.5),))) == [4.0]


def test_the_load_is_as_requested() -> None:
    app = application(FLAT)
    rates = [stream.source["rate"] for stream in app.plan.streams.values()]
    work = sum(operator.declared.cost_s or 0.0 for operator in app.plan.operators.values())
    assert len(rates) == 50
    assert len(set(rates)) == 1
    assert rates[0] * work == pytest.approx(0.9)


def test_the_tree() -> None:
    app = application(TREE)
    costs = [operator.declared.cost_s or 0.0 for operator in app.plan.operators.values()]
    assert (len(app.plan.streams), len(costs)) == (64, 127)
    assert costs.count(100.0) == 2
    assert all(1 <= cost <= 10 for cost in costs if cost != 100.0)
    (root,) = roots_of(TREE)
    assert sum(cost > 100 for cost in path_costs(root)) == 4  # two operators at depth 5, two leaves under each


@pytest.mark.parametrize("policy", ["fifo", "rb", "prb"])
def test_a_free_merge_changes_nothing(policy: str) -> None:
    """This is why flat queries are simulated without their root."""
    bare = application({**FLAT, "policy": policy})
    merge = Union(
        id="all/merge",
        inputs=tuple(Port(name) for name in bare.plan.operators),
        declared=Declared(fixed_s=0.0, cost_s=0.0, selectivity=1.0),
    )
    operators = [*bare.plan.operators.values(), merge]
    plan = bare_plan(bare.plan.streams.values(), operators, {"all": Port(merge.id)}, {CLASS: 1})
    merged = replace(bare, plan=plan)
    mean = [simulate(app, RunLimits(until_idle=True)).report["classes"][CLASS]["latency"] for app in (bare, merged)]
    assert mean[0]["mean"] == pytest.approx(mean[1]["mean"], rel=1e-9)


def test_a_run_depends_on_its_point_only() -> None:
    assert run(TREE) == run(TREE)


def test_preemptions_are_counted() -> None:
    """prb preempts an expensive operator, rb never does."""
    expensive = {**TREE, "cost": 300.0, "tuples": 20, "traced": True}
    assert run({**expensive, "policy": "rb"})["preemptions"] == 0
    assert 0 < run(expensive)["preemptions"] < 7


def test_every_tuple_passes_seven_operators() -> None:
    """Overheads are charged for these."""
    result = simulate(application(TREE), RunLimits(until_idle=True))
    assert sum(counts["processed"] for counts in result.operators.values()) == 7 * 64 * TREE["tuples"]


def test_points_are_distinct() -> None:
    full = points(Profile("full", tuples=10_000, seeds=5))
    assert len({tuple(sorted(point.items())) for point in full}) == len(full)
    assert {point["seed"] for point in full} == {0, 1, 2, 3, 4}
    assert max(point["tuples"] for point in full if point["traced"]) == 300
