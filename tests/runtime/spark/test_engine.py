"""Whole runs on Spark: threads, failures, shutdown, replaced policies."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.application.checked import CheckedApplication, PolicySettings, QueueSettings, RunLimits
from headgate.connect.sinks.memory import MemorySink
from headgate.connect.sources import SourceContext, source_for_run
from headgate.connect.sources.base import ENDED
from headgate.plan.model import Plan, Stream
from headgate.plan.operators import Function, Port, Project, Select
from headgate.runtime.spark import engine, source_thread
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime
from headgate.sql.schema import parse_schema
from tests.runtime.spark.helpers import app_of, numbers, plan_of, rows_of, simple_plan, stream

pytestmark = pytest.mark.spark

TWO = "k,v\n1,0.5\n2,0.25\n"


def results(runtime: SparkRuntime, query: str) -> pa.Table:
    sink = runtime.sinks[query]
    assert isinstance(sink, MemorySink)
    return pa.concat_tables(sink.tables()) if sink.tables() else pa.table({})


def drain(runtime: SparkRuntime, slots: int = 1) -> None:
    while sum(runtime.step(slot) for slot in range(slots)):
        pass


def feeder_app(plan: Plan, rows: int, rate: float, slots: int = 2) -> CheckedApplication:
    source = {"kind": "feeder", "rate": rate, "arrivals": "constant", "rows": rows, "seed": 3}
    streams = {name: replace(s, source=source) for name, s in plan.streams.items()}
    return app_of(replace(plan, streams=streams), slots=slots, unit="query")


def two_queries(second: str) -> Plan:
    """A healthy query, and one with the given condition."""
    return plan_of(
        [
            Select(id="good/select", inputs=(Port("s"),), where="v > 0.5"),
            Select(id="bad/select", inputs=(Port("s"),), where="v >= 0"),
            Select(id="bad/late", inputs=(Port("bad/select"),), where=second),
        ],
        {"good": Port("good/select"), "bad": Port("bad/late")},
    )


def test_a_run_until_idle_processes_everything(spark: Any) -> None:
    runtime = SparkRuntime(feeder_app(simple_plan("v >= 0"), rows=3000, rate=3000), spark)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True, seconds=60))
    report = runtime.stop()
    assert report["seconds"] < 60  # it ended by itself
    assert report["queries"]["q"]["inputs"] == 3000
    assert report["queries"]["q"]["outputs"] == results(runtime, "q").num_rows == 3000
    assert report["classes"]["high"]["latency"]["mean"] > 0
    assert 0 < report["weighted_latency"]["p50"] <= report["weighted_latency"]["p99"]
    assert set(report["inversion"].values()) == {0.0}  # one class
    assert any(mean for mean in report["course"]["classes"]["high"])
    assert report["runtime"] == "spark"
    taken = report["trains"]["high"]
    assert taken["calls"] == sum(report["calls"].values())
    assert taken["calls"] * taken["tuples_a_call"] == pytest.approx(3000)
    assert report["errors"] == {}


def test_a_failing_query_stops_alone_and_says_why(spark: Any) -> None:
    runtime = SparkRuntime(app_of(two_queries("100 / (k - 3) > -1000"), "rr", unit="query"), spark)
    runtime.open()
    for seed in range(4):
        runtime.deliver({"s": numbers(100, seed, first=100 * seed)})
        drain(runtime)
    report = runtime.stop()
    assert "DIVIDE_BY_ZERO" in report["errors"]["bad"]
    assert list(report["errors"]) == ["bad"]
    expected = sum(int((numbers(100, seed).to_pandas().v > 0.5).sum()) for seed in range(4))
    assert results(runtime, "good").num_rows == expected


def test_positions_are_those_of_the_tuples_that_were_queued(spark: Any, tmp_path: Path) -> None:
    runtime = SparkRuntime(app_of(two_queries("v > 0.9"), "rr", unit="query"), spark)
    runtime.open()
    runtime.deliver({"s": numbers(10, 1)}, positions={"s": {"given": 10}})
    assert runtime.positions == {"s": {"given": 10}}
    runtime.deliver({"s": numbers(10, 2)})
    assert runtime.positions == {"s": {"given": 10}}
    runtime.ended("s", OSError("the disk is gone"))
    assert runtime.positions == {"s": {"given": 10}}  # a restart tries it again
    runtime.ended("s")
    assert runtime.positions == {"s": ENDED}
    runtime.stop()
    plan = plan_of(
        [Select(id="a/x", inputs=(Port("f"),), where="v >= 0")], {"a": Port("a/x")}, [_csv("f", tmp_path, TWO)]
    )
    read = SparkRuntime(replace(app_of(plan), folder=tmp_path), spark)
    read.start()
    assert read.positions.keys() == {"f"}  # known before the first tuple
    read.wait(RunLimits(until_idle=True, seconds=30))
    assert read.stop()["sources"] == {"f": {"state": "ended"}}
    assert read.positions == {"f": ENDED}


def test_a_shared_operator_survives_the_failure_of_one_of_its_queries(spark: Any) -> None:
    plan = plan_of(
        [
            Select(id="a/shared", inputs=(Port("s"),), where="v > 0.5"),
            Project(id="b/breaks", inputs=(Port("a/shared"),), columns={"x": "100 / (k - k)"}),
        ],
        {"a": Port("a/shared"), "b": Port("b/breaks")},
    )
    runtime = SparkRuntime(app_of(plan, "fifo", unit="query"), spark)
    runtime.open()
    for seed in range(3):
        runtime.deliver({"s": numbers(50, seed, first=50 * seed)})
        drain(runtime)
    report = runtime.stop()
    assert list(report["errors"]) == ["b"]
    expected = sum(int((numbers(50, seed).to_pandas().v > 0.5).sum()) for seed in range(3))
    assert results(runtime, "a").num_rows == expected


def test_a_call_with_a_transient_fault_is_tried_again(
    spark: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = SparkRuntime(app_of(simple_plan(), unit="query"), spark)
    runtime.open()
    run, calls = runtime.caller.run, []

    def fails_once(operators: Any, *others: Any) -> Any:
        calls.append(tuple(operators))
        if len(calls) == 1:
            raise OSError("the network had a hiccup")
        return run(operators, *others)

    monkeypatch.setattr(runtime.caller, "run", fails_once)
    runtime.deliver({"s": numbers(100, 1)})
    drain(runtime)
    report = runtime.stop()
    assert report["errors"] == {}
    assert calls == [("q/select", "q/project")] * 2
    assert [record.getMessage() for record in caplog.records if "hiccup" in record.getMessage()] == [
        "a call of q failed and succeeded at the second attempt: the network had a hiccup"
    ]
    assert results(runtime, "q").num_rows == int((numbers(100, 1).to_pandas().v > 0.5).sum())


def test_a_wrong_user_function_is_reported_by_name(spark: Any) -> None:
    function = Function(
        id="q/f",
        inputs=(Port("s"),),
        target="tests.runtime.spark.user_functions:loses_rows",
        schema=parse_schema("k INT", "f"),
    )
    runtime = SparkRuntime(app_of(plan_of([function], {"q": Port("q/f")})), spark)
    runtime.open()
    runtime.deliver({"s": numbers(10, 1)})
    drain(runtime)
    assert "loses_rows got 1 rows and returned 0" in runtime.stop()["errors"]["q"]


def test_a_failing_source_stops_only_its_readers(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(
        [
            Select(id="a/x", inputs=(Port("good"),), where="v >= 0"),
            Select(id="b/x", inputs=(Port("bad"),), where="v >= 0"),
        ],
        {"a": Port("a/x"), "b": Port("b/x")},
        [_csv("good", tmp_path, TWO), _csv("bad", tmp_path, "k,v\n1,0.5\n")],
    )

    def make(context: SourceContext, since: float) -> Any:
        source = source_for_run(context, since)
        if context.stream.name == "bad":
            monkeypatch.setattr(source, "poll", lambda *_: (_ for _ in ()).throw(ValueError("the disk is gone")))
        return source

    monkeypatch.setattr(source_thread, "source_for_run", make)
    runtime = SparkRuntime(replace(app_of(plan), folder=tmp_path), spark)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True, seconds=30))
    report = runtime.stop()
    assert report["seconds"] < 30
    assert report["errors"] == {"b": "the disk is gone"}
    assert results(runtime, "a").num_rows == 2


def _csv(name: str, folder: Path, text: str) -> Stream:
    (folder / f"{name}.csv").write_text(text)
    source = {"kind": "csv", "path": f"{name}.csv", "header": True, "replay": "fast"}
    return Stream(name, parse_schema("k INT, v DOUBLE", name), source)


@pytest.mark.parametrize("unit", ["operator", "path", "query"])
def test_replacing_the_policy_while_running_changes_no_answer(spark: Any, unit: str) -> None:
    runtime = SparkRuntime(app_of(simple_plan(), "rr", unit="operator"), spark)
    runtime.open()
    expected = 0
    for seed in range(4):
        runtime.deliver({"s": numbers(80, seed, first=80 * seed)})
        expected += int((numbers(80, seed).to_pandas().v > 0.5).sum())
        runtime.step(0)  # leaves tuples between the operators
        runtime.set_policy(PolicySettings("fifo" if seed % 2 else "rr", {"unit": unit}), reason="test")
    drain(runtime)
    report = runtime.stop()
    assert results(runtime, "q").num_rows == expected
    assert [s["to"] for s in report["switches"]] == ["rr", "fifo", "rr", "fifo"]


def test_spilling_keeps_every_tuple(spark: Any) -> None:
    runtime = SparkRuntime(replace(app_of(simple_plan("v >= 0")), queues=QueueSettings(50_000)), spark)
    runtime.open()
    tables = [numbers(2000, seed, first=2000 * seed) for seed in range(6)]
    for table in tables:
        runtime.deliver({"s": table})
    assert runtime.core.memory.spilled_bytes > 0
    drain(runtime)
    runtime.stop()
    whole = pa.concat_tables(tables).to_pandas()
    assert results(runtime, "q").num_rows == int((whole.v >= 0).sum())


def test_stopping_cuts_off_a_hanging_call(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "GRACE_S", 1.5)
    slow = Function(
        id="q/f",
        inputs=(Port("s"),),
        target="tests.runtime.spark.user_functions:slow_if_negative",
        schema=parse_schema("k INT", "f"),
    )
    plan = plan_of([slow], {"q": Port("q/f")})
    streams = {"s": replace(plan.streams["s"], source=_negative())}
    runtime = SparkRuntime(app_of(replace(plan, streams=streams)), spark)
    runtime.start()
    time.sleep(1.5)
    started = time.monotonic()
    report = runtime.stop()
    assert time.monotonic() - started < 15
    assert report["queries"]["q"]["outputs"] == 0
    assert not [t for t in threading.enumerate() if t.name.startswith("headgate-") and t.is_alive()]


def _negative() -> dict[str, Any]:
    return {"kind": "feeder", "rate": 50, "arrivals": "constant", "rows": 10, "values": {"k": "constant -1"}}


def test_statistics_are_learned_from_the_calls_that_run(spark: Any) -> None:
    runtime = SparkRuntime(app_of(simple_plan("v > 0.75")), spark)
    runtime.open()
    for seed in range(12):
        runtime.deliver({"s": numbers(2000, seed, first=2000 * seed)})
        drain(runtime)
    stats = runtime.core.stats.of("q/select")
    assert runtime.core.stats.call_fixed_s is not None
    assert runtime.core.stats.call_fixed_s > 0
    assert stats.selectivity == pytest.approx(0.25, abs=0.03)
    assert runtime.core.stats.of("q/project").selectivity == 1.0
    assert runtime.core.stats.of("q/project").tuple_bytes == pytest.approx(36, abs=4)
    runtime.stop()


def test_jobs_belong_to_the_job_group_of_the_run(spark: Any) -> None:
    runtime = SparkRuntime(app_of(simple_plan(), unit="query"), spark)
    runtime.open()
    for seed in range(3):
        runtime.deliver({"s": numbers(10, seed)})
        runtime.step(0)
    tracker = spark.sparkContext.statusTracker()
    assert tracker.getJobIdsForGroup(runtime.call_runner.group)
    runtime.stop()


@pytest.mark.parametrize(("ways", "jobs"), [(Ways(), 0), (Ways(direct=False), 1)], ids=["direct", "prepared"])
def test_jobs_of_a_call(spark: Any, ways: Ways, jobs: int) -> None:
    runtime = SparkRuntime(app_of(simple_plan(), unit="query"), spark, ways=ways)
    runtime.open()
    for seed in range(4):  # the first calls are compared with newly planned ones
        runtime.deliver({"s": numbers(10, seed)})
        runtime.step(0)
    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup(runtime.call_runner.group))
    for seed in range(5):
        runtime.deliver({"s": numbers(10, 50 + seed)})
        runtime.step(0)
    after = len(spark.sparkContext.statusTracker().getJobIdsForGroup(runtime.call_runner.group))
    assert after - before == 5 * jobs
    runtime.stop()


def test_bad_expressions_are_refused_before_the_run(spark: Any) -> None:
    from headgate.errors import ApplicationError

    with pytest.raises(ApplicationError, match=r"queries\.q\.operators\.project"):
        SparkRuntime(app_of(simple_plan("v > 0", {"x": "no_such_function(k)"})), spark)


def test_one_warning_is_logged_when_a_query_stops(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    runtime = SparkRuntime(app_of(two_queries("100 / (k - k) > 0"), unit="query"), spark)
    runtime.open()
    with caplog.at_level(logging.WARNING, "headgate"):
        runtime.deliver({"s": numbers(20, 1)})
        drain(runtime)
    runtime.stop()
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(messages) == 1
    assert messages[0].startswith("query bad stopped: [DIVIDE_BY_ZERO]")
    assert rows_of(results(runtime, "good"))


def test_a_policy_that_breaks_the_rules_ends_the_run_loudly(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from headgate.errors import InvariantError

    runtime = SparkRuntime(feeder_app(simple_plan(), rows=10, rate=1000), spark)
    monkeypatch.setattr(runtime.core.board, "_choose", lambda slot: None)
    runtime.start()
    try:
        with pytest.raises(InvariantError, match="leaves slot"):
            runtime.wait(RunLimits(seconds=20))
    finally:
        runtime.stop()


def test_a_query_that_stops_during_its_call_logs_no_failure(
    spark: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A source may fail while a slot runs a query that reads it: the call ends and its results are dropped."""
    plan = plan_of(
        [
            Select(id="a/x", inputs=(Port("good"),), where="v >= 0"),
            Select(id="b/x", inputs=(Port("bad"),), where="v >= 0"),
        ],
        {"a": Port("a/x"), "b": Port("b/x")},
        [stream("good"), stream("bad")],
    )
    runtime = SparkRuntime(app_of(plan, unit="query"), spark)
    runtime.open()
    run = runtime.caller.run

    def source_fails_meanwhile(operators: Any, *rest: Any) -> Any:
        result = run(operators, *rest)
        if "b/x" in operators:
            runtime.ended("bad", OSError("the disk is gone"))
        return result

    monkeypatch.setattr(runtime.caller, "run", source_fails_meanwhile)
    for name in ("bad", "good"):
        runtime.deliver({name: numbers(50, 1)})
    with caplog.at_level(logging.WARNING, "headgate"):
        drain(runtime)
    report = runtime.stop()
    assert report["errors"] == {"b": "the disk is gone"}
    assert "failed" not in caplog.text
    assert results(runtime, "a").num_rows == int((numbers(50, 1).to_pandas().v >= 0).sum())
