"""Two runs and one output; a disk that is full: no torn rows, and the counts are those of the file."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from io import FileIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.connect.sinks import Sink, make_sink, row_file
from headgate.connect.sinks.lock import OutputInUse, OutputLock
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.scheduling.timekeeper import Timekeeper
from headgate.sql.schema import CHANGE, parse_schema

SCHEMA = parse_schema("k INT, s STRING", "test")
RELATION = Flow(relation=True, expires=True, retracts=True)
HOLD = """
import sys, time
from pathlib import Path
from headgate.connect.sinks.lock import OutputLock
lock = OutputLock(Path(sys.argv[1]), "other.yaml")
print("held", flush=True)
time.sleep(60)
"""


def sink_at(folder: Path, path: str, kind: str = "csv", flow: Flow | None = None) -> Sink:
    query = Query("q", "c", Port("x"), (), {"kind": kind, "path": path})
    return make_sink(query, SCHEMA, folder, flow, "mine.yaml")


def rows(first: int, count: int) -> pa.Table:
    k = pa.array(range(first, first + count), pa.int32())
    stamps = {name: k.cast(pa.int64()) for name in ("_arrival", "_sequence", "_time")}
    return pa.table({"k": k, "s": k.cast(pa.string()), **stamps})


@pytest.mark.parametrize(("path", "flow"), [("out.csv", None), ("out", None), ("out.csv", RELATION)])
def test_a_second_run_is_refused_and_harms_nothing(tmp_path: Path, path: str, flow: Flow | None) -> None:
    first = sink_at(tmp_path, path, flow=flow)
    table = rows(0, 3)
    first.write(table.append_column(CHANGE, pa.array([1, 1, 1])) if flow else table)
    first.flush()
    with pytest.raises(ApplicationError, match=f"queries.q.sink.path: another run .* process {os.getpid()} on .*mine"):
        sink_at(tmp_path, path, flow=flow)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(ApplicationError, match="another run"):
        sink_at(tmp_path, f"link/{path}", flow=flow)
    first.close()
    written = tmp_path / path if path.endswith("csv") else tmp_path / path / "part-00000.csv"
    assert written.read_text() == "k,s\n0,0\n1,1\n2,2\n"
    sink_at(tmp_path, path, flow=flow).close()
    assert not list(tmp_path.glob(".*"))


def test_the_other_process_is_named_and_may_crash(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(target)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OutputInUse, match=f"process {other.pid} on .*, started 20.*, application other.yaml"):
            OutputLock(target)
        other.send_signal(signal.SIGKILL)
    OutputLock(target).release()
    assert not list(tmp_path.iterdir())


def test_a_folder_without_locks_is_written_to_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("fcntl.flock", refuses)
    sink = sink_at(tmp_path, "out.csv")
    sink.write(rows(0, 1))
    sink.close()
    assert (tmp_path / "out.csv").read_text() == "k,s\n0,0\n"
    assert "out.csv is not locked against other runs" in caplog.text


class SmallDisk(FileIO):
    """A disk with room for this many more bytes."""

    room = 0

    def write(self, data: Any) -> int:
        fitting = min(len(data), SmallDisk.room)
        if not fitting:
            raise OSError(errno.ENOSPC, "No space left on device")
        SmallDisk.room -= fitting
        return super().write(bytes(data[:fitting]))

    def truncate(self, size: int | None = None) -> int:
        before = os.fstat(self.fileno()).st_size
        after = super().truncate(size)
        SmallDisk.room += before - after
        return after


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize(("room", "first", "then"), [(2_000_000, 1000, 400_000), (100, 2, 50), (12, 0, 3), (21, 1, 8)])
def test_a_full_disk_keeps_the_rows_that_fit_and_tears_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, room: int, first: int, then: int
) -> None:
    monkeypatch.setattr(row_file, "FileIO", SmallDisk)
    SmallDisk.room = room
    outputs = QuerySinks()
    outputs["q"] = sink_at(tmp_path, f"out.{kind}", kind)
    plan_time: Any = type("Time", (Timekeeper,), {"__init__": lambda _: None, "up_to_last_event": lambda _, q, t: t})()
    written: dict[str, list[pa.Table]] = {}
    failed: dict[str, Exception] = {}
    outputs.write("q", rows(0, first), plan_time, written, failed)
    outputs.write("q", rows(first, then), plan_time, written, failed)  # the disk is full in the middle of these
    outputs.close()
    text = (tmp_path / f"out.{kind}").read_text()
    lines = text.splitlines()[kind == "csv" :]
    counted = sum(table.num_rows for table in written.get("q", []))
    assert str(failed["q"]) == f"[Errno 28] No space left on device: '{tmp_path / f'out.{kind}'}'"
    assert lines == [line_of(kind, k) for k in range(counted)]
    assert counted == outputs["q"].rows < first + then
    assert len(text) <= room < len(text) + len(line_of(kind, counted)) + 1


def line_of(kind: str, k: int) -> str:
    return f"{k},{k}" if kind == "csv" else f'{{"k":{k},"s":"{k}"}}'


def test_a_relation_that_does_not_fit_names_its_file(tmp_path: Path) -> None:
    sink = sink_at(tmp_path, "out.csv", flow=RELATION)
    (tmp_path / ".out.csv.new").symlink_to("/dev/full")  # where the next version is written
    change = rows(0, 1).append_column(CHANGE, pa.array([1]))
    with pytest.raises(OSError, match=r"No space left on device: '.*out\.csv'"):
        sink.write(change)
    sink.close()
    assert (tmp_path / "out.csv").read_text() == "k,s\n0,0\n"
