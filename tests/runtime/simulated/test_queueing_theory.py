"""The simulator against queueing theory: M/G/1, costs 2, 4, ..., 100 on 50 streams, utilisation 0.9 (prb.md T4)."""

from statistics import fmean

import pytest

from headgate.bench.simulator import ANALYTIC_RESPONSE, run_headgate


def test_fifo_has_the_analytic_mean_response():
    """4 seeds x 150,000 tuples: the standard error is about 1.5 %."""
    means = [run_headgate(3000, seed)[1] for seed in range(4)]
    assert fmean(means) == pytest.approx(ANALYTIC_RESPONSE, rel=0.04)


def test_the_analytic_value():
    costs = [2.0 * (at + 1) for at in range(50)]
    mean, square = fmean(costs), fmean(cost**2 for cost in costs)
    rate = 0.9 / mean
    assert mean + rate * square / (2 * (1 - 0.9)) == pytest.approx(ANALYTIC_RESPONSE)
