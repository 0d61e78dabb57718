"""The CAPE study: its plans have the load that they are made for, and its claims are judged."""

import math
from statistics import fmean

import pytest

from headgate_lab.studies.cape import STUDY
from headgate_lab.studies.cape.runs import FOUR, points, run
from headgate_lab.studies.cape.workload import LOADS, application, chain_rate, join_rate, loads, policy
from headgate_lab.studies.study import Profile, reproduce

SMALL = Profile("smallest", tuples=1, seeds=2, coarse=True)


def point(**wanted):
    return next(one for one in points(SMALL) if all(one[key] == value for key, value in wanted.items()))


def test_the_chain_has_the_capacity_of_the_specification():
    assert chain_rate(1.0) == pytest.approx(511.8, abs=0.05)


def test_the_join_has_the_load_that_its_rate_is_made_for():
    rate = join_rate(1.5)
    seconds_of_work = 2 * rate * (0.001 + 0.5 * 0.002) + 2 * (rate * 0.5) * (rate * 0.5 * 0.2) * 0.1 * 0.001
    assert seconds_of_work == pytest.approx(1.5)


def test_every_policy_of_a_seed_meets_the_same_loads():
    assert loads(3, 60.0) == loads(3, 60.0)
    assert len(loads(3, 60.0)) == 12
    assert {load for seed in range(20) for load in loads(seed, 60.0)} == set(LOADS)
    assert fmean(LOADS) == pytest.approx(0.925)


def test_a_point_is_an_application_with_its_policy():
    chosen = point(policy="adaptive", goals="delay 0.7, rate 0.3", plan="join")
    app = application(chosen)
    assert app.policy.name == "adaptive"
    assert [goal["weight"] for goal in app.policy.parameters["goals"]] == [0.7, 0.3]
    assert policy(point(policy="mtiq")) == {"name": "mtiq", "batch": 100}


def test_four_times_the_same_candidate_is_that_policy():
    fifo, four = run(point(policy="fifo", plan="chain", seed=0)), run(point(policy=FOUR, seed=0))
    assert four["series_delay_s"] == pytest.approx(fifo["series_delay_s"])
    assert four["switches"] > 0


def test_the_study_judges_all_claims():
    outcome = reproduce(STUDY, SMALL, None)
    assert [claim["id"] for claim in outcome.claims] == [f"CAPE-C{number}" for number in range(1, 12)]
    assert all(math.isfinite(claim["value"]) for claim in outcome.claims)
