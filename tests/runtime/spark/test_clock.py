"""The clock of a run goes on from the time 0 of the run before."""

from __future__ import annotations

import time

import pytest

from headgate.runtime.spark.clock import RunClock


def test_a_run_begins_at_0() -> None:
    clock = RunClock()
    assert clock.now() == 0.0
    before = time.time_ns() // 1000
    clock.start()
    assert 0.0 <= clock.now() < 1.0
    assert clock.epoch_us is not None
    assert before <= clock.epoch_us <= time.time_ns() // 1000


def test_the_time_in_between_counts() -> None:
    clock = RunClock(time.time_ns() // 1000 - 60_000_000, 10.0)
    assert clock.start_now == pytest.approx(60.0, abs=5.0)
    clock.start()
    assert clock.now() == pytest.approx(60.0, abs=5.0)
    assert clock.lasted < 5.0


def test_it_does_not_go_back_where_the_date_was_set_back() -> None:
    epoch_us = time.time_ns() // 1000 - 1_000_000
    clock = RunClock(epoch_us, 500.0)
    clock.start()
    assert clock.now() >= 500.0
    assert clock.epoch_us == epoch_us
