"""Results in epochs: whatever fails, and wherever the process ends, each row becomes visible exactly once."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sinks import CannotResume, EpochSinkKind, Shape, SinkContext, StagedSink, staged
from headgate.connect.sinks.base import content_of, position_of
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import parse_schema
from tests.tiers import examples

SCHEMA = parse_schema("k INT", "q")
LONG_S = 10.0


class Ledger:
    """A target that outlives the sinks that write to it. `faults` says what goes wrong with the next commits."""

    def __init__(self, faults: list[str] | None = None) -> None:
        self.epochs: dict[int, list[int]] = {}
        self.faults = faults or []
        self.changed = threading.Condition()
        self.attempts = 0

    @property
    def ks(self) -> list[int]:
        return [k for epoch in sorted(self.epochs) for k in self.epochs[epoch]]

    def wait_for(self, rows: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.ks) >= rows, LONG_S), self.ks


class Connection:
    """What one run has of the ledger; nothing gets through once its process is dead."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.dead = False
        self.closed = 0

    @property
    def last_epoch(self) -> int:
        return max(self.ledger.epochs, default=0)

    def commit(self, epoch: int, table: pa.Table) -> None:
        ledger = self.ledger
        with ledger.changed:
            if self.dead:
                raise ValueError("this process is dead")
            ledger.attempts += 1
            fault = ledger.faults.pop(0) if ledger.faults else "none"
            if fault == "before":
                raise ConnectionError("lost before the commit")
            if epoch > self.last_epoch:
                ledger.epochs[epoch] = table.column("k").to_pylist()
                ledger.changed.notify_all()
            if fault == "after":
                raise ConnectionError("lost after the commit")

    def close(self) -> None:
        self.closed += 1


class Sinks:
    """Opens sinks to one ledger, and lets their processes die."""

    def __init__(self, held: bool = True, faults: list[str] | None = None, every_s: float = 0.0) -> None:
        self.ledger = Ledger(faults)
        self._held = held
        self._every_s = every_s
        self.open()

    def open(self, resume: Any = None, content: pa.Table | None = None) -> StagedSink:
        self.connection = Connection(self.ledger)
        shape = Shape(SCHEMA, {})
        self.sink = StagedSink(self.connection, shape, self._held, self._every_s, resume, content)
        return self.sink

    def die(self) -> None:
        with self.ledger.changed:
            self.connection.dead = True


def rows(first: int, count: int) -> pa.Table:
    k = pa.array(range(first, first + count), pa.int32())
    return pa.table({"k": k, "_arrival": k.cast(pa.int64()), "_sequence": k.cast(pa.int64())})


def saved(sink: StagedSink) -> tuple[Any, pa.Table | None]:
    return json.loads(json.dumps(position_of(sink))), content_of(sink)


def wait_for_error(sink: StagedSink) -> None:
    deadline = time.monotonic() + LONG_S
    while sink.status()["error"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "RETRY_S", 0.001)
    monkeypatch.setattr(staged, "LONGEST_RETRY_S", 0.01)


STEPS = st.lists(
    st.one_of(
        st.integers(0, 5),  # so many rows are written
        st.sampled_from(["checkpoint", "checkpoint", "crash", "crash in a checkpoint", "crash before the commit"]),
    ),
    max_size=14,
)
FAULTS = st.lists(st.sampled_from(["none", "none", "before", "after"]), max_size=8)


@settings(max_examples=examples(100, 2000))
@given(STEPS, FAULTS)
def test_crashes_and_lost_connections_lose_and_repeat_nothing(steps: list[int | str], faults: list[str]) -> None:
    sinks = Sinks(faults=faults)
    position: Any = None
    content: pa.Table | None = None
    written = 0
    for step in steps:
        if isinstance(step, int):
            sinks.sink.write(rows(written, step))
            written += step
            continue
        if step != "crash":
            sinks.sink.take()
            if step != "crash in a checkpoint":
                position, content = saved(sinks.sink)  # the checkpoint is durable
        if step == "checkpoint":
            sinks.sink.release()
        else:
            sinks.die()
            sinks.open(position, content)
            written = sinks.sink.rows
    sinks.sink.take()
    sinks.sink.release()
    sinks.ledger.faults = sinks.ledger.faults[:2]
    sinks.sink.close()
    assert sinks.ledger.ks == list(range(written))
    assert all(sinks.ledger.epochs.values())


def test_nothing_shows_before_the_checkpoint_is_durable() -> None:
    sinks = Sinks()
    sinks.sink.write(rows(0, 3))
    epoch = sinks.sink.take()
    assert epoch is not None
    assert (epoch.number, epoch.table.column("k").to_pylist()) == (1, [0, 1, 2])
    sinks.sink.write(rows(3, 2))
    time.sleep(0.02)
    assert sinks.ledger.ks == []
    sinks.sink.release()
    sinks.ledger.wait_for(3)
    assert sinks.sink.take() is not None
    assert sinks.sink.take() is None
    sinks.sink.close()
    sinks.sink.close()
    assert sinks.ledger.ks == [0, 1, 2]  # the rest waits for the next run
    assert sinks.connection.closed == 1


