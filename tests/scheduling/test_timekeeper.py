"""Time through a whole plan: in whatever order calls take, fail and end, no row comes after its instant was evaluated,
and in the end everything has been evaluated up to the last event."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headgate.plan.model import Edge
from headgate.scheduling.progress import BEGINNING, Bounds
from headgate.scheduling.timekeeper import Timekeeper
from headgate.sql.schema import TIME
from tests.applications import application
from tests.scheduling.timed import PLANS, Call, Lists, Row, in_one_go, plan_of, source_table

MADE = {name: plan_of(queries) for name, queries in PLANS.items()}


class Schedules(RuleBasedStateMachine):
    """Any order of arrivals, ends, takes, finishes and failures."""

    @initialize(plan=st.sampled_from(sorted(PLANS)))
    def start(self, plan: str) -> None:
        self.lists = Lists(MADE[plan])
        self.whole = self.lists.plan
        self.clock = 0
        self.flying: list[Call] = []
        self.stopped: set[str] = set()

    @property
    def open(self) -> list[str]:
        return sorted(self.lists.time.open)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), steps=st.lists(st.integers(-3, 3), min_size=1, max_size=4))
    def arrive(self, data: Any, steps: list[int]) -> None:
        """Times go up and down a little; some tuples are late."""
        times = []
        for step in steps:
            self.clock = max(0, self.clock + step)
            times.append(self.clock)
        self.lists.arrive(data.draw(st.sampled_from(self.open)), times)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def end(self, data: Any) -> None:
        self.lists.end(data.draw(st.sampled_from(self.open)))

    @precondition(lambda self: self._startable())
    @rule(data=st.data(), limit=st.sampled_from([1, 2, 100]))
    def begin(self, data: Any, limit: int) -> None:
        """Start a unit: an operator that has something to do, perhaps with operators behind it."""
        name = data.draw(st.sampled_from(self._startable()))
        unit = [name]
        while following := self._behind(unit):
            chosen = data.draw(st.none() | st.sampled_from(following))
            if chosen is None:
                break
            unit.append(chosen)
        self.flying.append(self.lists.begin(unit, limit))

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def finish(self, data: Any) -> None:
        self.lists.finish(self._landing(data))

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def give_up(self, data: Any) -> None:
        self.lists.give_up(self._landing(data))

    @precondition(lambda self: self.flying and len(self.lists.plan.queries) > 1)
    @rule(data=st.data())
    def fail(self, data: Any) -> None:
        """An operator of a call fails: what comes before it has been evaluated, its queries stop."""
        call = self._landing(data)
        self.stopped.update(self.lists.finish(call, data.draw(st.integers(0, len(call.operators) - 1))))

    @precondition(lambda self: len(self.lists.plan.queries) > 1)
    @rule(data=st.data())
    def stop(self, data: Any) -> None:
        query = data.draw(st.sampled_from(sorted(self.lists.plan.queries)))
        self.lists.stop([query])
        self.stopped.add(query)

    @rule()
    def wait(self) -> None:
        """There is always something to do."""

    @invariant()
    def nothing_flies_twice(self) -> None:
        flying = [name for call in getattr(self, "flying", []) for name in call.operators]
        assert len(flying) == len(set(flying))

    def teardown(self) -> None:
        """Let everything end, and compare with one call an operator."""
        if not hasattr(self, "lists"):
            return
        for stream in self.open:
            self.lists.end(stream)
        for call in self.flying:
            self.lists.finish(call)
        for _ in range(10_000):
            if not (ready := self.lists.ready):
                break
            self.lists.finish(self.lists.begin(ready[:1], 100))
        assert not self.lists.ready
        wanted = in_one_go(self.whole, self.lists.sent)
        for query in self.lists.plan.queries:
            assert self.lists.results[query] == wanted[query], query

    def _startable(self) -> list[str]:
        flying = {name for call in self.flying for name in call.operators}
        return [name for name in self.lists.ready if name not in flying]

    def _behind(self, unit: list[str]) -> list[str]:
        plan = self.lists.plan
        flying = {name for call in self.flying for name in call.operators}
        edges = [edge for name in unit for port in plan.operators[name].ports for edge in plan.consumers[port]]
        return sorted({edge.operator for edge in edges} - flying - set(unit))

    def _landing(self, data: Any) -> Call:
        return self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))


Schedules.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True)
TestSchedules = Schedules.TestCase


# Single cases ----------------------------------------------------------------------------------------------------

COUNT = {"q": "SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k"}


def test_late_tuples_are_told_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_of(COUNT)
    keeper = Timekeeper(plan, Lists(plan).queues)
    with caplog.at_level(logging.WARNING):
        keeper.admit("s", source_table([9, 3]))
        keeper.admit("s", source_table([2, None], 2))
    assert keeper.late == {"s": 3}
    assert len(caplog.records) == 1


def test_results_after_the_last_event_of_a_query_are_left_out_once_its_streams_have_ended() -> None:
    lists = Lists(plan_of({"a": COUNT["q"], "b": "SELECT a.k FROM a, r WHERE a.k = r.k"}))
    lists.arrive("s", [5])
    lists.arrive("r", [20])
    results = pa.table({TIME: pa.array([5, 8, None, 20, 21], pa.int64())})
    assert lists.time.up_to_last_event("a", results) is results
    lists.end("s")
    assert lists.time.up_to_last_event("a", results).column(TIME).to_pylist() == [5, None]
    assert lists.time.up_to_last_event("b", results) is results
    lists.end("r")
    assert lists.time.up_to_last_event("b", results).column(TIME).to_pylist() == [5, 8, None, 20]


def test_where_arrivals_are_the_time_it_passes_without_tuples() -> None:
    app = application({"s": "k INT"}, {"q": "SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k"})
    lists = Lists(app.checked().plan)
    keeper = lists.time
    assert keeper.ticks("s")
    came = keeper.admit("s", pa.table({"k": pa.array([1], pa.int32()), "_arrival": [500_000], "_sequence": [0]}))
    lists.queues[Edge("q/group", 0)].put([Row(500_000)])
    assert keeper.advance("s", came) == []
    lists.queues[Edge("q/group", 0)].take(1)
    bounds = keeper.begin(["q/group"])
    assert bounds == {"q/group": Bounds(BEGINNING, 499_999)}
    assert keeper.finish(["q/group"], bounds, {"q/group": 1_500_000}).due == []
    assert keeper.tick("s", 1_500_000) == [], "that instant is not complete yet"
    assert keeper.tick("s", 1_500_001) == ["q/group"]
    assert keeper.begin(["q/group"]) == {"q/group": Bounds(1_499_999, 1_500_000)}


def test_a_stream_that_nobody_reads_any_more_is_over() -> None:
    lists = Lists(plan_of({"a": "SELECT k FROM s", "b": "SELECT s.k FROM s [RANGE 3], r [RANGE 3] WHERE s.k = r.k"}))
    assert lists.time.open == {"s", "r"}
    lists.stop(["b"])
    assert lists.time.open == {"s"}
