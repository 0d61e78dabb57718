"""Arrival processes: worked examples, and properties of every kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.feeder.arrivals import (
    ArrivalProcess,
    Constant,
    Poisson,
    Recorded,
    SelfSimilar,
    make_arrivals,
)

CHANGES = [[3.0, 2.0], [6.0, 0.0], [7.0, 0.5], [40.0, 3.0]]
PAUSES = [[1.5, 1.0], [8.0, 4.0]]

# Every kind: plain, limited, and with changes and pauses. Each call makes a new process from a seed.
MAKERS: dict[str, Callable[[int], ArrivalProcess]] = {
    "constant": lambda seed: Constant(100),
    "constant changed": lambda seed: Constant(300, rows=9000, changes=CHANGES, pauses=PAUSES),
    "poisson": lambda seed: Poisson(100, seed),
    "poisson changed": lambda seed: Poisson(300, seed, rows=9000, changes=CHANGES, pauses=PAUSES),
    "self-similar": lambda seed: SelfSimilar(100, seed),
    "self-similar rows": lambda seed: SelfSimilar(300, seed, flows=16, rows=9000),
    "self-similar changed": lambda seed: SelfSimilar(300, seed, rows=9000, changes=CHANGES, pauses=PAUSES),
    "recorded": lambda seed: Recorded(np.random.default_rng(seed).exponential(0.01, 700)),
    "recorded once": lambda seed: Recorded([0.1, 0.0, 0.2] * 2000, repeat=False, pauses=PAUSES),
}
RANDOM = [name for name in MAKERS if name.split()[0] in ("poisson", "self-similar")]
every_kind = pytest.mark.parametrize("kind", MAKERS)


def test_constant_spaces_arrivals_evenly() -> None:
    assert Constant(4).take(4).tolist() == [0.25, 0.5, 0.75, 1.0]
    assert Constant(4).until(0.75).tolist() == [0.25, 0.5, 0.75]
    assert Constant(4, rows=2).take(9).tolist() == [0.25, 0.5]


def test_a_change_in_mid_gap_shortens_the_rest_of_the_gap() -> None:
    # Half of the gap from 1 to 2 has passed at 1.5; the other half passes four times as fast.
    assert Constant(1, changes=[[1.5, 4.0]]).take(3).tolist() == [1.0, 1.625, 1.875]
    assert Constant(1, changes=[[1.5, 4.0], [2.0, 1.0]]).take(5).tolist() == [
        1.0,
        1.625,
        1.875,
        2.5,
        3.5,
    ]


def test_the_rest_of_a_gap_continues_after_a_pause() -> None:
    assert Constant(1, pauses=[[2.5, 10.0]]).take(4).tolist() == [1.0, 2.0, 13.0, 14.0]
    # A tuple that is due exactly at the start of the pause comes at its end.
    assert Constant(1, pauses=[[2.0, 10.0]]).take(3).tolist() == [1.0, 12.0, 13.0]


def test_a_change_may_fall_into_a_pause() -> None:
    assert Constant(1, changes=[[3.0, 2.0]], pauses=[[2.5, 1.0]]).take(4).tolist() == [1.0, 2.0, 3.75, 4.25]


def test_a_last_factor_of_zero_ends_the_process() -> None:
    process = Constant(2, changes=[[1.25, 0.0]])
    assert process.until(np.inf).tolist() == [0.5, 1.0]
    assert process.take(1).tolist() == []


def test_recorded_gaps_once_repeated_and_rescaled() -> None:
    assert Recorded([1, 0, 2], repeat=False).take(9).tolist() == [1, 1, 3]
    assert Recorded([1, 0, 2]).take(7).tolist() == [1, 1, 3, 4, 4, 6, 7]
    assert Recorded([1, 0, 2], rate=2).take(4).tolist() == [0.5, 0.5, 1.5, 2.0]
    assert Recorded("1, 0  # two at once\n2\n", repeat=False, rows=2).take(9).tolist() == [1, 1]


def test_self_similar_has_exactly_the_given_rate_if_rows_are_given() -> None:
    for seed in range(5):
        times = SelfSimilar(250, seed, rows=10_000).until(np.inf)
        assert len(times) == 10_000
        assert times[-1] == pytest.approx(40.0, rel=1e-12)


@every_kind
@settings(deadline=None, max_examples=25)
@given(
    calls=st.lists(st.one_of(st.integers(0, 3000), st.floats(0, 60)), max_size=12),
    seed=st.integers(0, 2**40),
)
def test_results_do_not_depend_on_the_calls(kind: str, calls: list[int | float], seed: int) -> None:
    whole = MAKERS[kind](seed).take(12_000)
    process = MAKERS[kind](seed)
    seen = np.empty(0)
    for call in calls:
        if isinstance(call, int):
            piece = process.take(call)
        else:
            piece = process.until(call)
            assert (piece <= call).all()
            more = len(seen) + len(piece)
            assert more >= len(whole) or whole[more] > call
        seen = np.concatenate([seen, piece])
    rest = process.take(max(0, 12_000 - len(seen)))
    assert np.concatenate([seen, rest])[:12_000].tobytes() == whole.tobytes()


@every_kind
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**40))
def test_times_start_at_or_after_zero_and_never_decrease(kind: str, seed: int) -> None:
    times = MAKERS[kind](seed).take(20_000)
    assert times.dtype == np.float64
    assert np.isfinite(times).all()
    assert times[0] >= 0
    assert (np.diff(times) >= 0).all()


@pytest.mark.parametrize("kind", RANDOM)
def test_the_seed_decides(kind: str) -> None:
    once, again, other = (MAKERS[kind](seed).take(5000) for seed in (1, 1, 2))
    assert once.tobytes() == again.tobytes()
    assert once.tobytes() != other.tobytes()


@pytest.mark.parametrize("kind", ["constant", "poisson", "self-similar"])
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**40),
    rate=st.floats(0.5, 2000),
    start=st.floats(0, 20),
    length=st.floats(0, 20),
    factor=st.floats(0, 4),
)
def test_nothing_arrives_in_a_pause(
    kind: str, seed: int, rate: float, start: float, length: float, factor: float
) -> None:
    changes = [[start / 2, factor], [start + length / 2, 1.0]]
    changes = changes if start + length / 2 > start / 2 else []
    times = make_arrivals(kind, rate, seed=seed, changes=changes, pauses=[[start, length]]).until(45)
    assert not ((times >= start) & (times < start + length)).any()


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**40), rate=st.floats(10, 5000))
def test_poisson_keeps_its_mean_rate(seed: int, rate: float) -> None:
    n = 20_000
    last = Poisson(rate, seed).take(n)[-1]
    # The sum of n exponential gaps has a relative standard error of 1 / sqrt(n).
    assert last * rate / n == pytest.approx(1.0, abs=6 / np.sqrt(n))


def test_poisson_gaps_and_counts_have_the_spread_of_a_poisson_process() -> None:
    times = Poisson(50, 3).until(2000)
    gaps = np.diff(times)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.02)
    counts = np.histogram(times, bins=np.arange(0, 2001))[0]
    assert counts.var() / counts.mean() == pytest.approx(1.0, abs=6 * np.sqrt(2 / 2000))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**40))
def test_doubling_the_rate_doubles_the_arrivals(seed: int) -> None:
    times = Poisson(500, seed, changes=[[10, 2.0], [20, 1.0]], pauses=[[30, 10]]).until(50)
    per_phase = np.histogram(times, bins=[0, 10, 20, 30, 40, 50])[0]
    expected = np.array([5000, 10_000, 5000, 0, 5000])
    assert (np.abs(per_phase - expected) <= 6 * np.sqrt(expected)).all()


def test_changes_by_a_factor_of_1_keep_every_digit() -> None:
    plain, ones = Poisson(7, 1).take(1000), Poisson(7, 1, changes=[[3, 1.0]], pauses=[[4, 0]]).take(1000)
    assert plain.tobytes() == ones.tobytes()
