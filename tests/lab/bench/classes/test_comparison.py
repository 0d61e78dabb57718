"""How the sides of `bench classes` are compared, with fake sides that only record requests."""

from contextlib import nullcontext

import numpy as np
import pytest

from headgate_lab.bench.classes import comparison
from headgate_lab.bench.classes.comparison import (
    FAIR,
    FIFO,
    BothSides,
    best_of,
    best_ways,
    compare,
    headline,
    highest_rate,
    nearest,
    speedups,
    stock_ways,
    warm_up,
)
from headgate_lab.bench.classes.headgate_side import RateTrial
from headgate_lab.bench.classes.measured import Measured, Served, summary
from headgate_lab.bench.classes.stock import VARIANTS
from headgate_lab.bench.classes.stolen import Stolen
from headgate_lab.bench.classes.workload import PRIORITIES, Workload, application, tuples


def measured(means, completed=1.0, cpu_s=1.0):
    done = round(100 * completed)
    classes = {name: {"q": Served(np.array([mean]), 100, done)} for name, mean in zip(PRIORITIES, means, strict=True)}
    return Measured(classes, cpu_s, 1.0, 0.0, {})


class Speaking:
    """A fake side: what it measures, by setting."""

    def __init__(self, found):
        self.found = found
        self.asked = []

    def run(self, workload, setting=None):
        name = setting["name"] if isinstance(setting, dict) else setting
        self.asked.append(name)
        return self.found[name]


def sides(other=None):
    """Two fake sides. Pools with minimum shares are best for class 1; `other` overrides ways of stock (FIFO: None)."""
    fair = {name: measured([0.8 if name == "minshare" else 1.0, 2.0, 3.0]) for name in VARIANTS}
    ours = {name: measured([0.1, 0.2, 0.3], cpu_s=0.5) for name in comparison.POLICIES}
    return BothSides(Speaking({None: measured([2.0, 2.0, 2.0]), **fair, **(other or {})}), Speaking(ours))


@pytest.fixture(autouse=True)
def nobody_steals(monkeypatch):
    """Without this, runs that take no time would seem disturbed by the slightest stolen time."""
    monkeypatch.setattr(comparison, "stolen_time", lambda: nullcontext(Stolen(0.0)))


@pytest.mark.parametrize(
    ("shares", "counted"), [([0.01], 0), ([0.2, 0.03], 1), ([0.2, 0.1, 0.3], 1), ([0.3, 0.2, 0.1], 2)]
)
def test_a_disturbed_run_is_repeated_and_the_least_disturbed_one_counts(monkeypatch, shares, counted):
    left = iter(shares)
    monkeypatch.setattr(comparison, "stolen_time", lambda: nullcontext(Stolen(next(left))))
    both = sides()
    found = both.run(Workload("w", 3, 1.0, 1.0), FIFO)
    assert found.details == {"stolen": shares[counted]}
    assert both.stock.asked == [None] * len(shares)


def test_fair_pools_are_used_in_the_best_way_for_class_1():
    both = sides()
    found = compare(both, Workload("w", 3, 1.0, 1.0), rounds=2)
    assert list(found) == [FIFO, FAIR, *comparison.POLICIES]
    # None is FIFO. The first round has all ways to use pools, the second only the best.
    assert both.stock.asked == [*VARIANTS, None, None, "minshare"]
    assert found[FAIR]["pools"]["used"] == "minshare"
    assert found[FAIR]["pools"]["tried"]["weights"]["completed"] == 1.0
    assert found[FAIR]["pools"]["tried"].keys() == VARIANTS.keys()
    assert found[FAIR]["classes"]["class1"]["mean"] == pytest.approx(0.8)
    assert both.ours.asked == list(comparison.POLICIES) * 2  # in turn


def test_a_way_that_leaves_much_input_is_not_the_best():
    done, undone = (summary(measured([mean, 2.0, 3.0], share)) for mean, share in ((0.2, 1.0), (0.1, 0.3)))
    assert best_of({"done": done, "undone": undone}) == "done"
    assert best_of({"done": done, "faster": summary(measured([0.1, 2.0, 3.0], 0.95))}) == "faster"


