"""Sources that fail for a reason that may pass: opened again where they were, after longer and longer waits."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from headgate.connect.sources.base import ENDED
from headgate.connect.sources.run_source import goes_on_from
from headgate.errors import ApplicationError
from headgate.runtime.spark.source_retries import LONGEST_WAIT_S, may_pass, wait_s
from headgate.runtime.spark.source_thread import SourceThread


class Flaky:
    """A source of the numbers from its position to 9, two at a time; before some of them, it fails once."""

    replayable = True

    def __init__(self, troubles: dict[int, Exception], first: int = 0) -> None:
        self._troubles = troubles
        self._next = first
        self.rejected = 1
        self.closed = False

    @property
    def position(self) -> dict[str, Any]:
        return {"since": 0.0, "first": 0, "given": self._next, "at": {"given": self._next}}

    @property
    def lag(self) -> int:
        return 10 - self._next

    @property
    def exhausted(self) -> bool:
        return self._next >= 10

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        if self._next in self._troubles:
            raise self._troubles.pop(self._next)
        found = pa.table({"v": range(self._next, min(10, self._next + 2))})
        self._next += found.num_rows
        return found

    def close(self) -> None:
        self.closed = True


class Reading:
    """A source thread whose rounds are run by hand, and what came of it."""

    def __init__(self, sources: Mapping[str, Any], reopen: Callable[[str, Any], Any]) -> None:
        self.now = 0.0
        self.values: dict[str, list[int]] = {name: [] for name in sources}
        self.ends: dict[str, Exception | None] = {}
        self.read = set(sources)
        self.thread = SourceThread(
            sources,
            now=lambda: self.now,
            deliver=self._deliver,
            ended=lambda name, error: self.ends.update({name: error}),
            broken=pytest.fail,
            may_read=lambda replayable: True,
            next_boundary=lambda now: math.inf,
            read=lambda: self.read,
            reopen=reopen,
            jitter=lambda: 0.0,
        )

    def _deliver(self, tables: Mapping[str, pa.Table], *_: Any) -> dict[str, Exception]:
        for name, table in tables.items():
            self.values[name] += table.column("v").to_pylist()
        return {}

    def round(self, at: float) -> dict[str, Any]:
        """Read once at a time; returns the state of the source `a`."""
        self.now = at
        self.thread.read_round()
        return self.thread.states["a"]

    def rounds(self, at: float, state: str) -> dict[str, Any]:
        """Read at a time until the source `a` is in a state: it is opened in another thread."""
        until = time.monotonic() + 5.0
        while (found := self.round(at))["state"] != state:
            assert time.monotonic() < until, found
            time.sleep(0.001)
        return found


def test_a_source_that_fails_goes_on_where_it_was(caplog: pytest.LogCaptureFixture) -> None:
    troubles: dict[int, Exception] = {4: ConnectionError("no route to host"), 8: TimeoutError("too slow")}
    opened: list[Any] = []

    def reopen(name: str, position: Any) -> Flaky:
        opened.append((name, position["at"]))
        return Flaky(troubles, position["at"]["given"])

    first = Flaky(troubles)
    reading = Reading({"a": first, "b": Flaky({})}, reopen)
    with caplog.at_level(logging.INFO, "headgate.source"):
        assert reading.round(0.0) == {"state": "running", "lag": 8}
        reading.round(0.1)
        retrying = {"state": "retrying", "since": 0.2, "attempt": 1, "error": "no route to host"}
        assert reading.round(0.2) == retrying
        assert first.closed
        assert reading.round(1.1) == retrying  # a second has not passed
        assert not opened
        assert reading.rounds(1.3, "running") == {"state": "running", "lag": 4}
        reading.round(1.4)
        assert reading.round(1.5)["attempt"] == 1  # it has given tuples since
        assert reading.rounds(9.0, "ended") == {"state": "ended"}
    assert opened == [("a", {"given": 4}), ("a", {"given": 8})]
    assert reading.values == {"a": list(range(10)), "b": list(range(10))}
    assert reading.ends == {"a": None, "b": None}
    assert reading.thread.rejected["a"] == 3
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "stream a failed, and is tried again",
        "stream a is read again, after 1.1 s",
        "stream a failed, and is tried again",
        "stream a is read again, after 7.5 s",
    ]


def test_attempts_that_fail_wait_longer_and_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[float] = []
    reading = Reading({"a": Flaky({0: OSError("gone")})}, lambda name, position: fail())

    def fail() -> Any:
        calls.append(reading.now)
        raise OSError("gone")

    for tenth in range(400):
        reading.round(tenth / 10)
        time.sleep(0.0005)
    assert [round(after - before) for before, after in zip([0.0, *calls], calls, strict=False)] == [1, 2, 4, 8, 16]
    assert reading.thread.states["a"]["attempt"] == 6
    assert reading.thread.states["a"]["since"] == 0.0
    assert len(caplog.records) == 1


@pytest.mark.parametrize("final", [ApplicationError("a", "the file has another beginning"), ValueError("broken")])
def test_an_attempt_that_cannot_succeed_ends_the_stream(final: Exception) -> None:
    def reopen(name: str, position: Any) -> Any:
        raise final

    reading = Reading({"a": Flaky({2: OSError("gone")}), "b": Flaky({})}, reopen)
    reading.round(0.0)
    reading.round(0.1)
    state = reading.rounds(2.0, "failed")
    assert state["error"] == str(final)
    assert reading.ends["a"] is final
    assert reading.values["b"]


@pytest.mark.parametrize("position", [None, {"since": 0.0, "first": 0, "given": 4, "at": None}])
def test_a_source_without_a_position_ends(position: Any) -> None:
    forgetful = Flaky({0: OSError("gone")})
    forgetful.__class__ = type("Forgetful", (Flaky,), {"position": position})
    reading = Reading({"a": forgetful}, lambda *_: pytest.fail("nothing to go on from"))
    assert reading.round(0.0) == {"state": "failed", "error": "gone"}


def test_a_source_that_never_opens_holds_nobody_up_and_is_closed_when_it_does() -> None:
    go_on, late = threading.Event(), Flaky({})

    def reopen(name: str, position: Any) -> Any:
        go_on.wait()
        return late

    reading = Reading({"a": Flaky({0: OSError("gone")}), "b": Flaky({})}, reopen)
    for at in range(6):
        reading.round(float(at))
    assert reading.values["b"] == list(range(10))
    assert reading.thread.states["a"]["state"] == "retrying"
    reading.read.discard("a")
    assert reading.round(7.0) == {"state": "ended"}
    assert not late.closed
    go_on.set()
    until = time.monotonic() + 5.0
    while not late.closed:
        assert time.monotonic() < until
        time.sleep(0.001)
    assert not reading.ends.get("a")


def test_a_thread_waits_for_sources_that_are_tried_again() -> None:
    reading = Reading({"a": Flaky({0: OSError("gone")})}, lambda *_: Flaky({}))
    reading.thread.start()
    until = time.monotonic() + 5.0
    while not reading.thread.reads(["a"]) or reading.thread.states["a"]["state"] != "retrying":
        assert time.monotonic() < until
        time.sleep(0.001)
    reading.now = 2.0
    reading.thread.join(5.0)
    assert reading.values["a"] == list(range(10))
    assert reading.ends == {"a": None}


def test_which_errors_may_pass() -> None:
    for error in (OSError("i/o"), ConnectionResetError(), TimeoutError()):
        assert may_pass(error)
    for error in (ApplicationError("a", "wrong"), ValueError(), AssertionError(), pa.ArrowInvalid("x")):
        assert not may_pass(error)


def test_waits_double_up_to_a_minute() -> None:
    assert [wait_s(attempt, 0.0) for attempt in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert wait_s(10**6, 0.0) == LONGEST_WAIT_S
    assert wait_s(3, 1.0) == 2.0


def test_an_ended_stream_has_a_position_to_go_on_from() -> None:
    assert goes_on_from(ENDED)
