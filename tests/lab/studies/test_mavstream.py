"""The MavStream study: its query has the load that it is made for, and its claims are judged."""

import math

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate_lab.studies.mavstream import STUDY
from headgate_lab.studies.mavstream.errors import ERROR, windows_of_errors
from headgate_lab.studies.mavstream.runs import points, run
from headgate_lab.studies.mavstream.workload import LOAD, RATES, WEIGHTS, application, flows_of, operator_costs, surges
from headgate_lab.studies.study import Profile, reproduce

SMALL = Profile("smallest", tuples=600, seeds=2, coarse=True)


def point(**wanted):
    return next(one for one in points(SMALL) if all(one[key] == value for key, value in wanted.items()))


@pytest.mark.parametrize("experiment", list(RATES))
def test_mean_rates_are_the_load(experiment):
    flows, costs = flows_of(experiment), operator_costs(experiment)
    assert sum(flows[name] * costs[name] for name in WEIGHTS) == pytest.approx(LOAD)


def test_the_query_has_eight_operators_and_two_joins():
    plan = application(point(policy="pcs", name="6.1")).plan
    assert len(plan.operators) == 8
    assert sum(one.kind == "join" for one in plan.operators.values()) == 2
    assert DeclaredStats(plan).of("q/pairs").selectivity == pytest.approx(1.0)


def test_rates_are_doubled_twice():
    assert surges(100.0) == [[30.0, 2.0], [40.0, 1.0], [70.0, 2.0], [pytest.approx(80.0), 1.0]]


def test_an_optimized_run_starts_with_segment_and_says_what_it_did():
    found = run(point(policy="optimized", name="6.1"))
    assert found["promised_latency_s"] > 0
    assert found["switches"] >= 0


def test_errors_of_random_shedding_are_what_statistics_says():
    found = windows_of_errors(1)
    assert found["thesis_random_sum"] == pytest.approx(ERROR, abs=0.01)
    assert found["thesis_random_avg"] < 0.005
    assert found["scaled_random_sum"] < 0.01


def test_the_study_judges_all_claims():
    outcome = reproduce(STUDY, SMALL, None)
    assert [claim["id"] for claim in outcome.claims] == [f"MAVSTREAM-C{number}" for number in range(1, 10)]
    assert sum(math.isfinite(claim["value"]) for claim in outcome.claims) >= 6
