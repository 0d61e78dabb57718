"""The monitor: the report as documented, and its measures."""

import json
import math

import numpy as np
import pytest

from headgate.metrics.class_measures import COMPARED_STATISTICS, priority_inversion, starvation_ratio, weighted_mean
from headgate.metrics.monitor import Monitor
from headgate.metrics.recent import RecentStatistic
from tests.conformance.plans import feeder, make_plan, project

CLASSES = {"critical": 6, "normal": 3, "archive": 1}
KEYS = [
    "runtime", "policy", "slots", "seconds", "weighted_mean_latency", "priority_inversion", "starvation_ratio",
    "weighted_latency", "inversion", "classes", "queries", "memory", "throughput", "schedule", "switches", "policies",
    "changes", "shedding", "course",
]  # fmt: skip
LATENCY_KEYS = ["mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max"]


@pytest.fixture
def monitor():
    operators = [project(f"{q}/p", "s") for q in ("fire", "average", "log")]
    members = {"fire": "critical", "average": "normal", "log": "archive"}
    return Monitor(make_plan({"s": feeder()}, operators, {q: f"{q}/p" for q in members}, CLASSES, members))


def test_an_empty_report_has_every_key_and_no_invented_numbers(monitor):
    report = monitor.report("simulated", "rr", 2, 10.0)
    assert list(report) == KEYS
    assert list(report["classes"]) == list(CLASSES)
    assert report["weighted_mean_latency"] is None
    assert report["priority_inversion"] is None
    assert report["starvation_ratio"] is None
    for part in (*report["classes"].values(), *report["queries"].values()):
        assert list(part["latency"]) == LATENCY_KEYS
        assert set(part["latency"].values()) == {None}
        assert part["inputs"] == part["outputs"] == part["shed"] == 0
    assert report["memory"] == {"mean": 0.0, "max": 0.0}
    assert report["weighted_latency"] == report["inversion"] == dict.fromkeys(COMPARED_STATISTICS)
    assert set(report["course"]["inversion"]) == {None}
    assert json.loads(json.dumps(report)) == report


def test_a_full_report(monitor):
    for query, tuples in (("fire", 10), ("average", 20), ("log", 30)):
        monitor.arrived(query, tuples)
    monitor.results("fire", 1.0, np.array([0.1, 0.3]))
    monitor.result("average", 1.0, 0.4)
    monitor.result("log", 2.0, 1.0)
    monitor.shed("log", "log/p", 5)
    monitor.shed("log", "log/p", 2)
    monitor.switched(1.5, "rr", "mbd", "latency of critical above 0.5 s")
    report = monitor.report("spark", "mbd", 2, 10.0)
    assert report["classes"]["critical"]["latency"]["mean"] == pytest.approx(0.2)
    assert report["queries"]["fire"]["outputs"] == 2
    assert report["queries"]["fire"]["class"] == "critical"
    assert report["weighted_mean_latency"] == pytest.approx((6 * 0.2 + 3 * 0.4 + 1 * 1.0) / 10)
    assert report["priority_inversion"] == 0.0
    assert report["starvation_ratio"] == pytest.approx(5.0)
    assert report["queries"]["log"]["shed"] == report["classes"]["archive"]["shed"] == 7
    assert report["shedding"] == [{"query": "log", "operator": "log/p", "tuples": 7}]
    assert report["switches"] == [{"at": 1.5, "from": "rr", "to": "mbd", "reason": "latency of critical above 0.5 s"}]
    assert report["throughput"] == {"inputs": 6.0, "outputs": 0.4}


def test_each_policy_gets_the_latencies_of_its_own_time(monitor):
    monitor.results("fire", 1.0, [0.3, 0.5])
    monitor.switched(2.0, "mbd", "rr", "a key")
    monitor.results("fire", 3.0, [4.0])
    monitor.result("log", 3.5, 1.0)
    monitor.switched(5.0, "rr", "mbd", "a key")
    monitor.results("fire", 6.0, [0.1])
    for _ in range(2):  # the same answer while running and at the end
        report = monitor.report("spark", "mbd", 2, 6.5)
    by_policy = report["policies"]
    assert {name: one["seconds"] for name, one in by_policy.items()} == {"mbd": 3.5, "rr": 3.0}
    assert by_policy["mbd"]["classes"]["critical"]["outputs"] == 3
    assert by_policy["mbd"]["classes"]["critical"]["latency"]["mean"] == pytest.approx(0.3)
    assert by_policy["mbd"]["classes"]["critical"]["latency"]["max"] == pytest.approx(0.5, rel=0.002)
    assert by_policy["mbd"]["classes"]["archive"]["latency"]["mean"] is None
    assert by_policy["rr"]["classes"]["critical"]["latency"]["p50"] == pytest.approx(4.0, rel=0.002)
    assert by_policy["rr"]["classes"]["archive"]["latency"]["mean"] == pytest.approx(1.0)
    assert report["classes"]["critical"]["outputs"] == 4


