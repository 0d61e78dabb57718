"""Logged pushes: what was accepted survives a crash at any byte, and comes again after the checkpoint's position."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.api.channels import with_channels
from headgate.application.load import Draft
from headgate.connect.sinks.lock import OutputInUse
from headgate.connect.sources import push_log
from headgate.connect.sources.base import position_of
from headgate.connect.sources.push_channel import PushChannel
from headgate.connect.sources.push_log import PushLog
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.runtime.spark.source_thread import open_sources
from headgate.sql.schema import parse_schema

COLUMNS = pa.schema([pa.field("k", pa.int32()), pa.field("s", pa.string())])


def rows(first: int, count: int) -> pa.Table:
    return pa.Table.from_pylist([{"k": k, "s": "x" * (k % 5)} for k in range(first, first + count)], COLUMNS)


def opened(folder: Path, first: int | None = None) -> PushLog:
    return PushLog(folder, COLUMNS, "streams.s.source.log", first)


def written(folder: Path, sizes: list[int]) -> list[int]:
    """A log with pushes of so many rows, closed as by a crash; returns the end of each."""
    log = opened(folder)
    ends = [log.append(10 * at, at, rows(log.end, size)) for at, size in enumerate(sizes)]
    log.sync(log.end)
    log.close()
    return ends


def numbers(log: PushLog) -> list[int]:
    found: list[int] = []
    for entry in log.read():
        assert entry.first == (found[-1] + 1 if found else log.first)
        found += entry.table.column("k").to_pylist()
    return found


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_a_crash_at_any_byte_keeps_the_pushes_before_it(sizes: list[int], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(push_log, "FILE_BYTES", 1000)
        folder = Path(name) / "log"
        ends = written(folder, sizes)
        last = max(folder.iterdir())
        size = last.stat().st_size
        cut = data.draw(st.integers(0, size), label="cut")
        torn = data.draw(st.binary(max_size=30), label="torn") if cut < size else b""
        whole = last.read_bytes()
        last.write_bytes(whole[:cut] + (torn if not whole[cut:].startswith(torn) else b""))
        in_last = [end for end in ends if end > int(last.stem)]
        before = max([end for end in ends if end <= int(last.stem)], default=0)
        log = opened(folder)
        end = log.end
        assert end in (before, *in_last)
        if cut == size:
            assert end == ends[-1]
        assert numbers(log) == list(range(end))
        assert log.durable == end
        log.append(7, None, rows(end, 3))  # a log that was cut goes on
        log.sync(log.end)
        log.close()
        again = opened(folder, first=min(end, 2))
        assert numbers(again) == list(range(min(end, 2), end + 3))
        again.close()


def test_the_cut_goes_right_behind_the_last_whole_push(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each byte of the last push, one by one."""
    ends = written(tmp_path / "log", [2, 3, 1])
    last = max((tmp_path / "log").iterdir())
    whole = last.read_bytes()
    start = len(whole)
    for cut in range(len(whole) - 1, 0, -1):
        last.write_bytes(whole[:cut])
        with caplog.at_level(logging.WARNING):
            log = opened(tmp_path / "log")
        log.close()
        if log.end != ends[1]:
            break
        start = cut
        assert numbers(opened_and_closed(tmp_path / "log")) == list(range(5))
    assert log.end == ends[0]
    assert 0 < start < len(whole) - 20
    assert "are cut off: a push that was not accepted" in caplog.text


def opened_and_closed(folder: Path) -> PushLog:
    log = opened(folder)
    log.close()
    return log


def test_damage_before_the_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_log, "FILE_BYTES", 500)
    written(tmp_path / "log", [1] * 10)
    first = min((tmp_path / "log").iterdir())
    content = bytearray(first.read_bytes())
    content[-5] ^= 1
    first.write_bytes(content)
    with pytest.raises(ApplicationError, match=r"log: .*\.rows is damaged after byte \d+; put the file back"):
        opened(tmp_path / "log")


def test_rows_of_other_columns_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "log", [1])
    with pytest.raises(ApplicationError, match="has rows of other columns; keep the stream's schema"):
        PushLog(tmp_path / "log", pa.schema([pa.field("k", pa.int64())]), "streams.s.source.log")


def test_one_run_at_a_time_has_a_log(tmp_path: Path) -> None:
    log = opened(tmp_path / "log")
    with pytest.raises(OutputInUse, match="another run writes to"):
        opened(tmp_path / "log")
    log.close()
    opened(tmp_path / "log").close()


def test_files_that_a_checkpoint_covers_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_log, "FILE_BYTES", 500)
    folder = tmp_path / "log"
    written(folder, [1] * 20)
    log = opened(folder, first=10)
    before = len(list(folder.iterdir()))
    log.forget(10)
    assert 0 < len(list(folder.iterdir())) < before
    assert numbers(log) == list(range(10, 20))
    log.close()
    with pytest.raises(ApplicationError, match=r"begins with row .*, and the run goes on with row 0"):
        opened(folder, first=0)
    log.remove()
    assert not list(folder.iterdir())
    gone = opened(folder, first=20)  # a checkpoint that outlives its log
    assert gone.append(0, None, rows(20, 1)) == 21
    gone.close()
    assert numbers(opened_and_closed(folder)) == [20]


