"""A sink that fails, in whatever way, affects only its query."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.connect.sinks import NoneSink, Shape, StagedSink, staged
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.sql.schema import parse_schema
from tests.applications import application


class RefreshCounter:
    """A sink that counts how often it was asked to catch up, and may fail then."""

    def __init__(self, error: Exception | None = None) -> None:
        self.times = 0
        self._error = error

    def refresh(self) -> None:
        self.times += 1
        if self._error is not None:
            raise self._error


def outputs_of(**sinks: Any) -> QuerySinks:
    outputs = QuerySinks()
    outputs.update(sinks)
    return outputs


def test_an_error_while_a_sink_catches_up_affects_only_its_query() -> None:
    error = OverflowError("date value out of range")
    sinks = {"bad": RefreshCounter(error), "good": RefreshCounter()}
    assert outputs_of(**sinks).refresh(["bad", "good"]) == {"bad": error}
    assert sinks["good"].times == 1


def test_sinks_of_stopped_queries_are_left_alone() -> None:
    sinks = {"stopped": RefreshCounter(ValueError("as before")), "good": RefreshCounter()}
    assert outputs_of(**sinks).refresh(["good"]) == {}
    assert [sink.times for sink in sinks.values()] == [0, 1]


class Deaf:
    """A target that never takes anything."""

    last_epoch = 3

    def commit(self, epoch: int, table: pa.Table) -> None:
        raise ConnectionError("nobody listens")

    def close(self) -> None:
        pass


def test_a_target_that_fails_shows_and_holds_up_the_streams_of_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "FULL_BYTES", 100)
    monkeypatch.setattr(staged, "LAST_TRIES", 1)
    queries = {"bad": "SELECT k FROM s WHERE k > 1", "joined": "SELECT s.k FROM s [NOW], t [NOW] WHERE s.k = t.k"}
    plan = application({"s": "k INT", "t": "k INT"}, queries).checked().plan
    shape = Shape(parse_schema("k INT", "q"), {})
    sinks = outputs_of(bad=StagedSink(Deaf(), shape), joined=NoneSink())
    assert sinks.report({})["sinks"]["bad"]["state"] == "ok"
    assert sinks.held_up(plan) == set()
    k = pa.array(range(50), pa.int32())
    sinks["bad"].write(pa.table({"k": k, "_arrival": k.cast(pa.int64()), "_sequence": k.cast(pa.int64())}))
    while sinks.report({})["sinks"]["bad"]["state"] == "ok":
        time.sleep(0.001)
    state = sinks.report({"joined": "its own error"})["sinks"]
    assert state["bad"] == {
        "state": "retrying",
        "kind": None,
        "delivery": None,
        "rows": 50,
        "epoch": 3,
        "waiting": 50,
        "error": "nobody listens",
    }
    assert (state["joined"]["state"], state["joined"]["error"]) == ("failed", "its own error")
    assert sinks.held_up(plan) == {"s"}
    assert str(sinks.close()["bad"]) == "50 results were not committed: nobody listens"


def test_what_a_restart_does_to_results_is_in_the_report(tmp_path: Path) -> None:
    said = {"file": {"kind": "csv", "path": "out.csv"}, "rows": {"kind": "parquet", "path": "out"}}
    said |= {"often": {"kind": "parquet", "path": "often", "delivery": "at_least_once"}, "shown": {"kind": "console"}}
    queries = {name: {"cql": "SELECT k FROM s", "sink": sink} for name, sink in said.items()}
    plan = application({"s": "k INT"}, queries).checked().plan
    for checkpointed in (True, False):
        sinks = QuerySinks(checkpointed=checkpointed)
        sinks.open(plan, tmp_path)
        found = {name: (state["kind"], state["delivery"]) for name, state in sinks.report({})["sinks"].items()}
        assert not sinks.close()
        exactly, at_least = ("exactly_once", "at_least_once") if checkpointed else (None, None)
        assert found == {
            "file": ("csv", exactly),
            "rows": ("parquet", exactly),
            "often": ("parquet", at_least),
            "shown": ("console", at_least),
        }
