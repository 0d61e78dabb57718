"""The simulator against queueing theory: M/G/1, costs 2, 4, ..., 100 on 50 streams, utilization 0.9 (prb.md T4)."""

from dataclasses import replace
from statistics import fmean

import pytest

from headgate.application.checked import PolicySettings, RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.bench.simulator import ANALYTIC_RESPONSE, workload

pytestmark = pytest.mark.slow

COSTS = [2.0 * (at + 1) for at in range(50)]
LOAD = 0.9
RATE = LOAD / fmean(COSTS)
SQUARE = fmean(cost**2 for cost in COSTS)


def load_below(cost, or_equal=False):
    """rho_{<x}, or rho_{<=x}: the load of the cheaper tuples."""
    return RATE * sum(s for s in COSTS if s < cost or (or_equal and s == cost)) / len(COSTS)


def analytic_fifo():
    return fmean(COSTS) + RATE * SQUARE / (2 * (1 - LOAD))


def analytic_rb():
    """Non-preemptive priorities, cheapest first."""
    return fmean(x + RATE * SQUARE / (2 * (1 - load_below(x)) * (1 - load_below(x, True))) for x in COSTS)


def analytic_prb():
    """Shortest remaining processing time."""
    total = 0.0
    for x in COSTS:
        cheaper = sum(s**2 for s in COSTS if s <= x) / len(COSTS)
        costlier = x**2 * sum(s > x for s in COSTS) / len(COSTS)
        wait = RATE * (cheaper + costlier) / (2 * (1 - load_below(x)) * (1 - load_below(x, True)))
        # The load of the cheaper is constant between two costs, which are 2 apart.
        served = sum(2.0 / (1 - load_below(s)) for s in COSTS if s <= x)
        total += wait + served
    return total / len(COSTS)


def test_the_analytic_values():
    assert analytic_fifo() == pytest.approx(ANALYTIC_RESPONSE)
    assert analytic_rb() == pytest.approx(233.13, abs=5e-3)
    assert analytic_prb() == pytest.approx(224.37, abs=5e-3)


def mean_response(policy, tuples, seed):
    """The mean until just before the first stream ends. With some streams exhausted the load would be lower, and so
    would the mean (by 2 % with 3,000 tuples per stream)."""
    app = replace(workload(tuples, seed), policy=PolicySettings(policy))
    seconds = tuples * sum(COSTS) / LOAD * (1 - 4 / tuples**0.5)
    report = simulate(app, RunLimits(seconds=seconds)).report
    queries = report["queries"].values()
    return sum(q["latency"]["mean"] * q["outputs"] for q in queries) / sum(q["outputs"] for q in queries)


def test_fifo_has_the_analytic_mean_response():
    """10 seeds x 140,000 tuples: the standard error is about 1.2 %."""
    assert fmean(mean_response("fifo", 3000, seed) for seed in range(10)) == pytest.approx(analytic_fifo(), rel=0.02)


@pytest.mark.parametrize(("policy", "analytic"), [("rb", analytic_rb), ("prb", analytic_prb)])
def test_rate_based_policies_have_the_analytic_mean_response(policy, analytic):
    """fifo on the same arrivals is the control variate: its mean is known, and most of the noise is common to both.

    With 3 seeds x 65,000 tuples the remaining standard error is about 0.5 %.
    """
    seeds = range(3)
    ours = fmean(mean_response(policy, 1500, seed) for seed in seeds)
    control = fmean(mean_response("fifo", 1500, seed) for seed in seeds)
    assert ours * analytic_fifo() / control == pytest.approx(analytic(), rel=0.02)


@pytest.mark.study
@pytest.mark.parametrize(("policy", "analytic"), [("rb", analytic_rb), ("prb", analytic_prb)])
def test_rate_based_policies_without_a_control_variate(policy, analytic):
    """10 seeds x 140,000 tuples, about a minute."""
    assert fmean(mean_response(policy, 3000, seed) for seed in range(10)) == pytest.approx(analytic(), rel=0.02)
