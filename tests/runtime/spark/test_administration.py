"""Priorities and classes that change while queries run."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from headgate.application.checked import PolicySettings
from headgate.plan.model import Plan, QueryClass
from headgate.plan.operators import Port, Select
from headgate.runtime.spark.engine import SparkRuntime
from tests.runtime.spark.helpers import app_of, numbers, plan_of

pytestmark = pytest.mark.spark


def two_classes() -> Plan:
    operators = [Select(id=f"{name}/s", inputs=(Port("s"),), where="v >= 0") for name in ("a", "b")]
    plan = plan_of(operators, {"a": Port("a/s"), "b": Port("b/s")})
    classes = {"high": QueryClass("high", 9), "low": QueryClass("low", 1)}
    queries = {name: replace(plan.queries[name], class_name=c) for name, c in (("a", "high"), ("b", "low"))}
    return replace(plan, classes=classes, queries=queries)


def first_of_both(runtime: SparkRuntime) -> str:
    """The query that runs first when both have the same input; afterwards neither has any left."""
    before = {name: runtime.report()["queries"][name]["outputs"] for name in ("a", "b")}
    runtime.deliver({"s": numbers(50, 1)})
    runtime.step(0)
    gained = [name for name in before if runtime.report()["queries"][name]["outputs"] > before[name]]
    while runtime.step(0):
        pass
    (first,) = gained
    return first


def test_mbd_follows_the_administrator(spark: Any) -> None:
    """The important query gets nine of ten turns, so it usually runs first."""
    runtime = SparkRuntime(app_of(two_classes(), "mbd"), spark)
    runtime.open()
    try:
        before = [first_of_both(runtime) for _ in range(6)]
        runtime.set_priority("low", 81)
        for _ in range(12):  # one round
            first_of_both(runtime)
        after = [first_of_both(runtime) for _ in range(6)]
        runtime.set_class("a", "low")
        runtime.set_class("b", "high")
        report = runtime.report()
    finally:
        runtime.stop()
    assert before.count("a") > 3 > after.count("a")
    assert report["classes"]["low"]["priority"] == 81
    assert [report["queries"][name]["class"] for name in ("a", "b")] == ["low", "high"]
    assert report["classes"]["low"]["outputs"] == report["queries"]["a"]["outputs"]
    course = report["course"]  # both classes gave results, at different times
    assert all(any(mean is not None for mean in means) for means in course["classes"].values())
    assert course["times"][-1] < report["seconds"] <= course["times"][-1] + course["bucket"]
    assert report["weighted_latency"]["mean"] == report["weighted_mean_latency"]
    assert report["inversion"]["mean"] == report["priority_inversion"]


def test_what_does_not_exist_is_refused(spark: Any) -> None:
    runtime = SparkRuntime(app_of(two_classes(), "mbd"), spark)
    runtime.open()
    try:
        with pytest.raises(ValueError, match="there is no class 'hihg'; did you mean 'high'"):
            runtime.set_priority("hihg", 3)
        with pytest.raises(ValueError, match="priority is 0; it must be a whole number above 0"):
            runtime.set_priority("high", 0)
        with pytest.raises(ValueError, match="there is no query 'c'; known queries: a, b"):
            runtime.set_class("c", "high")
    finally:
        runtime.stop()


def test_priorities_and_classes_can_change_before_the_run_begins(spark: Any) -> None:
    runtime = SparkRuntime(app_of(two_classes(), "mbd", together=2), spark)
    runtime.set_priority("low", 4)
    runtime.set_class("b", "high")
    runtime.set_policy(PolicySettings("mbd", {}))
    assert runtime.now() == 0.0
    runtime.open()
    report = runtime.stop()
    assert report["classes"]["low"]["priority"] == 4
    assert report["queries"]["b"]["class"] == "high"
    assert report["switches"][0]["at"] == 0.0


def test_changes_are_logged(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    runtime = SparkRuntime(app_of(two_classes(), "mbd"), spark)
    with caplog.at_level(logging.INFO, "headgate.scheduling"):
        runtime.set_priority("low", 4)
        runtime.set_class("b", "high")
        runtime.set_policy(PolicySettings("rr", {}), reason="mbd was tried")
    runtime.open()
    runtime.stop()
    assert [record.message for record in caplog.records if record.name == "headgate.scheduling"][:3] == [
        "class low has priority 4 now, was 1",
        "query b is in class high now, was in low",
        "policy rr takes over from mbd: mbd was tried",
    ]


def test_plans_of_units_are_spared_and_those_of_queries_that_are_gone_are_not(spark: Any) -> None:
    runtime = SparkRuntime(app_of(two_classes(), "mbd", together=2), spark)
    runtime.open()

    def prepared() -> list[tuple[str, ...]]:
        runtime.deliver({"s": numbers(50, 1)})
        while runtime.step(0):
            pass
        return runtime.caller.prepared_units

    try:
        assert prepared() == [("a/s",), ("b/s",)]
        runtime.set_class("b", "high")
        assert prepared() == [("a/s",), ("a/s", "b/s"), ("b/s",)]
        runtime.set_policy(PolicySettings("rr", {"unit": "query"}))
        assert prepared() == [("a/s",), ("a/s", "b/s"), ("b/s",)]
        runtime.ended("s", OSError("the disk is gone"))
        assert not runtime.caller.prepared_units
    finally:
        runtime.stop()
