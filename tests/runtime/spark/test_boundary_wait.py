"""Windows wait for their boundary: fewer calls, the same results."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.source_thread import open_sources
from headgate.scheduling import boundary_wait
from headgate.scheduling.boundary_wait import BoundaryWait
from tests.applications import application

pytestmark = pytest.mark.spark

QUERIES = {
    "sliding": "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 2 SECONDS SLIDE 1 SECOND] GROUP BY k)",
    "tumbling": "RSTREAM(SELECT avg(v) AS mean FROM s [RANGE 1 SECOND SLIDE 1 SECOND] WHERE k > 1)",
    "changes": "ISTREAM(SELECT k, max(v) AS most FROM r [RANGE 3 SECONDS SLIDE 500 MILLISECONDS] GROUP BY k)",
}


class Driven:
    """A runtime whose sources and slots are driven by the test."""

    def __init__(self, folder: Path, spark: Any, unit: str) -> None:
        feeder = {"kind": "feeder", "rate": 40, "rows": 140, "values": {"k": "uniform 0 3", "v": "uniform 0 1"}}
        streams = {name: {"schema": "k INT, v DOUBLE", "source": feeder} for name in ("s", "r")}
        app = application(streams, QUERIES, policy={"name": "rr", "unit": unit}).checked()
        self.runtime = SparkRuntime(app, spark)
        self.runtime.open()
        self._sources = open_sources(app)

    def bring(self, now: float) -> None:
        tables = {name: table for name, source in self._sources.items() if (table := source.poll(now)) is not None}
        self.runtime.deliver(tables, self._sources, now)

    def work(self) -> int:
        calls = 0
        while self.runtime.step(0):
            calls += 1
        return calls

    def end(self) -> dict[str, list[str]]:
        """The results of all queries, in an order that does not depend on the order of calls."""
        for name, source in self._sources.items():
            self.runtime.ended(name)
            source.close()
        self.work()
        sinks = {name: self.runtime.sinks[name] for name in QUERIES}
        self.runtime.stop()
        return {name: sorted(map(repr, pa.concat_tables(sink.tables()).to_pylist())) for name, sink in sinks.items()}


@pytest.mark.parametrize("unit", ["query", pytest.param("operator", marks=pytest.mark.nightly)])
def test_calls_come_at_boundaries_and_results_are_the_same(
    unit: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary_wait, "MOST_S", math.inf)  # the time that planning takes must not end a wait
    patient = Driven(tmp_path, spark, unit)
    calls = []
    for tick in range(1, 36):
        patient.bring(tick / 10)
        calls.append(patient.work())
    found = patient.end()
    with monkeypatch.context() as eager:
        eager.setattr(BoundaryWait, "waits", lambda *_: False)
        hasty = Driven(tmp_path, spark, unit)
        hasty_calls = 0
        for tick in range(1, 36):
            hasty.bring(tick / 10)
            hasty_calls += hasty.work()
        assert hasty.end() == found
    assert all(found.values())
    assert sum(calls) < hasty_calls * 0.6  # about half with a unit per operator; the quantum makes it vary a little
    if unit == "query":  # the first tick after a boundary: three queries at whole seconds, one at half seconds
        assert calls == ([3, 0, 0, 0, 0, 1, 0, 0, 0, 0] * 4)[:35]


def test_a_call_that_would_have_waited_yields_nothing(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All units are called at random times, whether or not they would wait."""
    waits = BoundaryWait.waits
    monkeypatch.setattr(BoundaryWait, "waits", lambda *_: False)
    driven, rng = Driven(tmp_path, spark, "query"), random.Random(7)

    def outputs() -> dict[str, int]:
        return {name: found["outputs"] for name, found in driven.runtime.report()["queries"].items()}

    waited = yielded = 0
    for tick in range(1, 60):
        driven.bring(tick / 17)
        if rng.random() < 0.6:
            continue
        ready = [unit for unit in driven.runtime.core.board.units if unit.ready]
        would_wait = {unit.id for unit in ready if waits(driven.runtime.core.boundary_wait, unit, 0.0)}
        before = outputs()
        driven.work()
        gave = {name for name, count in outputs().items() if count > before[name]}
        assert not gave & would_wait
        waited, yielded = waited + len(would_wait), yielded + len(gave)
    driven.end()
    assert waited > 10
    assert yielded > 3
