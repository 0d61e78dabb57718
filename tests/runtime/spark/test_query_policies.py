"""Queries with policies of their own on Spark: switching them changes no result, however often."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from headgate.application.checked import PolicySettings
from headgate.policies.registry import POLICIES
from headgate.runtime.spark.engine import SparkRuntime
from tests.runtime.spark.helpers import app_of, numbers, simple_plan

pytestmark = pytest.mark.spark

SWITCHES = 1000


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


def test_a_thousand_switches_change_no_result(spark: Any) -> None:
    """Through all policies, of the query and of the application in turn."""
    names = [name for name in sorted(POLICIES) if name not in ("master", "pct", "pct-s")]
    runtime = SparkRuntime(app_of(simple_plan(), "rr", slots=2), spark)
    runtime.open()
    batches = [numbers(10, turn, first=10 * turn) for turn in range(SWITCHES)]
    for turn, batch in enumerate(batches):
        runtime.deliver({"s": batch})
        policy = PolicySettings(names[turn // 3 % len(names)])
        match turn % 3:
            case 0:
                runtime.set_policy(policy)
            case 1:
                runtime.set_query_policy("q", policy)
            case 2:
                runtime.set_query_policy("q", None)
        runtime.step(turn % 2)
    while any(runtime.step(slot) for slot in (0, 1)):
        pass
    report = runtime.stop()
    found = pa.concat_tables(runtime.sinks["q"].tables()).to_pandas()
    values = pd.concat([batch.to_pandas() for batch in batches])
    expected = values[values.v > 0.5]
    assert sorted(found.k) == sorted(expected.k)
    assert len(report["switches"]) == SWITCHES
