"""How runs begin and end on Spark: what is reported and logged, and that nothing stays behind."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from headgate.application.checked import QueueSettings, RunLimits
from headgate.connect.sinks.files import FileSink
from headgate.errors import ApplicationError
from headgate.plan.model import Plan, Query, Stream, Table
from headgate.plan.operators import Port, Select, TableJoin
from headgate.runtime.spark import caller_setup, engine
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.internals.leaf import LeafError
from headgate.runtime.spark.slots import SlotThreads
from headgate.sql.schema import parse_schema
from tests.runtime.spark.helpers import app_of, numbers, plan_of, rows_of, simple_plan

pytestmark = pytest.mark.spark


@pytest.fixture
def spill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which spill folders are made; it must be empty again at the end."""
    folder = tmp_path / "spill"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("headgate-")]


def with_sink(plan: Plan, sink: dict[str, Any]) -> Plan:
    queries = {name: replace(query, sink=sink) for name, query in plan.queries.items()}
    return replace(plan, queries=queries)


def csv_stream(folder: Path, text: str) -> Stream:
    (folder / "s.csv").write_text(text)
    return Stream("s", parse_schema("k INT, v DOUBLE", "s"), {"kind": "csv", "path": "s.csv"})


def joined_plan(folder: Path) -> Plan:
    """Stream s joined with a table of names."""
    (folder / "names.csv").write_text("k,name\n1,one\n2,two\n2,zwei\n")
    names = Table("names", parse_schema("k INT, name STRING", "t"), {"kind": "csv", "path": "names.csv"})
    join = TableJoin(id="q/join", inputs=(Port("s"),), table="names", table_schema=names.schema, on={"k": "k"})
    return plan_of([join], {"q": Port("q/join")}, tables=[names])


