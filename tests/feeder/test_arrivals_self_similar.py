"""Self-similar arrivals: flows in equilibrium, and burstiness that averaging does not remove."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.feeder.arrivals import ArrivalProcess, Poisson, SelfSimilar
from headgate.feeder.arrivals.self_similar import OnOffFlows
from headgate.feeder.arrivals.time_warp import Floats


def hurst(process: ArrivalProcess, seconds: int) -> float:
    """Variance-time estimate: means over m seconds have a variance ~ m^(2H - 2); memoryless, H = 0.5."""
    counts = np.histogram(process.until(seconds), bins=np.arange(seconds + 1))[0]
    sizes = np.array([2, 4, 8, 16, 32, 64, 128])
    variances = [counts[: seconds // m * m].reshape(-1, m).mean(axis=1).var() for m in sizes]
    slope = np.polyfit(np.log(sizes), np.log(variances), 1)[0]
    return float(1 + slope / 2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hurst_is_clearly_above_that_of_a_poisson_process(seed: int) -> None:
    poisson, bursty = hurst(Poisson(50, seed), 8000), hurst(SelfSimilar(50, seed), 8000)
    assert poisson == pytest.approx(0.5, abs=0.08)
    assert 0.7 < bursty < 1.0  # (3 - 1.2) / 2 = 0.9 in the limit; a finite sample gives less
    assert bursty > poisson + 0.15


def test_the_rate_is_right_in_expectation_from_the_start() -> None:
    # In equilibrium the count in any interval has the mean rate * length, with no warm-up.
    early, late = [], []
    for seed in range(300):
        times = SelfSimilar(20, seed).until(220)
        early.append(np.count_nonzero(times <= 20) / 400)
        late.append(np.count_nonzero(times > 200) / 400)
    for ratios in (early, late):
        assert np.mean(ratios) == pytest.approx(1.0, abs=5 * np.std(ratios) / np.sqrt(len(ratios)))


def test_doubling_the_rate_keeps_the_bursts_and_doubles_the_arrivals() -> None:
    bins = np.arange(0, 401, 10)  # at these rates the Poisson noise in a bin is small beside the bursts
    slow, fast = (np.histogram(SelfSimilar(rate, 5).until(400), bins=bins)[0] for rate in (4000, 8000))
    assert fast.sum() / slow.sum() == pytest.approx(2.0, rel=0.02)
    assert np.corrcoef(slow, fast)[0, 1] > 0.95


def test_changes_and_pauses_warp_the_calibrated_process() -> None:
    plain = SelfSimilar(100, 4, rows=3000).until(np.inf)
    warped = SelfSimilar(100, 4, rows=3000, changes=[[10, 2.0]], pauses=[[12, 5]]).until(np.inf)
    at = np.searchsorted(plain, [10, 14])
    assert np.array_equal(warped[: at[0]], plain[: at[0]])
    assert np.allclose(warped[at[0] : at[1]], 10 + (plain[at[0] : at[1]] - 10) / 2)
    assert np.allclose(warped[at[1] :], 17 + (plain[at[1] :] - 14) / 2)
    assert warped[-1] == pytest.approx(25)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**40),
    flows=st.integers(1, 20),
    shapes=st.tuples(st.floats(1.01, 3), st.floats(1.01, 3)),
    scales=st.tuples(st.floats(0.01, 10), st.floats(0.01, 10)),
)
def test_between_none_and_all_flows_are_on(
    seed: int, flows: int, shapes: tuple[float, float], scales: tuple[float, float]
) -> None:
    process = OnOffFlows(10.0, seed, flows, shapes, scales)
    since = area = slope = 0.0
    for number in range(4):
        times, areas, slopes = process.more_knots()
        assert times[0] >= since if number else times[0] == 0.0
        assert (np.diff(times) >= 0).all()
        assert (np.diff(areas) >= 0).all()
        on: Floats = slopes / process.on_rate
        assert np.allclose(on, np.rint(on))
        assert on.min() >= 0
        assert on.max() <= flows + 1e-9
        assert areas[0] == pytest.approx(area + slope * (times[0] - since))  # continues where the previous part ends
        since, area, slope = times[-1], areas[-1], slopes[-1]


def test_the_on_fraction_of_the_paper() -> None:
    # path_segment.md 4.0: means 3.5 b and 6 b, so with equal b a flow is ON 36.8 % of the time.
    process = OnOffFlows(1.0, 0, 64, (1.4, 1.2), (1.0, 1.0))
    assert 1 / (64 * process.on_rate) == pytest.approx(3.5 / 9.5)