def test_position_and_content_belong_together_whatever_is_committed_meanwhile() -> None:
    sinks = Sinks()
    sinks.sink.write(rows(0, 3))
    sinks.sink.take()
    sinks.sink.release()
    sinks.sink.write(rows(3, 2))
    sinks.sink.take()
    position = position_of(sinks.sink)
    sinks.ledger.wait_for(3)
    assert position_of(sinks.sink) == position
    content = content_of(sinks.sink)
    assert content is not None
    assert content.num_rows == sum(count for _, count in position["epochs"])
    sinks.die()
    sinks.open(position, content)
    sinks.ledger.wait_for(5)
    assert sinks.ledger.epochs == {1: [0, 1, 2], 2: [3, 4]}
    sinks.sink.close()


def test_a_failed_commit_is_in_the_next_checkpoint_too() -> None:
    sinks = Sinks(faults=["before"] * 1000)
    for first in (0, 2):
        sinks.sink.write(rows(first, 2))
        sinks.sink.take()
        sinks.sink.release()
    sinks.sink.write(rows(4, 2))
    sinks.sink.take()
    position, content = saved(sinks.sink)
    assert content is not None
    assert content.column("k").to_pylist() == [0, 1, 2, 3, 4, 5]
    wait_for_error(sinks.sink)
    assert sinks.sink.status()["error"] == "lost before the commit"
    assert sinks.sink.status()["waiting"] == 6
    with pytest.raises(OSError, match="4 results were not committed: lost before the commit"):
        sinks.sink.close()
    sinks.ledger.faults = []
    sinks.open(position, content)
    sinks.ledger.wait_for(6)
    sinks.sink.close()
    assert sinks.ledger.epochs == {1: [0, 1], 2: [2, 3], 3: [4, 5]}


def test_without_checkpoints_it_commits_by_itself() -> None:
    sinks = Sinks(held=False, every_s=0.05)
    sinks.ledger.epochs[41] = [-1]
    sinks.open()
    sinks.sink.write(rows(0, 1))
    sinks.ledger.wait_for(2)
    began = time.monotonic()
    sinks.sink.write(rows(1, 1))
    sinks.sink.write(rows(2, 1))
    sinks.ledger.wait_for(4)
    assert time.monotonic() - began < LONG_S
    sinks.sink.write(rows(3, 1))
    sinks.sink.close()
    assert sinks.ledger.ks == [-1, 0, 1, 2, 3]
    assert min(epoch for epoch in sinks.ledger.epochs if epoch != 41) == 42


def test_at_least_once_repeats_but_loses_nothing() -> None:
    sinks = Sinks(held=False)
    sinks.sink.write(rows(0, 2))
    sinks.sink.take()
    position, content = saved(sinks.sink)
    sinks.sink.release()
    sinks.sink.write(rows(2, 2))
    sinks.ledger.wait_for(4)
    sinks.die()
    sinks.open(position, content)
    sinks.sink.write(rows(2, 3))
    sinks.sink.close()
    assert sorted(set(sinks.ledger.ks)) == [0, 1, 2, 3, 4]
    assert sinks.ledger.ks.count(0) == 1


def test_a_target_that_is_ahead_of_the_checkpoint_is_refused() -> None:
    sinks = Sinks()
    sinks.ledger.epochs[7] = [1]
    with pytest.raises(CannotResume, match="holds epoch 7, but the checkpoint ends with epoch 5"):
        sinks.open({"rows": 3, "last": 5, "epochs": []})


def test_rows_that_can_never_be_written_end_the_query() -> None:
    sinks = Sinks(held=False)
    sinks.die()
    sinks.sink.write(rows(0, 1))
    wait_for_error(sinks.sink)
    with pytest.raises(ValueError, match="this process is dead"):
        sinks.sink.refresh()
    with pytest.raises(ValueError, match="this process is dead"):
        sinks.sink.write(rows(1, 1))
    sinks.sink.close()


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "EARLY_BYTES", 1_000)
    monkeypatch.setattr(staged, "FULL_BYTES", 3_000)
    monkeypatch.setattr(staged, "MOST_BYTES", 6_000)
    sinks = Sinks(faults=["before"] * 1000)
    sinks.sink.write(rows(0, 200))
    assert sinks.sink.bytes == 800
    assert not sinks.sink.wants_checkpoint
    sinks.sink.write(rows(200, 200))
    assert sinks.sink.wants_checkpoint
    sinks.sink.take()
    sinks.sink.release()
    assert not sinks.sink.wants_checkpoint
    assert not sinks.sink.full
    sinks.sink.write(rows(400, 500))
    assert sinks.sink.full
    sinks.sink.write(rows(900, 1000))
    wait_for_error(sinks.sink)
    with pytest.raises(OSError, match="0 MB of results wait for the target of the sink: lost before"):
        sinks.sink.write(rows(0, 1))
    sinks.ledger.faults = []
    sinks.sink.take()
    sinks.sink.release()
    sinks.ledger.wait_for(1900)
    sinks.sink.close()
    assert sinks.sink.bytes == 0


class Kind(EpochSinkKind):
    kind = "ledger"
    ledger: Any = None

    def connect(self, context: SinkContext) -> Connection:
        return Connection(self.ledger)


@pytest.mark.parametrize(
    ("checkpointed", "delivery", "held"),
    [(True, "exactly_once", True), (True, "at_least_once", False), (False, "exactly_once", False)],
)
def test_when_results_wait_for_checkpoints(tmp_path: Path, checkpointed: bool, delivery: Any, held: bool) -> None:
    kind = Kind(ledger=Ledger(), delivery=delivery)
    query = Query("q", "c", Port("x"), (), kind.settings())
    sink = kind.open(SinkContext(query, SCHEMA, None, tmp_path, checkpointed=checkpointed))
    assert sink.held is held
    sink.close()
