"""Short runs of the PRB study order the policies as the paper does."""

import pytest

from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.prb.claims import means, saving
from headgate_lab.studies.prb.points import RHO, points, run
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import sweep

ENDS = (0.0, 0.9)  # of the skew


@pytest.fixture(scope="module")
def results() -> SweepResults:
    """Three seeds, 50 streams of 600 tuples, in this process without Spark."""
    wanted = [
        point
        for point in points(Profile("short", tuples=600, seeds=3, coarse=True))
        if point["workload"] == "cost" and point["rho"] == RHO and point["theta"] in ENDS and point["policy"] != "rr"
    ]
    return SweepResults(sweep(run, wanted))


@pytest.mark.parametrize("theta", ENDS)
def test_prb_is_below_rb_is_below_fifo(results: SweepResults, theta: float) -> None:
    prb, rb, fifo = (means(results, policy, workload="cost", theta=theta) for policy in ("prb", "rb", "fifo"))
    assert all(prb[seed] < rb[seed] < fifo[seed] for seed in (0, 1, 2))


def test_the_gain_of_preemption_grows_with_the_skew(results: SweepResults) -> None:
    even, skewed = (saving(results, workload="cost", theta=theta) for theta in ENDS)
    assert all(more > less for less, more in zip(even, skewed, strict=True))
