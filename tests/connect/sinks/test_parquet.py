"""Parquet: a file for each epoch, whole or not there."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from headgate.connect.sinks import Sink, StagedSink, make_sink
from headgate.connect.sinks.base import content_of, position_of
from headgate.connect.sinks.parquet import ParquetFolder
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import Column, Schema, parse_schema

SCHEMA = parse_schema("k INT, s STRING", "q")
LOSES = Flow(relation=True, expires=True, retracts=True)


def open_sink(
    folder: Path,
    resume: Any = None,
    content: Any = None,
    checkpointed: bool = True,
    flow: Flow | None = None,
    **said: Any,
) -> StagedSink:
    query = Query("q", "c", Port("x"), (), {"kind": "parquet", "path": "out", **said})
    sink: Sink = make_sink(query, SCHEMA, folder, flow, "mine.yaml", resume, content, checkpointed)
    assert isinstance(sink, StagedSink)
    return sink


def rows(first: int, count: int) -> pa.Table:
    k = pa.array(range(first, first + count), pa.int32())
    return pa.table({"k": k, "s": k.cast(pa.string()), "_arrival": k.cast(pa.int64()), "_sequence": k.cast(pa.int64())})


def checkpoint(sink: StagedSink) -> tuple[Any, pa.Table | None]:
    sink.take()
    saved = position_of(sink), content_of(sink)
    sink.release()
    return saved


def ks(folder: Path) -> list[int]:
    found = ds.dataset(folder / "out", partitioning="hive", format="parquet").to_table()
    return sorted(found.column("k").to_pylist()) if found.num_columns else []


def names(folder: Path) -> list[str]:
    return sorted(str(at.relative_to(folder)) for at in folder.rglob("*") if at.is_file())


def test_a_file_for_each_epoch(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    for first in (0, 3):
        sink.write(rows(first, 3))
        checkpoint(sink)
    sink.write(rows(6, 3))  # no checkpoint has these
    sink.close()
    assert names(tmp_path) == ["out/part-00000001-0.parquet", "out/part-00000002-0.parquet"]
    assert pq.read_table(tmp_path / "out/part-00000002-0.parquet").to_pylist()[0] == {"k": 3, "s": "3"}
    assert ks(tmp_path) == list(range(6))


def test_going_on_and_beginning_anew(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    sink.write(rows(0, 3))
    saved = checkpoint(sink)
    sink.close()
    sink = open_sink(tmp_path, *saved)
    sink.write(rows(3, 1))
    checkpoint(sink)
    sink.close()
    assert ks(tmp_path) == [0, 1, 2, 3]
    (tmp_path / "out" / "other.parquet").write_bytes(b"not ours")
    sink = open_sink(tmp_path, checkpointed=False)
    assert names(tmp_path) == [".out.lock", "out/other.parquet"]
    sink.close()
    assert names(tmp_path) == ["out/other.parquet"]


@pytest.mark.parametrize("partition_by", [[], ["s"]])
def test_a_crash_in_a_commit_is_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition_by: list[str]
) -> None:
    """The process ends after each step that touches the disk, then the epoch is committed again."""
    real = os.fsync
    table = rows(0, 3).select(["k", "s"])
    for steps in range(20):
        folder = tmp_path / str(steps)
        left = steps

        def dies(handle: int) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            real(handle)

        target = ParquetFolder(fs.LocalFileSystem(), str(folder / "out"), partition_by, anew=True)
        monkeypatch.setattr(os, "fsync", dies)
        try:
            target.commit(1, table)
            ended = True
        except KeyboardInterrupt:
            ended = False
            assert set(ks(folder)) <= {0, 1, 2}
        monkeypatch.setattr(os, "fsync", real)
        again = ParquetFolder(fs.LocalFileSystem(), str(folder / "out"), partition_by, anew=False)
        again.commit(1, table)
        again.commit(1, table)
        assert ks(folder) == [0, 1, 2]
        assert again.last_epoch == 1
        assert not [name for name in names(folder) if "/." in name]
        if ended:
            assert steps >= 2
            return
    raise AssertionError("it never came to an end")


def test_partitions_are_folders(tmp_path: Path) -> None:
    sink = open_sink(tmp_path, partition_by=["s"])
    sink.write(rows(0, 2))
    checkpoint(sink)
    sink.close()
    assert names(tmp_path) == ["out/s=0/part-00000001-0.parquet", "out/s=1/part-00000001-0.parquet"]
    assert ks(tmp_path) == [0, 1]


def test_a_full_disk_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.connect.sinks.staged.RETRY_S", 0.01)
    left = [OSError(28, "No space left on device")] * 2
    real = os.fsync

    def full(handle: int) -> None:
        if left:
            raise left.pop()
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    sink = open_sink(tmp_path)
    sink.write(rows(0, 2))
    checkpoint(sink)
    sink.close()
    assert not left
    assert ks(tmp_path) == [0, 1]


def test_values_are_those_of_the_results(tmp_path: Path) -> None:
    schema = parse_schema("a TIMESTAMP, b DECIMAL(20,10), c ARRAY<INT>, d MAP<STRING, INT>, e BINARY", "q")
    columns = {
        "a": pa.array([datetime(2024, 1, 1, 5, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
        "b": pa.array([Decimal("0.0000000001"), None], pa.decimal128(20, 10)),
        "c": pa.array([[1, 2], None]),
        "d": pa.array([[("x", 1)], None], pa.map_(pa.string(), pa.int32())),
        "e": pa.array([b"hi", None], pa.binary()),
    }
    query = Query("q", "c", Port("x"), (), {"kind": "parquet", "path": "out"})
    sink = make_sink(query, schema, tmp_path)
    sink.write(pa.table({**columns, "_arrival": [0, 0], "_sequence": [0, 1]}))
    sink.close()
    assert pq.read_table(tmp_path / "out/part-00000001-0.parquet").equals(pa.table(columns))


@pytest.mark.parametrize(
    ("said", "flow", "says"),
    [
        ({"partition_by": ["x"]}, None, r"queries.q.sink.partition_by: the results have no column 'x'; known: k, s"),
        ({"partition_by": ["k", "s"]}, None, "no column is left"),
        ({"path": "ftp://host/out"}, None, r"queries.q.sink.path: .*ftp.*; use file, s3, gs or hdfs"),
        ({}, LOSES, "cannot take rows back.*format: changes"),
    ],
)
def test_what_is_refused(tmp_path: Path, said: dict[str, Any], flow: Flow | None, says: str) -> None:
    with pytest.raises(ApplicationError, match=says):
        open_sink(tmp_path, flow=flow, **said)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    query = Query("q", "c", Port("x"), (), {"kind": "parquet", "path": "out"})
    with pytest.raises(ApplicationError, match="two columns of the results are called 'a'"):
        make_sink(query, Schema((Column("a", "INT"), Column("a", "INT"))), tmp_path)


def test_two_runs_are_refused(tmp_path: Path) -> None:
    sink = open_sink(tmp_path)
    with pytest.raises(ApplicationError, match=r"queries.q.sink.path: another run writes"):
        open_sink(tmp_path)
    sink.close()


def test_a_uri_goes_to_the_file_system_of_its_scheme(tmp_path: Path) -> None:
    sink = open_sink(tmp_path, path=(tmp_path / "out").as_uri())
    sink.write(rows(0, 2))
    checkpoint(sink)
    sink.close()
    assert ks(tmp_path) == [0, 1]