def test_pushes_at_once_share_a_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs: list[int] = []
    go_on = threading.Event()

    def slow(descriptor: int) -> None:
        syncs.append(descriptor)
        go_on.wait(10.0)

    monkeypatch.setattr(push_log, "sync_data", slow)
    source = channel(tmp_path / "log")
    pushers = [threading.Thread(target=source.put, args=([(k, "x")], lambda: 1.0)) for k in range(50)]
    for pusher in pushers:
        pusher.start()
    while source.waiting < 50:
        pass
    assert source.take(2.0, None) is None  # nothing is on disk yet
    assert not source.complete
    assert source.take(0.5, None) is None
    assert source.complete  # nothing had arrived by then
    go_on.set()
    for pusher in pushers:
        pusher.join()
    assert len(syncs) <= 3
    taken = source.take(2.0, None)
    assert taken is not None
    assert sorted(taken.column("k").to_pylist()) == list(range(50))
    assert source.complete
    source.close()


def channel(folder: Path | None, resume: Any = None, **more: Any) -> PushChannel:
    stream = Stream("s", parse_schema("k INT, s STRING", "s"), {"kind": "push"}, **more)
    found = PushChannel(stream, log=folder)
    found.open(resume)
    return found


def test_rows_after_the_position_come_again(tmp_path: Path) -> None:
    source = channel(tmp_path / "log")
    for k in range(5):
        source.put([(k, "a"), (k, "b")], lambda k=k: float(k))
    assert source.take(9.0, 3).num_rows == 3
    position = json.loads(json.dumps(source.position))
    assert source.take(9.0, None).num_rows == 7
    source.close()
    again = channel(tmp_path / "log", position)
    assert again.waiting == 7
    assert again.lag == 7
    again.put([(9, "new")], lambda: 4.5)
    found = again.take(100.0, None)
    assert found.select(["k", "s", "_sequence", "_arrival"]).to_pylist() == [
        {"k": k, "s": s, "_sequence": 2 * k + (s == "b"), "_arrival": k * 1_000_000}
        for k in range(5)
        for s in "ab"
        if (k, s) > (1, "a")
    ] + [{"k": 9, "s": "new", "_sequence": 10, "_arrival": 4_500_000}]
    assert again.waiting == 11 - 3
    again.close()


def test_without_a_checkpoint_all_of_the_log_comes_again_and_never_in_the_future(tmp_path: Path) -> None:
    source = channel(tmp_path / "log")
    source.put([(1, "a")], lambda: 3600.0)
    source.close()
    found = channel(tmp_path / "log").take(2.0, None)
    assert found.column("_arrival").to_pylist() == [2_000_000]


def test_the_latest_time_is_known_again(tmp_path: Path) -> None:
    more: dict[str, Any] = {"time": "k", "max_jump_s": 10.0}
    source = channel(tmp_path / "log", **more)
    source.put([(100, "a")], lambda: 0.0)
    source.put([(105, "a")], lambda: 0.0)
    source.close()
    again = channel(tmp_path / "log", {"given": 1, "reached": 100}, **more)
    again.put([(115, "a")], lambda: 0.0)
    with pytest.raises(ApplicationError, match="max_jump"):
        again.put([(126, "a")], lambda: 0.0)
    again.close()
    plain = channel(None, {"given": 7, "reached": 100}, **more)
    with pytest.raises(ApplicationError, match="max_jump"):
        plain.put([(111, "a")], lambda: 0.0)
    plain.put([(110, "a")], lambda: 0.0)
    assert plain.take(1.0, None).column("_sequence").to_pylist() == [7]


def test_what_the_disk_refuses_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = channel(tmp_path / "log")
    source.put([(1, "a")], lambda: 0.0)
    real = push_log.write_all

    def half(file: Any, payload: bytes) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(push_log, "write_all", half)
    with pytest.raises(OSError, match="No space left"):
        source.put([(2, "a")], lambda: 0.0)
    monkeypatch.setattr(push_log, "write_all", real)
    source.put([(3, "a")], lambda: 0.0)
    assert source.take(1.0, None).column("k").to_pylist() == [1, 3]
    source.close()
    assert channel(tmp_path / "log").take(1.0, None).column("k").to_pylist() == [1, 3]


