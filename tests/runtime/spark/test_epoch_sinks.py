"""Sinks that take epochs, in whole runs: a target that fails is tried again while other queries go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import headgate as hg
from headgate.connect.sinks import staged
from tests.applications import application

pytestmark = pytest.mark.spark
ROWS = 400


class Target:
    """It takes epochs once it has failed as it was told to."""

    last_epoch = 0

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.ks: list[int] = []

    def commit(self, epoch: int, table: pa.Table) -> None:
        if self.failures:
            raise self.failures.pop()
        self.ks.extend(table.column("k").to_pylist())

    def close(self) -> None:
        pass


class Door(hg.sinks.EpochSinkKind):
    kind = "door-of-the-tests"
    target: Target

    def connect(self, context: hg.sinks.SinkContext) -> Target:
        return self.target


hg.register(Door)


def test_a_target_that_fails_affects_only_its_query(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged, "RETRY_S", 0.01)
    again, never = Target(*[ConnectionError("down")] * 3), Target(ValueError("no such column"))
    feeder = {
        "kind": "feeder",
        "rate": ROWS,
        "arrivals": "constant",
        "rows": ROWS,
        "seed": 3,
        "values": {"k": "uniform 0 9"},
    }
    queries: dict[str, Any] = {
        "again": {"cql": "SELECT k FROM s", "sink": Door(target=again, every="0 s")},
        "never": {"cql": "SELECT k FROM s", "sink": Door(target=never)},
        "files": {"cql": "SELECT k FROM s", "sink": hg.sinks.Parquet(path=str(tmp_path / "out"))},
    }
    app = application({"s": {"schema": "k INT", "source": feeder}}, queries)
    report = app.run(until_idle=True, spark=spark).to_dict()
    states = {name: (sink["state"], sink["error"]) for name, sink in report["sinks"].items()}
    assert states == {"again": ("ok", None), "files": ("ok", None), "never": ("failed", "no such column")}
    assert len(again.ks) == ds.dataset(tmp_path / "out", format="parquet").count_rows() == ROWS
    assert report["sinks"]["files"]["rows"] == ROWS
    assert report["errors"] == {"never": "no such column"}
    assert never.ks == []
