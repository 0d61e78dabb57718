"""Queries with policies of their own on Spark: switching them changes no result, however often."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headgate.application.checked import PolicySettings
from headgate.policies.registry import POLICIES
from headgate.runtime.spark.engine import SparkRuntime
from tests.runtime.spark.helpers import app_of, numbers, simple_plan

pytestmark = pytest.mark.spark

SWITCHES = 40


def test_a_query_gets_a_policy_of_its_own_and_loses_it_again(spark: Any) -> None:
    runtime = SparkRuntime(app_of(simple_plan(), "rr"), spark)
    runtime.open()
    assert runtime.core.board.policy.name == "rr"
    runtime.set_query_policy("q", PolicySettings("fifo"))
    assert runtime.core.board.policy.name == "master"
    runtime.set_query_policy("q", None)
    assert runtime.core.board.policy.name == "rr"
    with pytest.raises(ValueError, match="no query 'p'"):
        runtime.set_query_policy("p", PolicySettings("fifo"))
    report = runtime.stop()
    assert [(one["query"], one["from"], one["to"]) for one in report["switches"]] == [
        ("q", "rr", "fifo"),
        ("q", "fifo", "rr"),
    ]


def test_switching_through_all_policies_changes_no_result(spark: Any) -> None:
    names = [name for name in sorted(POLICIES) if name not in ("master", "pct", "pct-s")]
    runtime = SparkRuntime(app_of(simple_plan(), "rr", slots=2), spark)
    runtime.open()
    expected = 0
    for turn in range(SWITCHES):
        runtime.deliver({"s": numbers(40, turn, first=40 * turn)})
        expected += int((numbers(40, turn).to_pandas().v > 0.5).sum())
        runtime.set_query_policy("q", PolicySettings(names[turn % len(names)]))
        runtime.step(turn % 2)
    while any(runtime.step(slot) for slot in (0, 1)):
        pass
    report = runtime.stop()
    assert pa.concat_tables(runtime.sinks["q"].tables()).num_rows == expected
    assert len(report["switches"]) == SWITCHES
