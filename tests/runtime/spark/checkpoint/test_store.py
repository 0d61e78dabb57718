"""Checkpoints in a folder: whole or not there, referring to what earlier ones wrote, damage noticed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connect.sinks import OutputInUse
from headgate.runtime.spark.checkpoint.files import LocalFiles
from headgate.runtime.spark.checkpoint.packs import LEAST_SHARE, packs_to_write_again
from headgate.runtime.spark.checkpoint.store import CheckpointDamaged, CheckpointStore
from headgate.runtime.spark.checkpoint.tree import put_together, take_apart
from headgate.runtime.spark.spill import SpillFolder
from headgate.scheduling.queue import BatchQueue, SharedMemory
from headgate.sql.schema import ARRIVAL


def table(rows: int, first: int = 0) -> pa.Table:
    numbers = list(range(first, first + rows))
    return pa.table({"n": pa.array(numbers, pa.int64()), "s": [f"row {n}" for n in numbers]})


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(LocalFiles(tmp_path / "state"), keep=2)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "state").iterdir())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_any_state_comes_back(state: Any) -> None:
    plain, tables = take_apart(state)
    assert put_together(plain, tables) == state


def test_what_was_written_is_read(store: CheckpointStore) -> None:
    state = {"a": 1, "rows": [table(3), table(0), {"deep": table(5, 7)}], "none": None}
    number = store.write(state).number
    found = store.load(number).state
    assert found["a"] == 1
    assert found["none"] is None
    assert found["rows"][0].equals(table(3))
    assert found["rows"][1].equals(table(0))
    assert found["rows"][2]["deep"].equals(table(5, 7))


def test_two_columns_may_have_one_name(store: CheckpointStore) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array(["a"])], names=["k", "k"])
    assert store.load(store.write([twice]).number).state[0].equals(twice)


def test_tables_are_written_once(store: CheckpointStore, tmp_path: Path) -> None:
    large, small = table(10_000), table(10)
    first = store.write({"log": [large]})
    second = store.write({"log": [large, small]})
    assert second.bytes < first.bytes / 10
    assert second.state_bytes > first.bytes - 100
    assert store.load(second.number).state["log"][0].equals(large)


def test_after_a_restart_tables_are_not_written_again(tmp_path: Path) -> None:
    store = CheckpointStore(LocalFiles(tmp_path / "state"))
    first = store.write({"log": [table(10_000)]})
    store.close()
    again = CheckpointStore(LocalFiles(tmp_path / "state"))
    log = again.load(first.number).state["log"]
    assert again.write({"log": [*log, table(10)]}).bytes < first.bytes / 10


def test_old_checkpoints_and_files_are_removed(store: CheckpointStore, tmp_path: Path) -> None:
    for first in range(5):
        store.write([table(10, first)])
    assert store.numbers() == [4, 5]
    assert files(tmp_path) == [
        "checkpoint-00000004.json",
        "checkpoint-00000005.json",
        "data-00000004.arrows",
        "data-00000005.arrows",
    ]


def test_a_file_that_is_hardly_needed_is_given_up(store: CheckpointStore, tmp_path: Path) -> None:
    kept, dropped = table(100), table(10_000)
    store.write([kept, dropped])
    for first in range(2):
        store.write([kept, table(10, first)])
    assert "data-00000001.arrows" not in files(tmp_path)
    assert store.load(store.numbers()[-1]).state[0].equals(kept)


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.integers(1, 99), st.integers(1, 99)), max_size=40))
def test_few_files_and_most_of_each_is_needed(found: dict[str, tuple[int, int]]) -> None:
    sizes = {pack: max(both) for pack, both in found.items()}
    needed = {pack: min(both) for pack, both in found.items()}
    again = packs_to_write_again(sizes, needed, most=5)
    kept = needed.keys() - again
    assert len(kept) < 5
    assert all(needed[pack] >= LEAST_SHARE * sizes[pack] for pack in kept)


@pytest.mark.parametrize("name", ["checkpoint-00000001.json", "data-00000001.arrows"])
def test_damage_is_noticed(store: CheckpointStore, tmp_path: Path, name: str) -> None:
    number = store.write([table(100)]).number
    path = tmp_path / "state" / name
    good = path.read_bytes()
    for bad in (good[:-1], good[: len(good) // 2], b"", good[:-9] + bytes([good[-9] ^ 1]) + good[-8:]):
        path.write_bytes(bad)
        with pytest.raises(CheckpointDamaged, match=name.partition(".")[0]):
            store.load(number)
    path.write_bytes(good)
    assert store.load(number).state[0].equals(table(100))


def test_a_format_of_the_future_is_refused(store: CheckpointStore, tmp_path: Path) -> None:
    number = store.write([]).number
    path = tmp_path / "state" / "checkpoint-00000001.json"
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(CheckpointDamaged, match="has format 2; this version of Headgate reads format 1"):
        store.load(number)


def test_a_checkpoint_that_is_not_complete_is_not_there(tmp_path: Path) -> None:
    """A crash before the renaming leaves files that the next run removes."""
    store = CheckpointStore(LocalFiles(tmp_path / "state"))
    number = store.write([table(5)]).number
    store.close()
    for name in (".data-00000002.arrows.new", ".checkpoint-00000002.json.new"):
        (tmp_path / "state" / name).write_text("half")
    again = CheckpointStore(LocalFiles(tmp_path / "state"))
    assert again.numbers() == [number]
    assert not [name for name in os.listdir(tmp_path / "state") if name.startswith(".")]


def test_a_write_that_fails_leaves_the_one_before(store: CheckpointStore, tmp_path: Path) -> None:
    number = store.write([table(5)]).number
    with pytest.raises(TypeError):
        store.write([table(9), object()])
    assert store.numbers() == [number]
    assert store.load(number).state[0].equals(table(5))
    assert store.load(store.write([table(6)]).number).state[0].equals(table(6))


def test_two_runs_cannot_use_one_folder(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path / "state", "first")
    with pytest.raises(OutputInUse, match=f"process {os.getpid()} .*application first"):
        LocalFiles(tmp_path / "state", "second")
    files.close()
    LocalFiles(tmp_path / "state", "second").close()


def test_rows_that_were_spilled_are_written_after_the_queue_went_on(store: CheckpointStore, tmp_path: Path) -> None:
    folder = SpillFolder(tmp_path / "spill")
    queue = BatchQueue(SharedMemory(100, folder, piece_bytes=64))
    rows = pa.table({"n": list(range(200)), ARRIVAL: pa.array(range(200), pa.int64())})
    queue.put(rows)
    state = queue.state()
    queue.take()
    queue.close()
    found = store.load(store.write(state).number).state
    assert pa.concat_tables(found["rows"]).equals(rows)
    for one in take_apart(state)[1]:
        if not isinstance(one, pa.Table):
            one.release()
    assert list(folder.path.iterdir()) == []
    again = BatchQueue()
    again.restore(found)
    again.check()
    assert again.count == 200
    folder.close()
