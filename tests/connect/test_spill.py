"""The spill folder: what goes in comes out; a disk that fails says so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headgate.runtime.spark.spill import SpillFolder
from headgate.scheduling.queue import BatchQueue, SharedMemory, SpillError


def test_round_trip_of_slices_and_types(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    table = pa.table(
        {"s": ["a", None, "ccc"], "l": [[1], None, []], "t": pa.array([1, 2, None], pa.timestamp("us", tz="UTC"))}
    )
    for part in (table, table.slice(1, 1), pa.concat_tables([table, table])):
        handle = folder.write(part)
        assert folder.read(handle).equals(part)
        assert folder.read(handle).equals(part)
        folder.delete(handle)
        folder.delete(handle)  # twice does no harm
    folder.close()
    assert not list(tmp_path.iterdir())


def test_a_slice_does_not_write_its_parent(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    big = pa.table({"x": pa.array([str(n) * 20 for n in range(100_000)])})
    assert folder.write(big.slice(500, 10)).stat().st_size < 5000


def test_two_folders_do_not_meet(tmp_path: Path) -> None:
    assert SpillFolder(tmp_path / "new").path != SpillFolder(tmp_path / "new").path


def test_failures_are_clear(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    handle = folder.write(pa.table({"x": [1]}))
    handle.write_bytes(b"not Arrow")
    with pytest.raises(SpillError, match="cannot read waiting tuples back"):
        folder.read(handle)
    folder.close()
    with pytest.raises(SpillError, match=r"cannot write .* bytes of waiting tuples"):
        folder.write(pa.table({"x": [1]}))
    (tmp_path / "file").write_text("")
    with pytest.raises(SpillError, match="cannot make a folder"):
        SpillFolder(tmp_path / "file" / "below")


def test_a_lost_folder_keeps_the_queue_whole(tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path)
    queue = BatchQueue(SharedMemory(0, folder))
    folder.close()
    table = pa.table({"_arrival": pa.array([1, 2]), "_sequence": pa.array([0, 1])})
    with pytest.raises(SpillError):
        queue.put(table)
    taken = queue.take(None)
    assert taken is not None
    assert taken.equals(table)
