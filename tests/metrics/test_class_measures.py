"""Worked examples of section 5.14 of the specification of AQSIOS: measures that compare classes, in exact numbers."""

from collections.abc import Mapping, Sequence

import pytest

from headgate.metrics.class_measures import by_priority, priority_inversion, starvation_ratio, weighted_mean

FIVE = (50, 40, 30, 20, 10)
THREE = (30, 20, 10)  # 3F_6


def named(values: Sequence[float]) -> dict[str, float]:
    return {f"class{k}": value for k, value in enumerate(values, start=1)}


def ranked(priorities: Sequence[int]) -> tuple[list[str], dict[str, int]]:
    given: Mapping[str, int] = {f"class{k}": value for k, value in enumerate(priorities, start=1)}
    return by_priority(given), dict(given)


def inversion(priorities: Sequence[int], means: Sequence[float]) -> float | None:
    order, given = ranked(priorities)
    return priority_inversion(order, named(means), given)


@pytest.mark.parametrize(
    ("means", "expected"),
    [((2, 1, 3, 4, 5), 2.4), ((1.42, 1.785, 2.605, 3.065, 3.99), 2.145)],  # the second: published midpoints
)
def test_weighted_mean(means: Sequence[float], expected: float) -> None:
    assert weighted_mean(named(means), ranked(FIVE)[1]) == pytest.approx(expected, abs=5e-4)


def test_inversion_of_the_first_two_classes() -> None:
    assert inversion(FIVE, (2, 1, 3, 4, 5)) == pytest.approx(1.25)
    for first in range(1, 4):  # and of no other pair
        assert inversion(FIVE[first:], (2, 1, 3, 4, 5)[first:]) == 0.0


def test_equal_latencies_or_priorities_are_not_inverted() -> None:
    assert inversion(FIVE, (2, 2, 3, 4, 5)) == 0.0


def test_starvation_ratio() -> None:
    assert starvation_ratio(ranked(FIVE)[0], named((2, 1, 3, 4, 5))) == 2.5


@pytest.mark.parametrize(
    ("priorities", "pair", "published", "times"),
    [(FIVE, 3, 60.9, 41.6), (THREE, 1, 63.5, 43.3)],  # 5I under PCT, 3F_6 under PCT_S
)
def test_a_published_inversion_explained_by_a_single_pair(
    priorities: Sequence[int], pair: int, published: float, times: float
) -> None:
    """The latency of class k over that of class k + 1, if all other latencies are equal."""
    exactly = 1 + published * priorities[pair] / priorities[pair - 1]
    assert exactly == pytest.approx(times, abs=0.05)
    means = [exactly if k == pair else 1.0 for k in range(1, len(priorities) + 1)]
    assert inversion(priorities, means) == pytest.approx(published)
