"""The state of operators, without Spark."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from headgate.runtime.spark.stateful import state
from headgate.runtime.spark.stateful.base import LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.state import COMPACT_ROWS, MAX_CHUNKS, Log, LogName, States
from headgate.scheduling.progress import Bounds

SCHEMA = StructType([StructField("at", LongType(), True), StructField("value", LongType(), True)])


def rows(*times: int | None) -> pa.Table:
    return pa.table({"at": pa.array(times, pa.int64()), "value": pa.array(range(len(times)), pa.int64())})


class CompactorWithoutSpace(state.Compactor):
    def __init__(self, *_: Any) -> None:
        pass

    def run(self, chunks: Any, instants: Any) -> pa.Table:
        raise RuntimeError("no space left")


class Compactable(Stateful):
    """An operator with a log that can be compacted."""

    logs = {"rows": LogSpec(SCHEMA, expiry=None, shrinks=True)}  # noqa: RUF012

    def step(self, inputs: Sequence[Any], logs: Mapping[str, Any], bounds: Any) -> StepResult:
        raise AssertionError("no call is made here")


class FakeSession:
    def createDataFrame(self, table: pa.Table, schema: Any) -> pa.Table:
        return table


@pytest.mark.fails_to_compact
def test_a_failed_compaction_is_not_repeated(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "Compactor", CompactorWithoutSpace)
    session: Any = FakeSession()
    states = States(session, {"q/x": Compactable()}, {"q/x": Compactable()})
    name, many = LogName("q/x", "rows"), rows(*range(COMPACT_ROWS + 1))
    with caplog.at_level(logging.WARNING, "headgate.spark"):
        states.grow({"q/x": Bounds(0, 1)}, {name: many})
        states.grow({"q/x": Bounds(1, 2)}, {name: rows(7)})
    assert states.sizes()["q/x"]["rows"] == COMPACT_ROWS + 2
    assert [record.getMessage() for record in caplog.records if "no space left" in record.getMessage()] != []
    assert len(caplog.records) == 1, "it is not tried again at every call"


def test_rows_are_kept_for_a_while_after_their_expiry() -> None:
    log = Log(LogSpec(SCHEMA, expiry="at", hold=10))
    log.append(rows(1, 5, None))
    log.append(rows(None))  # a tuple without a time is never needed
    log.forget_expired(14)
    assert log.rows == 3
    log.forget_expired(15)
    assert log.rows == 0


def test_many_chunks_are_merged_without_expired_rows() -> None:
    log = Log(LogSpec(SCHEMA, expiry="at", hold=2))
    for at in range(2 * MAX_CHUNKS):
        log.append(rows(at))
        log.forget_expired(at - 20)
        assert len(log.chunks) <= MAX_CHUNKS
    assert log.rows == sum(at + 2 > 2 * MAX_CHUNKS - 21 for at in range(2 * MAX_CHUNKS))


def test_a_large_chunk_drops_expired_rows_once_half_have_expired() -> None:
    log = Log(LogSpec(SCHEMA, expiry="at"))
    log.append(rows(*range(100)))
    log.forget_expired(40)
    assert log.rows == 100
    log.forget_expired(60)
    assert log.rows == 39