def test_a_warm_up_is_left_out_of_the_latencies_by_policy(monitor):
    monitor.results("fire", 1.0, [9.0, 9.0])
    monitor.switched(2.0, "mbd", "fifo", "a key")
    monitor.result("fire", 3.0, 8.0)
    monitor.restart_comparison(4.0)
    monitor.result("fire", 5.0, 0.5)
    monitor.switched(6.0, "fifo", "rr", "a key")
    monitor.result("fire", 7.0, 0.7)
    report = monitor.report("spark", "rr", 2, 9.0)
    by_policy = report["policies"]
    assert {name: one["seconds"] for name, one in by_policy.items()} == {"fifo": 2.0, "rr": 3.0}
    assert by_policy["fifo"]["classes"]["critical"]["latency"]["mean"] == pytest.approx(0.5)
    assert by_policy["rr"]["classes"]["critical"]["latency"]["mean"] == pytest.approx(0.7)
    assert report["classes"]["critical"]["outputs"] == 5


def test_classes_are_compared_by_every_statistic(monitor):
    """Every tenth result of the critical class is slow: the means are in order, the upper percentiles are not."""
    monitor.results("fire", 1.0, np.array([0.1] * 90 + [3.0] * 10))
    monitor.results("average", 1.0, np.full(100, 1.0))
    report = monitor.report("simulated", "rr", 1, 10.0)
    assert list(report["weighted_latency"]) == list(report["inversion"]) == list(COMPARED_STATISTICS)
    assert report["weighted_latency"]["mean"] == report["weighted_mean_latency"]
    assert report["inversion"]["mean"] == report["priority_inversion"] == 0.0
    assert report["weighted_latency"]["p75"] == pytest.approx((6 * 0.1 + 3 * 1.0) / 9, rel=0.01)
    assert report["inversion"]["p75"] == 0.0
    assert report["weighted_latency"]["p95"] == pytest.approx((6 * 3.0 + 3 * 1.0) / 9, rel=0.01)
    assert report["inversion"]["p95"] == pytest.approx(2 * (3.0 - 1.0), rel=0.01)


def test_latency_over_time_uses_priorities_and_classes_of_its_time(monitor):
    monitor.result("fire", 0.05, 2.0)
    monitor.result("average", 0.05, 1.0)
    monitor.set_plan(0.1, monitor.plan.with_priority("normal", 12))
    monitor.result("fire", 0.15, 2.0)
    monitor.result("average", 0.15, 1.0)
    monitor.set_plan(0.2, monitor.plan.with_class("fire", "archive"))
    monitor.result("fire", 0.25, 5.0)
    report = monitor.report("simulated", "rr", 1, 0.3)
    assert report["course"] == {
        "bucket": 0.1,
        "times": [0.0, 0.1, 0.2],
        "classes": {"critical": [2.0, 2.0, None], "normal": [1.0, 1.0, None], "archive": [None, None, 5.0]},
        "inversion": [2.0, 0.0, 0.0],
    }
    # This part of the report counts all results of a query for its current class.
    assert report["classes"]["archive"]["outputs"] == 3
    assert report["classes"]["normal"]["priority"] == monitor.priorities["normal"] == 12
    assert report["changes"] == [
        {"at": 0.1, "class": "normal", "from": 3, "to": 12},
        {"at": 0.2, "query": "fire", "from": "critical", "to": "archive"},
    ]


def test_a_class_without_queries_is_not_compared():
    """Only critical and archive are compared; the empty classes around them are left out."""
    operators = [project(f"{q}/p", "s") for q in ("fire", "log")]
    members = {"fire": "critical", "log": "archive"}
    classes = {**CLASSES, "spare": 1, "spare too": 9}
    monitor = Monitor(make_plan({"s": feeder()}, operators, {q: f"{q}/p" for q in members}, classes, members))
    monitor.result("fire", 1.0, 3.0)
    monitor.result("log", 1.0, 1.0)
    report = monitor.report("simulated", "rr", 1, 10.0)
    assert report["priority_inversion"] == pytest.approx(6 * 2.0)
    assert max(value or 0.0 for value in report["course"]["inversion"]) == pytest.approx(6 * 2.0)
    assert report["starvation_ratio"] == pytest.approx(1 / 3)


