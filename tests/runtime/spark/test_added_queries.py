"""Queries join a run, stop and are removed, while the others go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.errors import ApplicationError
from headgate.runtime.spark.engine import SparkRuntime
from tests.applications import FEEDER, application
from tests.runtime.spark.helpers import numbers

pytestmark = pytest.mark.spark

LARGE = "SELECT k, v FROM s WHERE v > 0.5"
COUNTS = "SELECT k, count(*) AS n FROM s GROUP BY k"
NAMED = "SELECT s.k, p.name FROM s JOIN names p ON s.k = p.k"


def application_of(folder: Path, queries: dict[str, str], **streams: Any) -> CheckedApplication:
    (folder / "names.csv").write_text("k,name\n1,one\n2,two\n")
    (folder / "later.csv").write_text("k,v\n" + "".join(f"{i},{i}\n" for i in range(40)))
    sources = {"s": FEEDER, "later": {"kind": "csv", "path": "later.csv"}} | streams
    made = {name: {"schema": "k INT, v DOUBLE", "source": source} for name, source in sources.items()}
    names = {"kind": "csv", "path": "names.csv", "schema": "k INT, name STRING"}
    return application(made, queries, {"names": names}, folder=folder).checked()


@pytest.fixture
def runtime(spark: Any, tmp_path: Path) -> Iterator[SparkRuntime]:
    runtime = SparkRuntime(application_of(tmp_path, {"first": LARGE}), spark)
    runtime.open()
    yield runtime
    runtime.stop()


def rows(runtime: SparkRuntime, query: str) -> int:
    return sum(table.num_rows for table in runtime.sinks[query].tables())  # type: ignore[attr-defined]


def drain(runtime: SparkRuntime) -> None:
    while runtime.step(0):
        pass


def large(seed: int) -> int:
    return int((numbers(100, seed).to_pandas().v > 0.5).sum())


def test_a_query_that_joins_reads_what_arrives_from_then_on(runtime: SparkRuntime, tmp_path: Path) -> None:
    runtime.deliver({"s": numbers(100, 1)})
    joined = {"first": LARGE, "same": LARGE, "named": NAMED, "counts": COUNTS, "again": "SELECT k FROM first"}
    runtime.add_queries(application_of(tmp_path, joined))
    runtime.deliver({"s": numbers(100, 2, first=100)})
    drain(runtime)
    report = runtime.report()
    assert report["errors"] == {}
    assert rows(runtime, "first") == large(1) + large(2)
    assert rows(runtime, "same") == rows(runtime, "again") == large(2)
    assert rows(runtime, "named") == int(numbers(100, 2).to_pandas().k.isin([1, 2]).sum())
    assert report["queries"]["same"]["inputs"] == 100


def test_what_cannot_run_changes_nothing(runtime: SparkRuntime, tmp_path: Path) -> None:
    broken = application_of(tmp_path, {"first": LARGE, "bad": "SELECT no_such_function(k) AS x FROM s"})
    with pytest.raises(ApplicationError, match="no_such_function"):
        runtime.add_queries(broken)
    runtime.add_queries(application_of(tmp_path, {"first": LARGE, "bad": LARGE}))
    runtime.deliver({"s": numbers(100, 1)})
    drain(runtime)
    assert rows(runtime, "first") == rows(runtime, "bad") == large(1)


def test_a_removed_query_frees_its_name(runtime: SparkRuntime, tmp_path: Path) -> None:
    runtime.add_queries(application_of(tmp_path, {"first": LARGE, "counts": COUNTS}))
    runtime.deliver({"s": numbers(100, 1)})
    drain(runtime)
    runtime.stop_queries(["counts"])
    runtime.deliver({"s": numbers(100, 2, first=100)})
    drain(runtime)
    assert runtime.report()["queries"]["counts"]["inputs"] == 100
    runtime.add_queries(application_of(tmp_path, {"first": LARGE, "counts": LARGE}))  # a known name: nothing is added
    assert "counts" not in runtime.core.plan.queries
    runtime.remove_query("counts")
    assert "counts" not in runtime.report()["queries"]
    runtime.add_queries(application_of(tmp_path, {"first": LARGE, "counts": LARGE}))
    runtime.deliver({"s": numbers(100, 3, first=200)})
    drain(runtime)
    assert rows(runtime, "counts") == large(3)
    assert rows(runtime, "first") == large(1) + large(2) + large(3)
    with pytest.raises(ValueError, match="there is no query 'nothing'"):
        runtime.remove_query("nothing")


def test_the_source_of_a_new_stream_is_opened(spark: Any, tmp_path: Path) -> None:
    few = {"s": {"kind": "feeder", "rate": 200, "rows": 100, "values": {"v": "uniform 0 1"}}}
    runtime = SparkRuntime(application_of(tmp_path, {"first": LARGE}, **few), spark)
    runtime.start()
    try:
        runtime.add_queries(application_of(tmp_path, {"first": LARGE, "more": "SELECT k FROM later"}, **few))
        runtime.wait(RunLimits(until_idle=True, seconds=60))
    finally:
        report = runtime.stop()
    assert report["errors"] == {}
    assert report["queries"]["more"]["outputs"] == 40
    latencies = report["queries"]["more"]["latency"]
    assert 0 <= latencies["max"] < report["seconds"]


def test_a_query_is_not_removed_before_its_call_has_ended(
    runtime: SparkRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, removing = runtime.caller.run, threading.Event()
    remover = threading.Thread(target=lambda: (removing.set(), runtime.remove_query("first")))

    def slow(*given: Any) -> Any:
        remover.start()
        removing.wait()
        remover.join(0.5)
        assert remover.is_alive(), "it was removed while its call ran"
        return run(*given)

    monkeypatch.setattr(runtime.caller, "run", slow)
    runtime.deliver({"s": numbers(100, 1)})
    assert runtime.step(0)
    remover.join(30)
    assert not remover.is_alive()
    monkeypatch.undo()
    runtime.add_queries(application_of(tmp_path, {"first": LARGE}))
    runtime.deliver({"s": numbers(100, 2, first=100)})
    drain(runtime)
    assert rows(runtime, "first") == large(2)
