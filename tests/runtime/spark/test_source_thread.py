"""The source thread: what it delivers, when, and what happens to sources that fail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from headgate.runtime.spark import source_thread
from headgate.runtime.spark.source_thread import SourceThread


class FakeSource:
    """A source that returns tables, one per poll, then nothing; an exception in the list is raised."""

    def __init__(self, *given: pa.Table | Exception | None, replayable: bool = False) -> None:
        self.replayable = replayable
        self.rejected = 0
        self.closed = False
        self._left = list(given)
        self.position = 0  # polls that gave something

    @property
    def exhausted(self) -> bool:
        return not self._left

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        given = self._left.pop(0)
        if isinstance(given, Exception):
            raise given
        self.position += given is not None
        return given

    def close(self) -> None:
        self.closed = True


class Reports:
    """A source thread, and what it reported, in order."""

    def __init__(self, sources: Mapping[str, Any], refused: str = "", boundary: float = math.inf) -> None:
        self.seen: list[Any] = []
        self.positions: dict[str, Any] = {}
        self.now = 7.0
        self.memory_short = self.disk_full = False
        self.read = set(sources)
        self.held_up: set[str] = set()
        self._refused = refused
        self.breaks: Exception | None = None  # what handing over tuples raises
        self.thread = SourceThread(
            sources,
            now=lambda: self.now,
            deliver=self._deliver,
            ended=self._ended,
            broken=lambda error: self.seen.append(("broken", str(error))),
            may_read=lambda replayable: not (self.memory_short if replayable else self.disk_full),
            next_boundary=lambda now: boundary,
            read=lambda: self.read,
            reopen=lambda name, position: pytest.fail("not opened again"),
            held_up=lambda: self.held_up,
        )

    def _deliver(
        self, tables: Mapping[str, pa.Table], complete: Any, now: float, positions: Mapping[str, Any]
    ) -> dict[str, Exception]:
        if self.breaks is not None:
            raise self.breaks
        assert positions.keys() == tables.keys()
        self.positions.update(positions)
        self.seen.append(({name: table.num_rows for name, table in tables.items()}, list(complete), now))
        return {name: OSError("full") for name in tables if name == self._refused}

    def _ended(self, stream: str, error: Exception | None) -> None:
        self.seen.append((stream, None if error is None else str(error)))


def rows(count: int) -> pa.Table:
    return pa.table({"v": range(count)})


def test_a_round_is_handed_over_at_once():
    reports = Reports({"a": FakeSource(rows(3), None), "b": FakeSource(None, rows(1)), "c": FakeSource(rows(2))})
    assert not reports.thread.read_round()
    assert reports.seen == [({"a": 3, "c": 2}, ["a", "b"], 7.0), ("c", None)]
    reports.thread.run()
    assert reports.seen[2:] == [({"b": 1}, [], 7.0), ("a", None), ("b", None)]


def test_positions_are_handed_over_with_their_tables():
    reports = Reports({"a": FakeSource(rows(3), None, rows(1), None), "b": FakeSource(None, rows(1), None, None)})
    after = []
    for _ in range(3):
        reports.thread.read_round()
        after.append(dict(reports.positions))
    assert after == [{"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}]


def test_a_large_round_is_handed_over_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source_thread, "ROWS_A_ROUND", 10)
    reports = Reports(
        {
            "a": FakeSource(rows(10), None, replayable=True),
            "b": FakeSource(rows(9), None),
            "c": FakeSource(rows(1), None),
        }
    )
    reports.thread.read_round()
    assert reports.seen == [({"a": 10}, [], 7.0), ({"b": 9, "c": 1}, ["b", "c"], 7.0), ({}, [], 7.0)]


def test_a_source_that_fails_ends_and_the_others_go_on():
    bad = FakeSource(ValueError("no such file"), None)
    reports = Reports({"a": bad, "b": FakeSource(rows(1), None)})
    reports.thread.read_round()
    assert reports.seen == [({"b": 1}, ["b"], 7.0), ("a", "no such file")]
    assert bad.closed


def test_a_stream_whose_results_nobody_takes_waits_if_it_can():
    sources = {name: FakeSource(rows(1), None, replayable=name == "a") for name in "ab"}
    reports = Reports(sources)
    reports.held_up = {"a", "b"}
    reports.thread.read_round()
    reports.held_up = set()
    reports.thread.read_round()
    assert reports.seen == [({"b": 1}, ["b"], 7.0), ({"a": 1}, ["a"], 7.0), ("b", None)]


def test_a_source_whose_stream_nobody_reads_is_closed():
    unread = FakeSource(rows(1), rows(1), rows(1))
    reports = Reports({"a": unread, "b": FakeSource(rows(1), rows(1), None)})
    reports.thread.read_round()
    reports.read.discard("a")
    reports.thread.read_round()
    assert reports.seen == [({"a": 1, "b": 1}, ["a", "b"], 7.0), ({"b": 1}, ["b"], 7.0)]
    assert unread.closed


def test_a_stream_whose_tuples_are_refused_ends():
    reports = Reports({"a": FakeSource(rows(1), rows(1)), "b": FakeSource(rows(1), None)}, refused="a")
    reports.thread.run()
    assert reports.seen == [({"a": 1, "b": 1}, ["a", "b"], 7.0), ("a", "full"), ({}, [], 7.0), ("b", None)]


def test_an_error_that_is_not_the_fault_of_a_source_ends_the_run():
    source = FakeSource(rows(1), None)
    reports = Reports({"a": source})
    reports.breaks = ZeroDivisionError("division by zero")
    reports.thread.run()
    assert reports.seen == [("broken", "division by zero")]
    assert source.closed


def test_only_replayable_sources_wait_for_memory():
    reports = Reports({"a": FakeSource(rows(2000), None, replayable=True), "b": FakeSource(rows(1), None)})
    reports.memory_short = True
    assert not reports.thread.read_round()
    reports.memory_short = False
    assert reports.thread.read_round()  # there may be more
    assert [one[0] for one in reports.seen if isinstance(one[0], dict)] == [{"b": 1}, {"a": 2000}]


def test_every_source_waits_for_the_disk():
    reports = Reports({"a": FakeSource(rows(1), None, replayable=True), "b": FakeSource(rows(1), None)})
    reports.memory_short = reports.disk_full = True
    assert not reports.thread.read_round()
    assert not [one for one in reports.seen if isinstance(one[0], dict) and one[0]]


@pytest.mark.parametrize(
    ("left", "rest"), [(0.001, 0.04), (0.0201, 0.0201), (0.05, 0.05), (0.061, 0.04), (math.inf, 0.04)]
)
def test_a_round_begins_at_a_boundary_that_is_near(monkeypatch: pytest.MonkeyPatch, left: float, rest: float):
    monkeypatch.setattr(source_thread, "DUTY", 0.2)
    reports = Reports({}, boundary=7.0 + left)
    assert reports.thread.rest_s(0.01) == pytest.approx(rest)
    assert Reports({}).thread.rest_s(0.0) == source_thread.TICK_S
