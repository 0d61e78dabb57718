"""Faults outside a call, on Spark: sources, sinks, the disk. Only the affected queries stop."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.application.checked import QueueSettings, RunLimits
from headgate.connect.sinks.memory import MemorySink
from headgate.connect.sources import SourceContext, source_for_run
from headgate.plan.model import Edge, Plan, Stream
from headgate.plan.operators import Port, Select
from headgate.runtime.spark import source_thread
from headgate.runtime.spark.engine import SparkRuntime
from headgate.scheduling.queue import BatchQueue, SpillError
from headgate.sql.schema import parse_schema
from tests.runtime.spark.helpers import app_of, numbers, plan_of, simple_plan, stream

pytestmark = pytest.mark.spark


def plan_of_two_queries(*streams: Stream) -> Plan:
    """Query a reads stream good, b reads stream bad; two operators each."""
    operators = [
        Select(id=f"{query}/{name}", inputs=(Port(source),), where="v >= 0")
        for query, first in (("a", "good"), ("b", "bad"))
        for name, source in (("x", first), ("y", f"{query}/x"))
    ]
    return plan_of(operators, {"a": Port("a/y"), "b": Port("b/y")}, streams or (stream("good"), stream("bad")))


def opened(spark: Any, unit: str = "operator", **settings: Any) -> SparkRuntime:
    runtime = SparkRuntime(replace(app_of(plan_of_two_queries(), unit=unit), **settings), spark)
    runtime.open()
    return runtime


def drain(runtime: SparkRuntime) -> None:
    for _ in range(50):
        if not runtime.step(0):
            return
    raise AssertionError("the run does not come to rest")


def outputs(runtime: SparkRuntime, query: str) -> int:
    sink = runtime.sinks[query]
    assert isinstance(sink, MemorySink)
    return sink.rows


def expected() -> int:
    return int((numbers(50, 1).to_pandas().v >= 0).sum())


def test_a_source_that_fails_when_it_looks_ahead_ends(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def csv(name: str) -> Stream:
        (tmp_path / f"{name}.csv").write_text("k,v\n1,0.5\n2,0.25\n")
        return Stream(name, parse_schema("k INT, v DOUBLE", name), {"kind": "csv", "path": f"{name}.csv"})

    def make(context: SourceContext, since: float) -> Any:
        source = source_for_run(context, since)
        if context.stream.name == "bad" and not context.sample:
            failing = type("Failing", (type(source),), {"exhausted": property(lambda _: 1 / 0)})
            monkeypatch.setattr(source, "__class__", failing)
        return source

    monkeypatch.setattr(source_thread, "source_for_run", make)
    runtime = SparkRuntime(replace(app_of(plan_of_two_queries(csv("good"), csv("bad"))), folder=tmp_path), spark)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True, seconds=20))
    report = runtime.stop()
    assert report["seconds"] < 20
    assert report["errors"] == {"b": "division by zero"}
    assert outputs(runtime, "a") == 2


def test_a_stopped_query_holds_no_memory(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    runtime = opened(spark, queues=QueueSettings(2 * numbers(2000, 1).nbytes - 1))
    for seed in range(3):
        runtime.deliver({"bad": numbers(2000, seed)})
    assert runtime.core.memory_short
    with caplog.at_level(logging.ERROR, "headgate.spark"):
        runtime.ended("bad", OSError("the disk is gone"))
    assert "query b stopped: the disk is gone (6000 waiting tuples are given up)" in caplog.text
    assert not runtime.core.memory_short
    assert runtime.core.memory.used == runtime.core.memory.spilled_bytes == runtime.core.board.memory == 0
    runtime.deliver({"good": numbers(50, 1)})
    drain(runtime)
    assert runtime.stop()["errors"] == {"b": "the disk is gone"}
    assert outputs(runtime, "a") == expected()


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_in_flight_may_outlive_its_queues(spark: Any, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    runtime = opened(spark)
    run = runtime.caller.run

    def source_fails_meanwhile(operators: Any, *rest: Any) -> Any:
        if "b/x" in operators:
            runtime.ended("bad", OSError("the disk is gone"))
            if fails:
                raise RuntimeError("and so is the call")
        return run(operators, *rest)

    monkeypatch.setattr(runtime.caller, "run", source_fails_meanwhile)
    for name in ("bad", "good"):
        runtime.deliver({name: numbers(50, 1)})
    drain(runtime)
    assert runtime.core.board.calls_in_flight == 0
    assert runtime.stop()["errors"] == {"b": "the disk is gone"}
    assert outputs(runtime, "a") == expected()


def test_a_call_may_outlive_the_run(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that was cut off once returned after the report and ended with a traceback: its queue was closed."""
    runtime = opened(spark)
    begun, may_go_on = threading.Event(), threading.Event()

    def hangs(*_: Any) -> Any:
        begun.set()
        assert may_go_on.wait(60)
        raise RuntimeError("cut off")

    monkeypatch.setattr(runtime.caller, "run", hangs)
    runtime.deliver({"good": numbers(50, 1)})
    with ThreadPoolExecutor(1) as slot:
        call = slot.submit(runtime.step, 0)
        assert begun.wait(60)
        report = runtime.stop()
        may_go_on.set()
        assert call.result(60)
    assert report["errors"] == {}


