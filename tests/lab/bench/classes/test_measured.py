"""The figures of `bench classes`."""

from dataclasses import replace

import numpy as np
import pytest

from headgate_lab.bench.classes.measured import Measured, Served, summary


def served(latencies, completed=100, arrived=100):
    return Served(np.array(latencies, dtype=float), arrived, completed)


def measured(latencies, completed=(100, 100, 100), cpu_s=0.5):
    """A run of 10 s, of which 2 are warm-up; one query per class."""
    names = ("class1", "class2", "class3")
    queries = {n: {"q": served(found, done)} for n, found, done in zip(names, latencies, completed, strict=True)}
    return Measured(queries, cpu_s, 10.0, 2.0, {"why": "test"})


def test_figures_of_a_class():
    found = summary(measured([[1.0, 2.0, 3.0, 4.0], [1.0], [1.0]]))["classes"]["class1"]
    assert found == {
        "mean": 2.5,
        "p50": 2.0,
        "p75": 3.0,
        "p95": 4.0,
        "mean_of_results": 2.5,
        "by_query": {"q": 2.5},
        "results": 4,
        "arrived": 100,
        "completed": 1.0,
    }


def test_each_query_has_the_same_weight():
    """A query has a hundred results at 1 s, another one at 3 s; a third processed its input and found nothing."""
    one = measured([[1.0], [], []])
    both = {"class1": {"many": served(np.ones(100)), "one": served([3.0]), "none": served([], completed=99)}}
    found = summary(replace(one, classes=both))["classes"]["class1"]
    assert (found["mean"], found["p50"], found["p75"]) == (pytest.approx(2.0), 1.0, 3.0)
    assert found["by_query"] == pytest.approx({"many": 1.0, "one": 3.0})
    assert found["results"] == 101


def test_unfinished_input_counts_with_its_age():
    """Of the 8 s that count, the last 4 were not completed: half of the time, at ages of 0 to 4 s."""
    found = summary(measured([[1.0], [], []], completed=(60, 100, 100)))["classes"]["class1"]
    assert found["mean"] == pytest.approx(0.5 * 1.0 + 0.5 * 2.0)
    assert found["mean_of_results"] == 1.0
    assert found["p95"] == pytest.approx(3.6, abs=0.02)  # nine tenths of the ages are below


def test_input_that_arrives_after_the_end_makes_nothing_faster():
    assert summary(measured([[1.0], [], []], completed=(101, 100, 100)))["classes"]["class1"]["mean"] == 1.0


def test_a_query_that_was_never_served_has_the_age_of_its_input():
    found = summary(measured([[], [1.0], [1.0]], completed=(0, 100, 100)))["classes"]["class1"]
    assert found["mean"] == pytest.approx(4.0)
    assert found["p50"] == pytest.approx(4.0, abs=0.03)
    assert (found["mean_of_results"], found["results"], found["completed"]) == (None, 0, 0.0)


@pytest.mark.parametrize(("completed", "mean"), [(20, 4.0), (5, 4.0), (30, 3.5)])
def test_a_query_that_starves_after_the_warm_up_still_counts(completed, mean):
    """Of 10 s the first 2 do not count. One that got into the third without a result is left with ages up to 7 s."""
    found = summary(measured([[], [1.0], [1.0]], completed=(completed, 100, 100)))["classes"]["class1"]
    assert found["mean"] == pytest.approx(mean)
    assert found["by_query"] == pytest.approx({"q": mean})


def test_figures_over_all():
    found = summary(measured([[3.0], [2.0], [1.0]]))
    assert found["weighted_mean"] == pytest.approx((6 * 3 + 3 * 2 + 1) / 10)
    assert found["inversion"]["mean"] == pytest.approx(2 * (3 / 2 - 1) + 3 * (2 / 1 - 1))
    assert found["inversion"]["p75"] == found["inversion"]["mean"]
    assert found["completed"] == 1.0
    assert found["cpu_us_per_tuple"] == pytest.approx(0.5 / 300 * 1e6)
    assert found["details"] == {"why": "test"}


def test_a_class_without_results_has_no_figures_and_does_not_affect_others():
    found = summary(measured([[2.0], [], [4.0]]))
    assert found["classes"]["class2"]["mean"] is None
    assert found["classes"]["class2"]["p95"] is None
    assert found["weighted_mean"] == pytest.approx((6 * 2 + 4) / 7)
    assert found["inversion"]["mean"] == 0.0


def test_nothing_completed():
    found = summary(measured([[], [], []], completed=(0, 0, 0)))
    assert found["weighted_mean"] == pytest.approx(4.0)
    assert found["completed"] == 0.0
    assert found["cpu_us_per_tuple"] is None


def test_several_runs_have_the_same_weight():
    found = summary(measured([[1.0] * 9, [2.0], []]), measured([[3.0], [2.0], []], cpu_s=1.0))
    assert found["classes"]["class1"]["mean"] == pytest.approx(2.0)
    assert found["classes"]["class1"]["arrived"] == 200
    assert found["cpu_us_per_tuple"] == pytest.approx(1.5 / 600 * 1e6)
    assert found["details"] == {"runs": [{"why": "test"}] * 2}
