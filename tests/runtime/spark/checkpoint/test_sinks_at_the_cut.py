"""What a checkpoint holds of sinks, and how they are opened with it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headgate.connect.sinks import MemorySink
from headgate.plan.model import Plan
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.sql.schema import ARRIVAL, SEQUENCE, TIME
from tests.runtime.spark.checkpoint.test_resumed import QUERIES, application


@pytest.fixture
def plan() -> Plan:
    return application(queries={"sums": {**QUERIES["sums"], "cql": "SELECT k FROM s"}}).plan


def some(rows: int) -> pa.Table:
    column = pa.array(range(rows), pa.int64())
    return pa.table({"k": column.cast(pa.int32()), ARRIVAL: column, SEQUENCE: column, TIME: column})


def kept(sinks: QuerySinks) -> list[int]:
    sink = sinks["sums"]
    assert isinstance(sink, MemorySink)
    return [value for table in sink.tables() for value in table.column("k").to_pylist()]


def test_a_sink_goes_on_with_what_it_held(plan: Plan, tmp_path: Path) -> None:
    sinks = QuerySinks(checkpointed=True)
    sinks.open(plan, tmp_path)
    sinks["sums"].write(some(3))
    saved = sinks.end_epochs()
    again = QuerySinks(saved, checkpointed=True)
    again.open(plan, tmp_path)
    again["sums"].write(some(2))
    assert kept(again) == [0, 1, 2, 0, 1]
    assert again["sums"].rows == 5


def test_without_new_results_the_table_is_the_same(plan: Plan, tmp_path: Path) -> None:
    """So it need not be written again."""
    sinks = QuerySinks(checkpointed=True)
    sinks.open(plan, tmp_path)
    sinks["sums"].write(some(3))
    (first,) = sinks.end_epochs()["sums"]["content"]
    assert sinks.end_epochs()["sums"]["content"][0] is first
    sinks["sums"].write(some(1))
    first_again, new = sinks.end_epochs()["sums"]["content"]
    assert first_again is first
    assert new.num_rows == 1


def test_another_query_of_the_name_begins_anew(plan: Plan, tmp_path: Path) -> None:
    sinks = QuerySinks(checkpointed=True)
    sinks.open(plan, tmp_path)
    sinks["sums"].write(some(3))
    again = QuerySinks(sinks.end_epochs(), checkpointed=True)
    again.open(plan, tmp_path)
    again.discard(["sums"])
    again.open(plan, tmp_path)
    assert kept(again) == []
    assert again.end_epochs()["sums"]["content"] is None