def test_a_sink_may_fail_in_any_way(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = opened(spark)

    def fails(_: Any) -> None:
        raise KeyError("no such column")

    monkeypatch.setattr(runtime.sinks["b"], "write", fails)
    for name in ("bad", "good"):
        runtime.deliver({name: numbers(50, 1)})
    drain(runtime)
    assert runtime.core.board.calls_in_flight == 0
    assert list(runtime.stop()["errors"]) == ["b"]
    assert outputs(runtime, "a") == expected()


@pytest.mark.parametrize(("move", "operator"), [("take", "b/x"), ("put", "b/y")])
def test_a_disk_that_fails_stops_the_queries_of_the_unit(
    spark: Any, monkeypatch: pytest.MonkeyPatch, move: str, operator: str
) -> None:
    runtime = opened(spark)
    original = getattr(BatchQueue, move)

    def fails(queue: BatchQueue, *given: Any) -> Any:
        if queue.name != f"{operator}:0":
            return original(queue, *given)
        if move == "put":
            original(queue, *given)  # as in the real queue, the batch is in the queue anyway
        raise SpillError("the disk is full")

    monkeypatch.setattr(BatchQueue, move, fails)
    for name in ("bad", "good"):
        runtime.deliver({name: numbers(50, 1)})
    drain(runtime)
    assert runtime.core.board.calls_in_flight == 0
    assert set(runtime.core.queues) == {Edge("a/x", 0), Edge("a/y", 0)}
    assert runtime.stop()["errors"] == {"b": "the disk is full"}
    assert outputs(runtime, "a") == expected()


def test_a_spark_that_was_already_running_is_left_alone(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even from a thread that has no active session."""
    done: list[str] = []
    monkeypatch.setattr(SparkSession, "stop", lambda _: done.append("stopped"))
    monkeypatch.setattr(SparkContext, "setLogLevel", lambda *_: done.append("hushed"))

    def run() -> None:
        runtime = SparkRuntime(app_of(simple_plan()))
        runtime.open()
        runtime.stop()
        done.append("ran")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert done == ["ran"]


def test_the_policy_knows_the_cost_of_a_call_before_it_decides(spark: Any) -> None:
    runtime = opened(spark, unit="query")
    while runtime.core.stats.call_fixed_s is None:
        runtime.deliver({"good": numbers(50, runtime.core.board.arrived)})
        runtime.step(0)
    assert runtime.core.board.call_fixed_s == runtime.core.stats.call_fixed_s
    runtime.stop()


def test_a_relation_that_cannot_be_shown_stops_only_its_query(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = opened(spark)

    def fails() -> None:
        raise OverflowError("date value out of range")

    monkeypatch.setattr(runtime.sinks["b"], "refresh", fails)
    runtime.wait(RunLimits(seconds=0.3), tick_s=0.1)
    assert runtime.stop()["errors"] == {"b": "date value out of range"}


def test_a_schedule_keeps_counting_when_a_query_stops(spark: Any) -> None:
    runtime = SparkRuntime(app_of(plan_of_two_queries(), "mbd"), spark)
    runtime.open()
    try:
        runtime.set_priority("high", 7)
        runtime.deliver({"good": numbers(50, 1)})
        drain(runtime)
        before = runtime.report()["schedule"]["updates"]
        runtime.ended("bad", OSError("the disk is gone"))
        after = runtime.report()
    finally:
        runtime.stop()
    assert after["schedule"]["updates"] == before + 1
    assert 0 < after["schedule"]["updated_at"] <= after["seconds"]


def test_a_stream_without_queries_is_no_longer_read(spark: Any) -> None:
    """The stream is endless, yet the run ends, and the stream's further tuples are not counted."""
    few = {"kind": "feeder", "rate": 500, "arrivals": "constant", "rows": 300, "values": {"v": "uniform 0 1"}}
    endless = {"kind": "feeder", "rate": 500, "arrivals": "constant", "values": {"v": "constant -1"}}
    good, bad = stream("good"), stream("bad")
    plan = plan_of_two_queries(replace(good, source=few), replace(bad, source=endless))
    operators = {**plan.operators, "b/y": replace(plan.operators["b/y"], where="100 / (k - k) > 0")}  # type: ignore[call-arg]
    operators["b/x"] = replace(plan.operators["b/x"], where="v < 0")  # type: ignore[call-arg]
    runtime = SparkRuntime(app_of(replace(plan, operators=operators), unit="query"), spark)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True, seconds=30))
    report = runtime.stop()
    assert report["seconds"] < 30
    assert list(report["errors"]) == ["b"]
    assert outputs(runtime, "a") == 300
    arrived = runtime.core.board.arrived
    assert runtime.deliver({"bad": numbers(50, 1)}) == {}
    assert runtime.core.board.arrived == arrived
