"""How what a paper says becomes criteria: numbers, bounds, none and some, trends, starving, what is left open."""

import math

import pytest

from headgate_lab.studies.claims import Criterion, judge
from headgate_lab.studies.judging import above, below, does_not_starve, left_open, near, none, some, starves, trend


def verdict(*criteria: Criterion) -> str:
    return judge(criteria, [0.0, 0.0], "").verdict


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        (near("it", [5.5, 5.6, 5.5], 10.0), "reproduced"),
        (near("it", [19.0, 19.1, 19.0], 10.0), "reproduced"),
        (near("it", [4.5, 4.6, 4.5], 10.0), "refuted"),
        (near("it", [-5.5, -5.6, -5.5], -10.0), "reproduced"),
        (near("it", [5.5, 5.6, 5.5], -10.0), "refuted"),
        (above("it", [5.5, 5.6, 5.5], 10.0), "reproduced"),
        (above("it", [4.5, 4.6, 4.5], 10.0), "refuted"),
        (below("it", [19.0, 19.1, 19.0], 10.0), "reproduced"),
        (below("it", [21.0, 21.1, 21.0], 10.0), "refuted"),
    ],
)
def test_published_numbers_and_bounds(criterion: Criterion, expected: str) -> None:
    assert verdict(criterion) == expected


@pytest.mark.parametrize(
    ("samples", "no", "yes"),
    [
        ([0.0] * 5, "reproduced", "refuted"),
        ([0.0, 0.0, 7.0, 0.0, 0.0], "reproduced", "refuted"),
        ([0.0, 0.0, 0.1, 0.1, 0.0], "inconclusive", "inconclusive"),
        ([0.1, 0.2, 0.1, 0.0, 9.0], "refuted", "reproduced"),
        ([0.0], "inconclusive", "inconclusive"),
        ([0.0, 0.0, math.nan, 0.0, 0.0], "inconclusive", "inconclusive"),
        ([0.0] * 8 + [1.0] * 2, "reproduced", "refuted"),
        ([0.0] * 7 + [1.0] * 3, "inconclusive", "inconclusive"),
    ],
)
def test_none_and_some_are_counted_by_seed(samples: list[float], no: str, yes: str) -> None:
    assert (verdict(none("it", samples)), verdict(some("it", samples))) == (no, yes)


def curve(*means: float) -> list[list[float]]:
    return [[mean, mean + 0.01, mean - 0.01] for mean in means]


@pytest.mark.parametrize(
    ("means", "up", "down"),
    [
        ((1.0, 2.0, 3.0, 4.0), "reproduced", "refuted"),
        ((1.0, 2.0, 1.9, 4.0), "reproduced", "refuted"),  # 0.1 of 3 is less than a tenth
        ((1.0, 2.0, 1.5, 4.0), "refuted", "refuted"),
        ((4.0, 3.0, 2.0, 1.0), "refuted", "reproduced"),
        ((1.0, 5.0, 4.9, 1.0), "refuted", "refuted"),
    ],
)
def test_a_trend_may_step_back_a_little(means: tuple[float, ...], up: str, down: str) -> None:
    values = list(range(len(means)))
    assert verdict(*trend("it", values, curve(*means))) == up
    assert verdict(*trend("it", values, curve(*means), up=False)) == down


def test_starving_is_a_level() -> None:
    starving, well = {0: 40.0, 1: 50.0, 2: 45.0}, {0: 4.0, 1: 5.0, 2: 4.0}
    assert verdict(starves("class 5", starving, well)) == "reproduced"
    assert verdict(does_not_starve("class 5", starving, well)) == "refuted"
    assert verdict(does_not_starve("class 5", well, well)) == "reproduced"


def test_what_is_left_open_says_why() -> None:
    found = judge([left_open("MRR inverted", "all classes are alike")], [1.0, 1.0], "text")
    assert found.verdict == "inconclusive"
    assert found.measured == "text; open: MRR inverted (all classes are alike)"
    assert verdict(left_open("a", "b"), near("it", [1.0, 1.0], 9.0)) == "refuted"
