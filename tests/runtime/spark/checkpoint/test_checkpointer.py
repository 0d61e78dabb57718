"""When checkpoints are taken, what waits for them, and what becomes of one that cannot be written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.connect.sinks import StagedSink
from headgate.connect.sinks.base import Shape
from headgate.plan.changed_settings import settings_of
from headgate.plan.model import Plan
from headgate.runtime.spark.checkpoint.checkpointer import Checkpointer
from headgate.runtime.spark.checkpoint.cut import Cut
from headgate.runtime.spark.checkpoint.files import CheckpointInUse, LocalFiles
from headgate.runtime.spark.checkpoint.store import CheckpointStore
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.sql.schema import ARRIVAL, parse_schema
from tests.runtime.spark.checkpoint.test_resumed import application


class Target:
    """Takes epochs."""

    last_epoch = 0

    def __init__(self) -> None:
        self.committed: list[tuple[int, list[int]]] = []

    def commit(self, epoch: int, table: pa.Table) -> None:
        self.committed.append((epoch, table.column("k").to_pylist()))

    def close(self) -> None:
        pass


class Bench:
    """A checkpointer with a run that is not there."""

    def __init__(self, folder: Path, interval_s: float = 3600.0) -> None:
        self.plan: Plan = application().plan
        self.target = Target()
        self.sink = StagedSink(self.target, Shape(parse_schema("k INT", "test"), {}), held=True)
        self.sinks = QuerySinks(checkpointed=True)
        self.sinks["large"] = self.sink
        self.store = CheckpointStore(LocalFiles(folder / "state"), keep=2)
        self.at = 0
        self.forgotten: list[Any] = []
        self.failed: list[Mapping[str, Exception]] = []
        self.broken: list[Exception] = []
        told = (self.forgotten.append, self.failed.append, self.broken.append)
        self.checkpointer = Checkpointer(self.store, interval_s, 2, None, self.sinks, self.cut, *told)

    def cut(self) -> Cut:
        self.at += 1
        state = {"at": float(self.at), "sources": {"s": {"given": self.at}}, "sinks": self.sinks.end_epochs()}
        return Cut(state, self.plan, settings_of(self.plan), 0)

    def give(self, value: int) -> None:
        self.sink.write(pa.table({"k": [value], ARRIVAL: [0]}))


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_results_go_out_when_they_are_in_a_checkpoint(bench: Bench) -> None:
    bench.give(7)
    time.sleep(0.05)
    assert bench.target.committed == []
    bench.checkpointer.take()
    wait_for(lambda: bench.target.committed == [(1, [7])])
    saved = bench.store.load(1).state["sinks"]["large"]
    assert saved["content"].column("k").to_pylist() == [7]


def test_one_that_cannot_be_written_holds_results_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.give(1)
    with monkeypatch.context() as broken:
        broken.setattr(bench.store, "write", lambda state: (_ for _ in ()).throw(OSError("the disk is full")))
        with pytest.raises(OSError, match="the disk is full"):
            bench.checkpointer.take()
    assert bench.checkpointer.report()["failed"] == 1
    assert bench.checkpointer.report()["error"] == "the disk is full"
    time.sleep(0.05)
    assert bench.target.committed == []
    bench.give(2)
    bench.checkpointer.take()
    wait_for(lambda: bench.target.committed == [(1, [1]), (2, [2])])
    report = bench.checkpointer.report()
    assert (report["taken"], report["failed"], report["error"]) == (1, 1, None)


def test_a_sink_that_cannot_be_written_fails_its_query(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.sink, "flush", lambda: (_ for _ in ()).throw(OSError("gone")))
    with pytest.raises(OSError, match="the sink of query large failed: gone"):
        bench.checkpointer.take()
    assert [list(errors) for errors in bench.failed] == [["large"]]
    assert bench.store.numbers() == []


def test_another_run_that_has_taken_over_ends_this_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken_over(state: Any) -> None:
        raise CheckpointInUse("another run has taken over")

    monkeypatch.setattr(bench.store, "write", taken_over)
    with pytest.raises(CheckpointInUse):
        bench.checkpointer.take()
    assert len(bench.broken) == 1


def test_sources_may_forget_what_the_oldest_one_does_not_need(bench: Bench) -> None:
    for _ in range(4):
        bench.checkpointer.take()
    assert bench.store.numbers() == [3, 4]
    assert bench.forgotten == [{"s": {"given": at}} for at in (1, 2, 3)]


def test_it_takes_them_by_itself(tmp_path: Path) -> None:
    bench = Bench(tmp_path, interval_s=0.1)
    bench.checkpointer.start()
    wait_for(lambda: bench.checkpointer.report()["taken"] >= 3)
    assert bench.checkpointer.stop()
    last = bench.checkpointer.report()["last"]
    assert last["number"] == bench.store.numbers()[-1]
    assert last["at"] == float(bench.at)


def test_many_results_do_not_wait_for_the_interval(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.connect.sinks.staged.EARLY_BYTES", 0)
    bench.checkpointer.start()
    bench.give(5)
    wait_for(lambda: bench.target.committed == [(1, [5])])
    assert bench.checkpointer.stop()
