"""Figures of `bench classes`."""

from dataclasses import replace

import numpy as np
import pytest

from headgate.bench.classes.measured import Measured, merged, summary


def measured(latencies, completed=(80, 90, 100), cpu_s=0.5):
    names = ("class1", "class2", "class3")
    return Measured(
        latencies={name: {"q": np.array(found, dtype=float)} for name, found in zip(names, latencies, strict=True)},
        arrived=dict.fromkeys(names, 100),
        completed=dict(zip(names, completed, strict=True)),
        cpu_s=cpu_s,
        seconds=10.0,
        details={"why": "test"},
    )


def test_figures_of_a_class():
    found = summary(measured([[1.0, 2.0, 3.0, 4.0], [1.0], [1.0]]))["classes"]["class1"]
    assert found == {
        "mean": 2.5,
        "p50": 2.0,
        "p75": 3.0,
        "p95": 4.0,
        "by_query": {"q": 2.5},
        "results": 4,
        "arrived": 100,
        "completed": 0.8,
    }


def test_each_query_weighs_the_same():
    """A hundred results of one query at 1 s, one of another at 3 s."""
    one = measured([[1.0], [], []])
    both = {"class1": {"many": np.ones(100), "one": np.array([3.0]), "none": np.zeros(0)}}
    found = summary(replace(one, latencies=both))["classes"]["class1"]
    assert (found["mean"], found["p50"], found["p75"]) == (pytest.approx(2.0), 1.0, 3.0)
    assert found["by_query"] == {"many": 1.0, "one": 3.0}
    assert found["results"] == 101


def test_figures_over_all():
    found = summary(measured([[3.0], [2.0], [1.0]]))
    assert found["weighted_mean"] == pytest.approx((6 * 3 + 3 * 2 + 1) / 10)
    assert found["inversion"]["mean"] == pytest.approx(2 * (3 / 2 - 1) + 3 * (2 / 1 - 1))
    assert found["inversion"]["p75"] == found["inversion"]["mean"]
    assert found["completed"] == pytest.approx(0.9)
    assert found["cpu_us_per_tuple"] == pytest.approx(0.5 / 270 * 1e6)
    assert found["details"] == {"why": "test"}


def test_class_without_results_has_no_figures_and_no_part_in_the_others():
    found = summary(measured([[2.0], [], [4.0]], completed=(100, 0, 100)))
    assert found["classes"]["class2"]["mean"] is None
    assert found["classes"]["class2"]["p95"] is None
    assert found["classes"]["class2"]["completed"] == 0.0
    assert found["weighted_mean"] == pytest.approx((6 * 2 + 4) / 7)
    assert found["inversion"]["mean"] == 0.0


def test_nothing_completed():
    found = summary(measured([[], [], []], completed=(0, 0, 0)))
    assert found["weighted_mean"] is None
    assert found["inversion"] == {"mean": None, "p75": None}
    assert found["cpu_us_per_tuple"] is None


def test_merged_runs_have_all_results():
    both = merged([measured([[1.0], [2.0], []]), measured([[3.0], [], []], completed=(0, 0, 0), cpu_s=1.0)])
    assert both.latencies["class1"]["q"].tolist() == [1.0, 3.0]
    assert both.latencies["class3"]["q"].size == 0
    assert both.arrived == dict.fromkeys(("class1", "class2", "class3"), 200)
    assert both.completed == {"class1": 80, "class2": 90, "class3": 100}
    assert (both.cpu_s, both.seconds) == (1.5, 20.0)
    assert len(both.details["runs"]) == 2
