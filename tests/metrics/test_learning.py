"""Learning costs and selectivities from calls."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.metrics.learning import FixedCost, LearnedStats, TimeFit
from headgate.plan.operators import Distinct, Port
from tests.conformance.plans import feeder, make_plan, project, select

FIXED = 0.02


def plan_stats(first_cost: float = 2e-6, second_cost: float = 1e-6) -> LearnedStats:
    made = [select("q/a", "s", first_cost, 0.5), project("q/b", "q/a", second_cost)]
    return LearnedStats(make_plan({"s": feeder()}, made, {"q": "q/b"}))


def call(stats: LearnedStats, rows: int, seconds: float) -> None:
    out = rows // 2
    given = {Port("q/a"): out, Port("q/b"): out}
    stats.learn({"q/a": rows, "q/b": out}, given, seconds, {Port("q/b"): 24 * out})


def cost_per_row(stats: LearnedStats) -> float:
    first, second = stats.of("q/a").cost_s, stats.of("q/b").cost_s
    assert first is not None
    assert second is not None
    return first + second / 2


@pytest.mark.parametrize("true_cost", [0.5e-6, 5e-6, 1e-4])
def test_costs_are_learned_when_batches_vary(true_cost: float) -> None:
    stats, rng = plan_stats(), np.random.default_rng(1)
    for _ in range(300):
        rows = int(rng.integers(500, 20_000))
        call(stats, rows, (FIXED + true_cost * rows) * rng.uniform(0.9, 1.1))
    assert cost_per_row(stats) == pytest.approx(true_cost, rel=0.35)
    assert stats.call_fixed_s is not None
    assert stats.call_fixed_s < FIXED + 1000 * true_cost


def test_operators_keep_the_declared_ratio() -> None:
    stats = plan_stats(4e-6, 1e-6)
    for rows in range(1000, 20_000, 100):
        call(stats, rows, FIXED + 9e-6 * rows)
    first, second = stats.of("q/a").cost_s, stats.of("q/b").cost_s
    assert first is not None
    assert first == pytest.approx(4 * (second or 0.0))


def test_equal_batches_do_not_make_the_cost_diverge() -> None:
    """With calls of one size, fixed cost and cost per row cannot be separated; the shared fixed cost decides.

    A unit whose cost estimate diverged used to get fewer tuples per call than arrived, and never recovered.
    """
    stats, rng = plan_stats(), np.random.default_rng(2)
    for _ in range(2000):
        call(stats, 200, FIXED * rng.uniform(0.9, 1.6))
    assert stats.call_fixed_s == pytest.approx(FIXED, rel=0.2)
    # Imprecise, but bounded by the time of a call minus the fixed cost: 5 of 25 ms on average.
    assert cost_per_row(stats) * 200 < 0.5 * FIXED


def test_a_budget_from_learned_costs_recovers_from_a_bad_start() -> None:
    """Even if declared a thousand times too expensive, a unit with a time budget of 0.1 s reaches large calls."""
    stats, rng = plan_stats(2e-3, 1e-3), np.random.default_rng(3)
    rows = 50
    for _ in range(200):
        call(stats, rows, (FIXED + 2e-6 * rows) * rng.uniform(0.9, 1.3))
        fixed = stats.call_fixed_s or 0.0
        rows = max(50, int((0.1 - fixed) / max(cost_per_row(stats), 1e-9)))
        rows = min(rows, 100_000)
    assert rows > 10_000


def test_selectivity_and_size_start_as_declared_and_follow_the_data() -> None:
    stats = plan_stats()
    assert stats.of("q/a").selectivity == pytest.approx(0.5)
    assert stats.of("q/b").tuple_bytes is None
    for _ in range(200):
        stats.learn({"q/a": 100, "q/b": 25}, {Port("q/a"): 25, Port("q/b"): 25}, FIXED, {Port("q/b"): 24 * 25})
    assert stats.of("q/a").selectivity == pytest.approx(0.25, abs=0.01)
    assert stats.of("q/b").tuple_bytes == pytest.approx(24)


def test_nothing_is_known_before_the_first_call() -> None:
    assert plan_stats().call_fixed_s is None
    assert FixedCost().seconds is None


def test_empty_calls_teach_only_the_fixed_cost() -> None:
    stats = plan_stats()
    call(stats, 0, 0.01)
    assert stats.call_fixed_s == 0.01
    assert stats.of("q/a").cost_s == 2e-6


def test_the_fit_is_exact_on_a_line() -> None:
    fit = TimeFit()
    for work in range(1, 200):
        fit.learn(work, 0.5 + 3.0 * work)
    assert fit.slope(0.5) == pytest.approx(3.0, rel=0.02)


def test_the_cost_of_reading_state_is_not_attributed_to_the_tuples() -> None:
    """Otherwise a unit with windows would get few tuples per call, and its queue would grow forever."""
    made = [select("p/a", "s", 1e-6), Distinct(id="q/b", inputs=(Port("s"),))]
    stats = LearnedStats(make_plan({"s": feeder()}, made, {"p": "p/a", "q": "q/b"}))
    for _ in range(100):
        stats.learn({"p/a": 1000}, {Port("p/a"): 1000}, 0.015, {})
        stats.learn({"q/b": 50}, {Port("q/b"): 0}, 0.2, {})
    own = stats.of("q/b")
    assert own.cost_s is not None
    assert own.fixed_s is not None
    assert stats.call_fixed_s == pytest.approx(0.015, rel=0.3)
    assert stats.call_fixed_s + own.fixed_s == pytest.approx(0.2, rel=0.3)
    assert own.cost_s * 1000 < 0.5, "a thousand tuples would not fit into a second"


def test_calls_without_tuples_teach_the_fixed_cost_of_a_stateful_unit() -> None:
    made = [select("p/a", "s", 1e-6), Distinct(id="q/b", inputs=(Port("s"),))]
    stats = LearnedStats(make_plan({"s": feeder()}, made, {"p": "p/a", "q": "q/b"}))
    for _ in range(50):
        stats.learn({"p/a": 1000}, {Port("p/a"): 1000}, 0.015, {})
        stats.learn({"q/b": 0}, {Port("q/b"): 5}, 0.1, {})
    assert stats.call_fixed_s == pytest.approx(0.015, rel=0.3)
    assert stats.of("q/b").fixed_s == pytest.approx(0.085, rel=0.3)
