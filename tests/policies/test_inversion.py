"""Inversion modules: the worked examples, then what holds for all frequencies."""

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policies.inversion import MODULES, SUM_MAX, abd_frequencies, dvp, inverted_pairs, order_repair

ALL = {**MODULES, "abd": abd_frequencies}


def falling(number):
    return list(range(number, 0, -1))


def violated(number, *violators):
    """The inverted pairs when these of `number` classes, counted from 1, are violators."""
    return [violator in violators for violator in range(2, number + 1)]


def changed(module, frequencies, *violators):
    given_frequencies = tuple(frequencies)
    number = len(given_frequencies)
    return ALL[module](given_frequencies, falling(number), violated(number, *violators))


@pytest.mark.parametrize(
    ("module", "frequencies", "violators", "result"),
    [
        ("dvp", (50, 40, 30), (3,), [50, 40, 29]),
        ("dvp", (60, 20, 1), (3,), [60, 21, 1]),
        ("dvp", (30, 20, 19), (2,), [60, 39, 38]),
        ("dvp", (4, 3, 2, 1), (4,), [5, 4, 3, 1]),
        ("dvp", (3, 2, 1), (2, 3), [6, 3, 1]),
        ("dvp", (50, 40, 30, 20, 10), (3, 5), [50, 40, 29, 20, 9]),
        ("ivp", (50, 40, 30, 20, 10), (3,), [50, 41, 30, 20, 10]),
        ("ivp", (42, 41, 30), (3,), [43, 42, 30]),
        ("ivp", (43, 42, 41, 10), (4,), [44, 43, 42, 10]),
        ("dsp", (50, 40, 30, 20, 10), (3,), [50, 40, 29, 19, 9]),
        ("dsp", (3, 2, 1), (3,), [4, 3, 1]),
        ("dsp", (5, 4, 3, 2, 1), (3,), [6, 5, 3, 2, 1]),
        ("dsp", (50, 40, 30, 20, 10), (2, 4), [50, 39, 29, 18, 8]),
        ("dsp", (50, 40, 30, 20, 1), (3,), [50, 40, 29, 19, 1]),
        ("dsp", (3, 2, 1), (2,), [4, 2, 1]),
        ("dsp", (3, 2, 1), (2, 3), [4, 2, 1]),
        ("isp", (50, 40, 30, 20, 10), (3,), [51, 41, 30, 20, 10]),
        ("isp", (50, 40, 30, 20, 10), (3, 5), [52, 42, 31, 21, 10]),
        ("isp", (3, 2, 1), (3,), [4, 3, 1]),
        ("abd", (30, 20, 10), (3,), [30, 20, 9]),
        ("abd", (3, 2, 1), (3,), [4, 3, 1]),
        ("abd", (3, 2, 1), (2,), [4, 2, 1]),  # lowered to (3, 1, 1), which the repair of the order undoes
    ],
)
def test_examples(module, frequencies, violators, result):
    assert changed(module, frequencies, *violators) == result


def test_which_pairs_are_inverted():
    assert inverted_pairs([3, 2, 1], [2.0, 1.0, 1.0]) == [True, False]
    assert inverted_pairs([3, 3, 1], [2.0, 1.0, 0.5]) == [False, True]
    assert inverted_pairs([3, 2, 1], [2.0, None, 1.0]) == [False, False]
    assert inverted_pairs([3], [1.0]) == inverted_pairs([], []) == []
    with pytest.raises(ValueError):
        inverted_pairs([2, 1], [1.0])


def test_repairs_carry_upwards_and_leave_equals_alone():
    assert order_repair([4, 3, 3, 1], [4, 3, 2, 1]) == [5, 4, 3, 1]
    assert order_repair([4, 4, 3], [2, 2, 1]) == [4, 4, 3]
    assert order_repair([1, 4, 3], [2, 2, 1]) == [4, 4, 3]
    assert order_repair([], []) == []


def test_dvp_stops_doubling():
    frequencies, rounds = [50, 31, 30], []
    for _ in range(7):
        frequencies = dvp(frequencies, [3, 2, 1], [True, False])
        rounds.append(frequencies)
    assert rounds[:3] == [[100, 61, 60], [200, 121, 120], [400, 241, 240]]
    assert rounds[4:] == [[1600, 961, 960], [1601, 961, 960], [1602, 961, 960]]
    assert dvp([5000, 400, 1], [3, 2, 1], [True, False]) == [5000, 399, 1]  # large, but not because of doubling


def test_abd_stops_growing():
    assert abd_frequencies([SUM_MAX - 1, 1], [2, 1], [True]) == [SUM_MAX - 1, 1]
    assert abd_frequencies([SUM_MAX - 2, 1], [2, 1], [True]) == [SUM_MAX - 1, 1]
    assert abd_frequencies([SUM_MAX, 5], [2, 1], [True]) == [SUM_MAX, 4]


@pytest.mark.parametrize("module", ALL)
def test_all_small_frequencies(module):
    for number in (2, 3, 4):
        for chosen, pairs in product(combinations(range(1, 9), number), product([False, True], repeat=number - 1)):
            frequencies = chosen[::-1]
            found = ALL[module](frequencies, falling(number), pairs)
            assert sorted(set(found), reverse=True) == found, (frequencies, pairs)
            assert found[-1] >= 1
            assert (tuple(found) != frequencies) == any(pairs), (frequencies, pairs)
            if sum(pairs) == 1:
                i = pairs.index(True)
                assert Fraction(found[i], found[i + 1]) > Fraction(frequencies[i], frequencies[i + 1])


@st.composite
def classes(draw):
    """Decreasing priorities with ties, frequencies in order, and latencies."""
    priorities = sorted(draw(st.lists(st.integers(1, 6), max_size=8)), reverse=True)
    number = len(priorities)
    raw = draw(st.lists(st.integers(1, 40), min_size=number, max_size=number))
    latencies = draw(st.lists(st.none() | st.integers(0, 5), min_size=number, max_size=number))
    return priorities, order_repair(raw, priorities), latencies


@pytest.mark.parametrize("module", ALL)
@settings(deadline=None)
@given(case=classes())
def test_order_with_equal_priorities(module, case):
    priorities, frequencies, latencies = case
    before, pairs = list(frequencies), inverted_pairs(priorities, latencies)
    found = ALL[module](frequencies, priorities, pairs)
    assert frequencies == before
    assert order_repair(found, priorities) == found
    assert all(frequency >= 1 for frequency in found)
    assert (found != frequencies) == any(pairs)
