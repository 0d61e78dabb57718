"""Learning the selectivity of each input of an operator."""

import numpy as np
import pytest

from headgate.metrics.learning import LearnedStats
from headgate.metrics.side_fit import SideFit
from headgate.plan.model import Edge
from headgate.plan.operators import Declared, Port, Union
from headgate.plan.operators.base import DeclaredSide
from tests.conformance.plans import feeder, make_plan

RNG = np.random.default_rng


@pytest.mark.parametrize("start", [(None, None), (1.0, 1.0), (0.3, 2.0)])
def test_selectivities_are_learned_when_the_shares_of_sides_vary(start):
    fit, rng = SideFit(start), RNG(1)
    for _ in range(300):
        left, right = rng.integers(0, 2000, 2)
        fit.learn([left, right], rng.poisson(0.3 * left + 2.0 * right))
    assert fit.values == pytest.approx((0.3, 2.0), rel=0.1)


def test_no_selectivity_is_below_0():
    fit, rng = SideFit((1.0, 1.0)), RNG(2)
    for _ in range(300):
        left, right = rng.integers(0, 2000, 2)
        fit.learn([left, right], max(0, int(0.5 * left + rng.normal(0, 50))))
    assert all(value is not None and value >= 0.0 for value in fit.values)
    assert fit.values == pytest.approx((0.5, 0.0), abs=0.05)


def test_equal_shares_keep_the_initial_ratio_and_explain_the_total():
    """Every call has two rows on the left for each one on the right, so the sides cannot be separated."""
    fit = SideFit((1.0, 3.0))
    for rows in range(100, 400):
        fit.learn([2 * rows, rows], 10 * rows)
    left, right = fit.values
    assert right == pytest.approx(3 * left, rel=0.1)
    assert 2 * left + right == pytest.approx(10.0, rel=0.05)


def test_the_fit_follows_a_change():
    fit, rng = SideFit((1.0, 1.0)), RNG(3)
    for sides in ((1.0, 2.0), (4.0, 0.5)):
        for _ in range(300):
            left, right = rng.integers(0, 500, 2)
            fit.learn([left, right], round(sides[0] * left + sides[1] * right))
    assert fit.values == pytest.approx((4.0, 0.5), rel=0.1)


def test_before_anything_is_learned():
    assert SideFit((None, 2.0)).values == (None, 2.0)
    fit = SideFit((None, 2.0))
    fit.learn([0, 0], 0)
    assert fit.values == (None, 2.0)


def learned_stats():
    declared = Declared(cost_s=1e-6, sides=(DeclaredSide(1e-6, 1.0), DeclaredSide(4e-6, 1.0)))
    union = Union(id="q/u", inputs=(Port("s"), Port("t")), declared=declared)
    return LearnedStats(make_plan({"s": feeder(), "t": feeder()}, [union], {"q": "q/u"}))


def test_learned_sides_of_an_operator():
    stats, rng = learned_stats(), RNG(4)
    assert [side.cost_s for side in stats.of("q/u").sides] == [1e-6, 4e-6]
    for _ in range(300):
        left, right = map(int, rng.integers(500, 20_000, 2))
        seconds = 0.02 + 2e-6 * left + 8e-6 * right
        out = round(0.5 * left + 0.1 * right)
        entered = {Edge("q/u", 0): left, Edge("q/u", 1): right}
        stats.learn({"q/u": left + right}, {Port("q/u"): out}, seconds, {}, entered)
    sides = stats.of("q/u").sides
    assert [side.selectivity for side in sides] == pytest.approx([0.5, 0.1], rel=0.1)
    assert [side.cost_s for side in sides] == pytest.approx([2e-6, 8e-6], rel=0.2)


def test_without_counts_by_input_the_sides_stay_as_declared():
    stats = learned_stats()
    for _ in range(50):
        stats.learn({"q/u": 100}, {Port("q/u"): 30}, 0.02, {})
    assert [side.selectivity for side in stats.of("q/u").sides] == [1.0, 1.0]
    assert stats.of("q/u").selectivity == pytest.approx(0.3, abs=0.15)
