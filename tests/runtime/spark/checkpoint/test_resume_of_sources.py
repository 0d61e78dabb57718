"""Folders, files that grow and data sources go on from a checkpoint: every row counts once."""

from __future__ import annotations

import csv
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSource

import headgate as hg
from tests.connect.sources.test_data_source import PartitionReader

SCHEMA = "k INT, t STRING"
NAMES = ("logs", "files", "numbers")


class Numbers(DataSource):
    """As many rows as a file says when it is opened."""

    def streamReader(self, schema: Any) -> Any:
        return PartitionReader(int(Path(self.options["count"]).read_text()), schema)


def application(folder: Path, numbers: int) -> hg.Application:
    (folder / "count").write_text(str(numbers))
    checkpoint = {"path": str(folder / "state"), "interval": "1 hour"}
    app = hg.Application(rehearse=False, folder=folder, checkpoint=checkpoint)
    sources = {
        "logs": hg.sources.Folder(path="logs/*.csv", grows=True, interval=0.02),
        "files": hg.sources.Folder(path="files/*.json", interval=0.02),
        "numbers": hg.sources.PythonDataSource(
            implementation=Numbers, options={"count": folder / "count"}, interval=0.02
        ),
    }
    for name in NAMES:
        app.stream(name, SCHEMA, source=sources[name])
        app.query(f"of_{name}", f"SELECT k, t FROM {name} WHERE k >= 0", sink=hg.sinks.Csv(path=f"out/{name}.csv"))
    return app


def written(folder: Path, name: str) -> list[str]:
    file = folder / "out" / f"{name}.csv"
    return sorted(row[0] for row in list(csv.reader(file.open()))[1:]) if file.exists() else []


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


@pytest.mark.spark
def test_every_row_counts_once_after_a_crash(spark: Any, tmp_path: Path) -> None:
    for name in ("logs", "files"):
        (tmp_path / name).mkdir()
    log, kept = tmp_path / "logs" / "a.csv", tmp_path / "kept"
    log.write_text("k,t\n1,a\n2,b\n3")
    (tmp_path / "files" / "1.json").write_text('{"k": 1, "t": "a"}\n{"k": 2, "t": "b"}\n')
    with application(tmp_path, numbers=4).start(spark) as run:
        wait_for(lambda: [len(written(tmp_path, name)) for name in NAMES] == [2, 2, 4])
        run.checkpoint()
        shutil.copytree(tmp_path / "state", kept)
        log.write_text("k,t\n1,a\n2,b\n3,c\n4,")
        (tmp_path / "files" / "2.json").write_text('{"k": 3, "t": "c"}\n')
        wait_for(lambda: [len(written(tmp_path, name)) for name in NAMES] == [3, 3, 4])
    shutil.rmtree(tmp_path / "state")  # as if it had crashed before its last checkpoint
    kept.rename(tmp_path / "state")
    log.rename(tmp_path / "logs" / "a.old.csv")
    (tmp_path / "logs" / "b.csv").write_text("k,t\n5,e\n")
    (tmp_path / "files" / "1.json").unlink()
    with application(tmp_path, numbers=6).start(spark) as run:
        wait_for(lambda: [len(written(tmp_path, name)) for name in NAMES] == [4, 3, 6])
        time.sleep(0.2)
        assert run.report().to_dict()["checkpoints"]["resumed_from"]
    assert written(tmp_path, "logs") == ["1", "2", "3", "5"]
    assert written(tmp_path, "files") == ["1", "2", "3"]
    assert written(tmp_path, "numbers") == [str(at) for at in range(6)]