def test_pyspark_prints_no_record_of_a_failed_query(session: Any) -> None:
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    loggers = [logging.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    handler = Keep()
    for logger in loggers:
        logger.addHandler(handler)
    try:
        with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
            session.range(3).selectExpr("100 / (id - id)").collect()
        with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
            session.range(3).select(F.lit(100) / (F.col("id") - 1)).collect()
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    assert records == []


def test_replayable_sources_wait_at_half_of_the_memory_given(spark: Any, spill: Path) -> None:
    table = numbers(2000, 1)
    for queue_bytes, short in ((3 * table.nbytes, False), (3 * table.nbytes // 2, True)):
        runtime = SparkRuntime(replace(app_of(simple_plan()), queues=QueueSettings(queue_bytes)), spark)
        runtime.open()
        runtime.deliver({"s": table})
        assert runtime.core.memory.spilled_bytes == 0
        assert runtime.core.memory_short is short
        runtime.stop()


def test_a_sink_that_cannot_be_closed_is_an_error_of_its_query(
    spark: Any, tmp_path: Path, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = with_sink(simple_plan(), {"kind": "csv", "path": "out.csv"})
    runtime = SparkRuntime(replace(app_of(plan), folder=tmp_path), spark)
    runtime.open()
    close = FileSink.close

    def fails(sink: FileSink) -> None:
        close(sink)
        raise OSError("no space left on device")

    monkeypatch.setattr(FileSink, "close", fails)
    assert runtime.stop()["errors"] == {"q": "no space left on device"}


def test_malformed_rows_are_logged_once(
    spark: Any, tmp_path: Path, spill: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "k,v\n1,0.5\nhot,0.5\n2,0.5,9\n3,0.75\n"
    plan = plan_of(
        [Select(id="q/x", inputs=(Port("s"),), where="v > 0")], {"q": Port("q/x")}, [csv_stream(tmp_path, text)]
    )
    runtime = SparkRuntime(replace(app_of(plan), folder=tmp_path), spark)
    with caplog.at_level(logging.WARNING, "headgate.source"):
        runtime.start()
        runtime.wait(RunLimits(until_idle=True, seconds=60))
        report = runtime.stop()
    assert report["seconds"] < 60
    assert report["rejected"] == {"s": 2}
    assert report["queries"]["q"]["outputs"] == 2
    messages = [record.getMessage() for record in caplog.records if record.name == "headgate.source"]
    assert len(messages) == 2
    assert any("'hot'" in line for line in messages)
    assert any("3 fields" in line for line in messages)


def test_tables_that_cannot_be_leaves_are_still_joined(
    spark: Any, tmp_path: Path, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results() -> Any:
        runtime = SparkRuntime(replace(app_of(joined_plan(tmp_path), unit="query"), folder=tmp_path), spark)
        runtime.open()
        for seed in range(4):
            runtime.deliver({"s": numbers(100, seed, first=100 * seed)})
            runtime.step(0)
        assert runtime.stop()["errors"] == {}
        rows = [rows_of(table) for table in runtime.sinks["q"].tables()]  # type: ignore[attr-defined]
        return sum(rows[1:], rows[0])

    with_leaves = results()

    class NoLeaf:
        def __init__(self, *_: Any) -> None:
            raise LeafError("this Spark keeps its data elsewhere")

    monkeypatch.setattr(caller_setup, "Leaf", NoLeaf)
    assert results() == with_leaves


def test_cached_tables_are_released(spark: Any, tmp_path: Path, spill: Path) -> None:
    def cached() -> bool:
        return not spark._jsparkSession.sharedState().cacheManager().isEmpty()

    assert not cached()
    app = replace(app_of(joined_plan(tmp_path)), folder=tmp_path)
    runtime = SparkRuntime(app, spark, ways=Ways(partitioned_rows=0))  # calls with several partitions use them
    runtime.open()
    runtime.deliver({"s": numbers(10, 1)})
    runtime.step(0)
    assert cached()
    runtime.stop()
    assert not cached()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_cannot_be_set_up_leaves_nothing_behind(
    spark: Any, spill: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        assert list(spill.iterdir())  # the failure comes late enough to leave something behind
        raise error

    monkeypatch.setattr(engine, "Core", fails)
    with pytest.raises(error):
        SparkRuntime(app_of(simple_plan()), spark)


@pytest.mark.parametrize("place", [(engine, "warm_up"), (SlotThreads, "start")], ids=["warm up", "slots"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_start_that_fails_leaves_nothing_behind(
    spark: Any,
    tmp_path: Path,
    spill: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, str],
    error: type[BaseException],
) -> None:
    plan = with_sink(simple_plan(), {"kind": "csv", "path": "out.csv"})
    source = {"kind": "feeder", "rate": 100, "arrivals": "constant"}
    plan = replace(plan, streams={"s": replace(plan.streams["s"], source=source)})
    runtime = SparkRuntime(replace(app_of(plan), folder=tmp_path), spark)

    def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(*place, fails)
    with pytest.raises(error):
        runtime.start()
    assert open_files(tmp_path) == []


def test_a_slot_that_does_not_start_takes_the_others_with_it(
    spark: Any, spill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {"kind": "feeder", "rate": 100, "arrivals": "constant"}
    plan = simple_plan()
    plan = replace(plan, streams={"s": replace(plan.streams["s"], source=source)})
    runtime = SparkRuntime(app_of(plan, slots=2), spark)
    start, started = threading.Thread.start, []

    def second_fails(thread: threading.Thread) -> None:
        if thread.name.startswith("headgate-slot"):
            if started:
                raise KeyboardInterrupt
            started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", second_fails)
    with pytest.raises(KeyboardInterrupt):
        runtime.start()
    assert not started[0].is_alive()


def test_a_sink_that_cannot_be_opened_closes_those_before(spark: Any, tmp_path: Path, spill: Path) -> None:
    select = Select(id="a/x", inputs=(Port("s"),), where="v > 0")
    plan = plan_of([select], {"a": Port("a/x")})
    (tmp_path / "taken").write_text("a file, where the second sink wants a folder")
    sinks: dict[str, dict[str, Any]] = {
        "a": {"kind": "csv", "path": "a.csv"},
        "b": {"kind": "csv", "path": "taken/b"},
    }
    first = plan.queries["a"]
    queries = {name: Query(name, first.class_name, first.root, first.operators, sink=s) for name, s in sinks.items()}
    runtime = SparkRuntime(replace(app_of(replace(plan, queries=queries)), folder=tmp_path), spark)
    with pytest.raises(ApplicationError, match=r"queries\.b\.sink"):
        runtime.start()
    assert (tmp_path / "a.csv").exists()
    assert open_files(tmp_path) == []


def open_files(folder: Path) -> list[str]:
    """The files below a folder that this process has open."""
    return [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(folder)]