def test_memory_is_weighted_by_time(monitor):
    monitor.memory(0.0, 100.0)
    monitor.memory(2.0, 400.0)
    monitor.memory(2.0, 50.0)  # at the same instant: the level of 400 lasts no time
    monitor.memory(4.0, 0.0)
    assert monitor.report("spark", "rr", 1, 10.0)["memory"] == {"mean": pytest.approx(30.0), "max": 100.0}


def test_levels_set_in_blocks_equal_those_set_one_by_one(monitor):
    other = Monitor(monitor.plan)
    times, levels = np.array([0.0, 1.0, 1.0, 4.0, 4.0, 9.0]), np.array([3.0, 9.0, 5.0, 2.0, 7.0, 0.0])
    other.memory_levels(times[:3], levels[:3])
    other.memory_levels(times[3:], levels[3:])
    for time, level in zip(times, levels, strict=True):
        monitor.memory(time, level)
    assert other.report("s", "p", 1, 10.0)["memory"] == monitor.report("s", "p", 1, 10.0)["memory"]


def test_recent_is_the_mean_of_the_last_half_second(monitor):
    assert monitor.recent("critical") is None
    monitor.results("fire", [0.1, 0.2, 1.0, 1.1], [9.0, 9.0, 1.0, 3.0])
    assert monitor.recent("critical") == pytest.approx(2.0)
    assert monitor.recent("critical", now=0.25) == pytest.approx(9.0)
    monitor.result("average", 1.55, 5.0)  # time passes
    assert monitor.recent("critical") == pytest.approx(3.0)
    assert monitor.recent("normal") == pytest.approx(5.0)
    assert monitor.recent("critical", now=7.0) is None


def test_recent_percentiles_of_enough_results(monitor):
    monitor.results("fire", [1.0, 1.1, 1.2, 1.3], [1.0, 2.0, 3.0, 4.0])
    assert monitor.recent("critical", statistic=RecentStatistic(percentile=50)) == pytest.approx(2.5)
    assert monitor.recent("critical", statistic=RecentStatistic(percentile=50), since=1.1) == pytest.approx(3.5)
    assert monitor.recent("critical", statistic=RecentStatistic(least=5)) is None
    monitor.results("fire", [9.0], [10.0])
    # Values are kept only for the longest window asked for so far.
    assert monitor.recent("critical", statistic=RecentStatistic(window_s=math.inf)) == pytest.approx(10.0)
    monitor.results("fire", [30.0], [20.0])
    assert monitor.recent("critical", statistic=RecentStatistic(window_s=math.inf)) == pytest.approx(15.0)


def test_many_single_results_are_all_counted(monitor):
    for number in range(20_000):
        monitor.result("fire", number / 1000, 0.5)
    report = monitor.report("spark", "rr", 1, 20.0)
    assert report["queries"]["fire"]["outputs"] == 20_000
    assert report["queries"]["fire"]["latency"]["p99"] == pytest.approx(0.5)


def test_priority_inversion_of_the_specification():
    priorities = {"a": 6, "b": 3, "c": 1}
    order = ["a", "b", "c"]
    assert priority_inversion(order, {"a": 1.0, "b": 2.0, "c": 3.0}, priorities) == 0.0
    assert priority_inversion(order, {"a": 3.0, "b": 2.0, "c": 1.0}, priorities) == pytest.approx(2 * 0.5 + 3 * 1.0)
    assert priority_inversion(order, {"a": 3.0, "b": None, "c": 1.0}, priorities) == 0.0
    assert priority_inversion(order, {"a": 2.0, "b": 2.0, "c": 9.0}, priorities) == 0.0
    assert priority_inversion(["a", "b"], {"a": 2.0, "b": 1.0}, {"a": 3, "b": 3}) == 0.0


def test_measures_that_are_not_defined_are_none():
    assert weighted_mean({"a": None}, {"a": 3}) is None
    assert starvation_ratio(["a"], {"a": 1.0}) is None
    assert starvation_ratio(["a", "b"], {"a": None, "b": 1.0}) is None
    assert starvation_ratio(["a", "b"], {"a": 0.0, "b": 1.0}) is None


def test_a_query_that_has_stopped_stays_in_the_report(monitor):
    monitor.result("fire", 0.05, 2.0)
    left = monitor.plan.without({"fire"})
    monitor.set_plan(0.1, left.with_class("average", "archive"))
    report = monitor.report("simulated", "rr", 1, 0.3)
    assert report["queries"]["fire"]["outputs"] == 1
    assert report["queries"]["average"]["class"] == "archive"
