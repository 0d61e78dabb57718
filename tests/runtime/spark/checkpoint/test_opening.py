"""Whether a run may go on from what is in a folder; no Spark is needed to find out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from headgate.application.checked import CheckpointSettings
from headgate.errors import ApplicationError
from headgate.runtime.spark.checkpoint.files import LocalFiles
from headgate.runtime.spark.checkpoint.opening import open_checkpoints
from headgate.runtime.spark.checkpoint.store import CheckpointStore
from tests.runtime.spark.checkpoint.test_resumed import QUERIES, application, saved

SPARK: Any = None  # local folders do not need it


@pytest.fixture
def settings(tmp_path: Path) -> CheckpointSettings:
    """A folder with two checkpoints."""
    store = CheckpointStore(LocalFiles(tmp_path / "state"))
    for _ in range(2):
        store.write(saved(application()).state)
    store.close()
    return CheckpointSettings(str(tmp_path / "state"))


def damage(settings: CheckpointSettings, number: int) -> None:
    path = Path(settings.path) / f"checkpoint-{number:08d}.json"
    path.write_bytes(path.read_bytes()[:-5])


def test_the_newest_is_taken(settings: CheckpointSettings) -> None:
    opened = open_checkpoints(application(), settings, SPARK)
    assert opened.resumed is not None
    assert opened.resumed.saved.number == 2
    opened.store.close()


def test_with_fresh_there_is_nothing_to_go_on_from(settings: CheckpointSettings) -> None:
    opened = open_checkpoints(application(), settings, SPARK, fresh=True)
    assert opened.resumed is None
    assert opened.store.numbers() == [1, 2]  # until the run begins
    opened.store.close()


def test_a_damaged_one_is_left_out_if_that_changes_no_result(
    settings: CheckpointSettings, caplog: pytest.LogCaptureFixture
) -> None:
    damage(settings, 2)
    with caplog.at_level(logging.WARNING):
        opened = open_checkpoints(application(), settings, SPARK)
    assert opened.resumed is not None
    assert opened.resumed.saved.number == 1
    assert "checkpoint-00000002.json is damaged" in caplog.text
    assert "going back to checkpoint 1" in caplog.text
    assert opened.store.numbers() == [1]
    opened.store.close()


def test_where_results_were_committed_there_is_no_way_back(settings: CheckpointSettings) -> None:
    damage(settings, 2)
    queries = {**QUERIES, "large": {**QUERIES["large"], "sink": {"kind": "parquet", "path": "out"}}}
    with pytest.raises(ApplicationError, match=r"could repeat or lose results of large; restore .* --fresh"):
        open_checkpoints(application(queries=queries), settings, SPARK)
    opened = open_checkpoints(application(), settings, SPARK)  # the lock was given back
    opened.store.close()


def test_if_all_are_damaged_the_run_does_not_begin(settings: CheckpointSettings) -> None:
    damage(settings, 1)
    damage(settings, 2)
    with pytest.raises(ApplicationError, match=r"00000002.json is damaged.*00000001.json is damaged"):
        open_checkpoints(application(), settings, SPARK)


def test_a_refused_application_changes_nothing(settings: CheckpointSettings) -> None:
    before = sorted(path.name for path in Path(settings.path).iterdir())
    with pytest.raises(ApplicationError, match="it was 0, and is 3 now"):
        open_checkpoints(application(seed=3), settings, SPARK)
    assert sorted(path.name for path in Path(settings.path).iterdir()) == before


def test_another_run_is_named(settings: CheckpointSettings) -> None:
    opened = open_checkpoints(application(), settings, SPARK)
    with pytest.raises(ApplicationError, match=r"another run writes to .*; wait for it") as refused:
        open_checkpoints(application(), settings, SPARK)
    assert refused.value.place == "checkpoint"
    opened.store.close()


def test_a_path_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ApplicationError, match="checkpoints cannot be kept there"):
        open_checkpoints(application(), CheckpointSettings(str(tmp_path / "file")), SPARK)
