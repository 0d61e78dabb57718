"""Progress charts and their lower envelopes: worked examples, and the definition on random charts."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.scheduling.progress_chart import Point, lower_envelope, progress_chart
from headgate.scheduling.segments import Step
from tests.scheduling.test_segments import steps_of


def slopes(chart):
    return [
        (
            set(range(first + 1, end + 1)),
            (chart[first].size - chart[end].size) / (chart[end].seconds - chart[first].seconds),
        )
        for first, end in lower_envelope(chart)
    ]


def test_t1_select_and_join():
    chart = progress_chart(steps_of([1, 5], [0.2, 0.8]))
    assert chart == [(0, 1, 1), (1, 0.2, 0.2), (2, 0, 0)]
    assert slopes(chart) == [({1}, pytest.approx(0.8)), ({2}, pytest.approx(0.2))]


def test_t4_the_envelope_is_the_segments():
    assert slopes(progress_chart(steps_of([1, 2, 4], [0.5, 0.5, 1]))) == [({1}, 0.5), ({2, 3}, 0.25)]


def test_t5_the_envelope_is_not_the_segments():
    """Equal times, sizes 10, 9.5, 8.6, 7.8: one piece, where segments are {1,2} and {3}."""
    chart = [Point(float(t), size, 1.0) for t, size in enumerate([10, 9.5, 8.6, 7.8])]
    assert slopes(chart) == [({1, 2, 3}, pytest.approx(0.7333, abs=5e-5))]


def test_figure_1_of_cape():
    """Size-proportional times: one piece, slope 0.7737; fixed times: {1,2} 0.728 and {3} 0.12."""
    chart = progress_chart(steps_of([1, 0.25, 0.75], [0.9, 0.1, 1.0]))
    assert slopes(chart) == [({1, 2, 3}, pytest.approx(0.7737, abs=5e-5))]
    fixed = [Point(0, 1, 1), Point(1, 0.9, 1), Point(1.25, 0.09, 1), Point(2, 0, 1)]
    assert slopes(fixed) == [({1, 2}, pytest.approx(0.728)), ({3}, pytest.approx(0.12))]


def test_replacement_plan_of_cape():
    chart = progress_chart(steps_of([1.0, 0.5, 2.0, 1.0], [0.9, 0.2, 0.8, 0.5]))
    assert slopes(chart) == [({1, 2}, pytest.approx(0.5655, abs=5e-5)), ({3, 4}, pytest.approx(0.3571, abs=5e-5))]


def test_what_is_not_known():
    assert progress_chart([Step("a", None, 0.5, 1, 1), Step("b", 1.0, 0.5, 1, 0)]) is None
    assert progress_chart([Step("a", 1.0, None, 1, 1), Step("b", 1.0, 0.5, 1, 0)]) is None
    assert progress_chart([Step("a", 1.0, None, 8, 0)]) == [(0, 8, 1), (1, 0, 0)]  # the sink takes it all
    assert lower_envelope([]) == []
    assert progress_chart([]) == []


def test_operators_that_take_no_time():
    chart = [Point(0, 4, 1), Point(0, 3, 1), Point(0, 3, 1), Point(1, 2, 1), Point(1, 5, 1), Point(3, 0, 1)]
    assert lower_envelope(chart) == [(0, 2), (2, 5)]


def by_definition(chart):
    """From each point to the farthest of those that are reached most steeply."""
    at, pieces = 0, []
    while at < len(chart) - 1:
        steep = {
            j: (chart[at].size - chart[j].size) / (chart[j].seconds - chart[at].seconds)
            for j in range(at + 1, len(chart))
        }
        end = max(steep, key=lambda j: (steep[j], j))
        pieces.append((at, end))
        at = end
    return pieces


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-4, 6)), max_size=9))
def test_one_pass_finds_what_the_definition_says(moves):
    chart = [Point(Fraction(0), Fraction(10), Fraction(1))]
    for seconds, drop in moves:
        last = chart[-1]
        chart.append(Point(last.seconds + seconds, last.size - drop, last.reach))
    assert lower_envelope(chart) == by_definition(chart)
    steep = [(chart[i].size - chart[j].size) / (chart[j].seconds - chart[i].seconds) for i, j in lower_envelope(chart)]
    assert all(before > after for before, after in pairwise(steep))