def test_after_a_failed_sync_nothing_more_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = channel(tmp_path / "log")
    source.put([(1, "a")], lambda: 0.0)

    def fails(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(push_log, "sync_data", fails)
    for _ in range(2):
        with pytest.raises(OSError, match=r"cannot be written: .*Input/output error"):
            source.put([(2, "a")], lambda: 0.0)
    assert source.take(1.0, None).column("k").to_pylist() == [1]
    assert source.waiting == 1  # in hand
    source.end()
    assert source.over
    source.close()


def test_a_new_channel_of_the_same_run_does_not_repeat_the_rows_of_the_one_before(tmp_path: Path) -> None:
    first = channel(tmp_path / "log")
    first.put([(1, "a")], lambda: 0.0)
    first.close()
    second = PushChannel(Stream("s", parse_schema("k INT, s STRING", "s"), {}), log=tmp_path / "log", before=first)
    second.open(None)
    second.put([(2, "a")], lambda: 0.0)
    assert second.take(1.0, None).column("k").to_pylist() == [2]
    second.close()


PUSHER = """
import sys
from pathlib import Path
from headgate.connect.sources.push_channel import PushChannel
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema
source = PushChannel(Stream("s", parse_schema("k INT, s STRING", "s"), {}), log=Path(sys.argv[1]))
source.open(None)
for k in range(10**6):
    source.put([(k, "x")], lambda: 0.0)
    sys.stdout.write(f"{k}\\n")
    sys.stdout.flush()
    source.take(1.0, None)
"""


def test_what_was_acknowledged_before_a_kill_is_there(tmp_path: Path) -> None:
    pusher = subprocess.Popen([sys.executable, "-c", PUSHER, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True)
    assert pusher.stdout is not None
    for _ in range(200):
        pusher.stdout.readline()
    pusher.kill()
    acknowledged = 200 + len([line for line in pusher.stdout.read().split("\n")[:-1] if line])
    pusher.wait()
    found = numbers(opened_and_closed(tmp_path / "log"))
    assert len(found) >= acknowledged
    assert found == list(range(len(found)))


def application(tmp_path: Path, **more: Any) -> Any:
    data = {
        "streams": {"s": {"schema": "k INT", "source": {"kind": "push", "log": True}}},
        "queries": {"q": {"cql": "SELECT k FROM s"}},
        **more,
    }
    return Draft(data, folder=tmp_path).checked()


def test_the_log_is_beside_the_checkpoint(tmp_path: Path) -> None:
    channels: dict[str, PushChannel] = {}
    app = with_channels(application(tmp_path, checkpoint="state"), channels)
    source = open_sources(app)["s"]
    channels["s"].put([(1,), (2,), (3,)], lambda: 0.0)
    source.poll(1.0, 1)
    position = json.loads(json.dumps(position_of(source)))
    source.close()
    assert [entry.suffix for entry in (tmp_path / "state" / "pushed" / "s").iterdir()] == [".rows"]
    channels.clear()
    again = open_sources(with_channels(application(tmp_path, checkpoint="state"), channels), resume={"s": position})
    found = again["s"].poll(2.0)
    assert found.to_pylist() == [{"k": k, "_arrival": 0, "_sequence": k - 1} for k in (2, 3)]
    again["s"].close()


def test_a_fresh_run_takes_nothing_from_the_log(tmp_path: Path) -> None:
    channels: dict[str, PushChannel] = {}
    app = with_channels(application(tmp_path, checkpoint="state"), channels)
    source = open_sources(app)["s"]
    channels["s"].put([(1,)], lambda: 0.0)
    source.close()
    fresh = open_sources(with_channels(application(tmp_path, checkpoint="state"), {}, fresh=True))["s"]
    assert fresh.poll(1.0) is None
    assert not fresh.exhausted
    fresh.close()


def test_a_run_that_stops_ends_no_stream(tmp_path: Path) -> None:
    """Rows that were not taken out are there after a restart, even if no more are to come."""
    source = channel(tmp_path / "log")
    source.put([(1, "a")], lambda: 0.0)
    source.end()
    source.close()
    assert not source.over
    assert source.waiting == 0
    assert source.position == {"given": 0, "reached": None}
    again = channel(tmp_path / "log", source.position)
    assert again.take(1.0, None).num_rows == 1
    again.take(1.0, None)
    again.end()
    assert again.over
    again.close()


def test_nothing_can_be_pushed_into_a_stream_that_had_ended(tmp_path: Path) -> None:
    channels: dict[str, PushChannel] = {}
    app = with_channels(application(tmp_path, checkpoint="state"), channels)
    assert open_sources(app, resume={"s": {"ended": True}})["s"].exhausted
    with pytest.raises(ApplicationError, match="nothing can be pushed: it was ended"):
        channels["s"].put([(1,)], lambda: 0.0)


def test_a_log_needs_a_checkpoint_on_this_machine(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError, match="a log is kept until a checkpoint covers it, and there are none"):
        with_channels(application(tmp_path), {})
    with pytest.raises(ApplicationError, match="must be on a disk of this machine; name a folder"):
        with_channels(application(tmp_path, checkpoint="hdfs://there/state"), {})
