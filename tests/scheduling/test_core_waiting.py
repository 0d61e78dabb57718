"""Units that give results only at the boundaries of windows wait for one, but never too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Plan, Stream
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.scheduling import boundary_wait, core
from headgate.scheduling.boundary_wait import BoundaryWait
from headgate.sql.schema import parse_schema
from tests.scheduling.driven_core import DrivenCore
from tests.scheduling.plain_caller import TimedCaller
from tests.scheduling.timed import plan_of

SCHEMA = parse_schema("k INT, t BIGINT", "test")
STREAMS = {name: Stream(name, SCHEMA, {}) for name in ("s", "r")}
QUERIES = {
    "seconds": "SELECT k, count(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k",
    "halves": "SELECT k, count(*) AS n FROM r [RANGE 1 SECOND SLIDE 500 MILLISECONDS] GROUP BY k",
}


def driven(queries: tuple[str, ...] = ("seconds",), **settings: Any) -> DrivenCore:
    """After its first calls, which do not wait: nobody knows yet where the last boundary was."""
    plan: Plan = plan_of({name: QUERIES[name] for name in queries}, STREAMS)
    run = DrivenCore(plan, "fifo", {"unit": "query"}, caller=TimedCaller(), **settings)
    bring(run, 0.05, *plan.streams)
    run.drain()
    return run


def bring(run: DrivenCore, now: float, *streams: str) -> None:
    """A tuple arrives on each of these streams; nothing else has come on any stream."""
    run.now = now
    run.arrive({name: tuples(now) for name in streams}, complete=list(run.plan.streams))


def tuples(now: float, count: int = 1) -> pa.Table:
    columns = [[1] * count, [0] * count, [round(now * 1e6)] * count, list(range(count))]
    schema = arrow_schema(SCHEMA)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def test_a_unit_waits_for_its_boundary() -> None:
    run = driven()
    bring(run, 0.1, "s")
    assert not run.ask(0)
    bring(run, 0.9, "s")
    assert not run.ask(0)
    assert run.core.next_boundary(0.9) == pytest.approx(1.0, abs=1e-4)
    bring(run, 1.1)  # nothing arrives, but time has passed
    assert run.ask(0)
    assert run.calls[0].rows == 2


@pytest.mark.parametrize("promised", [False, True])
def test_a_query_with_a_promised_latency_does_not_put_off_too_much_work(promised: bool) -> None:
    plan = plan_of({"seconds": QUERIES["seconds"]}, STREAMS)
    if promised:
        promise = QosMeasure("latency", "must", QosGraph(((0.0, 1.0), (100.0, 1.0))))
        plan = replace(plan, queries={"seconds": replace(plan.queries["seconds"], qos=(promise,))})
    run = DrivenCore(plan, "fifo", {"unit": "query"}, caller=TimedCaller())
    bring(run, 0.05, *plan.streams)
    run.drain()
    took = run.core.work.per_tuple("seconds")
    assert took is not None
    run.now = 0.4
    run.arrive({"s": tuples(0.4, int(boundary_wait.MOST_WORK / took))}, complete=list(plan.streams))
    assert not run.ask(0)
    run.arrive({"s": tuples(0.4)}, complete=list(plan.streams))
    assert run.ask(0) == promised


def test_it_waits_no_longer_than_is_bearable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No boundary comes, for the stream stands still: after a while, a free slot takes what waits."""
    run = driven()
    bring(run, 0.1, "s")
    run.now = 0.1 + boundary_wait.MOST_S - core.RECHECK_S
    assert not run.ask(0)
    run.now = 0.1 + boundary_wait.MOST_S
    assert run.ask(0)


def test_a_slot_looks_only_now_and_then_for_units_that_have_waited_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    run = driven()
    bring(run, 5.2)
    run.drain()
    bring(run, 5.3, "s")
    looked = run.now = 5.4 + core.RECHECK_S
    assert not run.ask(0)
    monkeypatch.setattr(boundary_wait, "MOST_S", 0.0)
    run.now = looked + core.RECHECK_S / 2
    assert not run.ask(0)
    run.now = looked + core.RECHECK_S
    assert run.ask(0)


def test_nothing_waits_while_sources_wait_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    run = driven()
    bring(run, 0.1, "s")
    assert not run.ask(0)
    monkeypatch.setattr(core.Core, "memory_short", property(lambda _: True))
    assert run.ask(0)


def test_a_call_that_ends_looks_at_no_unit_that_it_does_not_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    run = driven(("seconds", "halves"))
    bring(run, 0.1, "s", "r")
    bring(run, 0.6, "s")  # a boundary of the halves alone
    assert run.ask(0)
    assert run.calls[0].unit.id == "halves"
    asked: list[str] = []
    waits = BoundaryWait.waits

    def noted(self: BoundaryWait, unit: Any, now: float) -> bool:
        asked.append(unit.id)
        return waits(self, unit, now)

    monkeypatch.setattr(BoundaryWait, "waits", noted)
    run.finish(0)
    assert "seconds" not in asked