def test_headline():
    workload = Workload("w", 3, 1.0, 1.0)
    found = {name: compare(sides(), workload, 1) for name in ("heavy", "medium", "easy")}
    figures = headline(found)
    assert figures["class1_speedup_heavy"] == pytest.approx(8.0)
    assert figures["class1_speedup_easy"] == pytest.approx(8.0)
    assert figures["class1_speedup_weights_heavy"] == pytest.approx(10.0)
    assert figures["class1_speedup_weights_medium"] == pytest.approx(10.0)
    assert figures["inversion_mbd"] == 0.0
    assert figures["completed_min_mbd"] == 1.0
    assert figures["completed_over_stock"] == 1.0
    assert figures["cpu_per_tuple_over_stock"] == pytest.approx(0.5)
    assert figures["cpu_per_tuple_over_cheapest_stock"] == pytest.approx(0.5)


def test_stock_counts_with_its_most_completed_input_and_its_least_cpu():
    """The best way for class 1 completes less than another, and costs more than a third."""
    ways = {
        **dict.fromkeys(VARIANTS, measured([1.0, 2.0, 3.0], completed=0.5)),
        "minshare": measured([0.2, 2.0, 3.0], completed=0.8),
        "windows": measured([1.0, 2.0, 3.0], completed=0.9, cpu_s=0.225),
        None: measured([2.0, 2.0, 2.0]),
    }
    one = compare(sides(ways), Workload("w", 3, 1.0, 1.0), 1)
    assert best_ways(one) == {"class1": f"{FAIR}, minshare", "completed": FIFO, "cpu": f"{FAIR}, windows"}
    figures = headline(dict.fromkeys(("heavy", "medium", "easy"), one))
    assert figures["completed_over_stock"] == 1.0
    assert figures["cpu_per_tuple_over_stock"] == pytest.approx(0.5 * 0.8)
    assert figures["cpu_per_tuple_over_cheapest_stock"] == pytest.approx(2.0)


def test_all_runs_of_the_used_way_count():
    one = compare(sides(), Workload("w", 3, 1.0, 1.0), 2)
    assert stock_ways(one)["stock fair, minshare"] is one[FAIR]
    assert stock_ways(one).keys() == {FIFO, *(f"{FAIR}, {name}" for name in VARIANTS)}
    assert speedups(one)[FIFO] == pytest.approx(20.0)
    assert speedups(one)["stock fair, weights"] == pytest.approx(10.0)


def test_scaling_uses_the_pools_of_the_workload_with_about_as_many_queries():
    assert [nearest(queries) for queries in comparison.SCALES] == ["easy", "medium", "heavy", "heavy"]


def test_the_jvm_of_stock_warms_up_with_large_and_with_many_batches():
    both = sides()
    warm_up(both, Workload("heavy", 50, 1.0, 1.0))
    assert both.stock.asked == [None, "weights", "windows", "paced"]
    assert not both.ours.asked


def test_a_failed_run_is_named():
    class Failing:
        def run(self, workload, setting):
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match=r"^heavy, stock fair, weights: out of memory$"):
        BothSides(Failing(), Failing()).run(Workload("heavy", 3, 1.0, 1.0), f"{FAIR}, weights", "weights")


@pytest.mark.parametrize("limit", [90.0, 700.0, 2000.0, 30_000.0])
def test_the_highest_rate_is_found_from_below(limit):
    class FakeSide:
        def try_rate(self, workload, policy):
            return RateTrial(0.5, 0.5 if workload.rate <= limit else 2.0)

    for first in (50.0, 2000.0, 1e6):
        found = highest_rate(FakeSide(), 50, 1.0, {}, first)
        assert found <= limit < found * comparison.FINER * 1.001


@pytest.mark.parametrize(("halfway", "end", "sustained"), [(0.5, 0.6, True), (0.5, 0.9, False), (3.0, 3.1, False)])
def test_when_a_rate_counts_as_sustained(halfway, end, sustained):
    assert RateTrial(halfway, end).sustained is sustained


def test_every_class_has_every_kind_and_both_sides_the_same_tuples():
    workload = Workload("w", 20, 50.0, 2.0)
    kinds = {name: {q.kind for q in workload.members() if q.class_name == name} for name in PRIORITIES}
    assert all(found == {"filter", "count", "average", "join"} for found in kinds.values())
    app, came = application(workload, {"name": "mbd", "together": 3}), tuples(workload)
    assert app.plan.streams.keys() == came.keys()
    for query in workload.members():
        arrived = sum(len(came[stream].arrivals) for stream in query.streams)
        assert arrived == pytest.approx(100, abs=40)
