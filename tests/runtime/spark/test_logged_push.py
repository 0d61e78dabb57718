"""A run with a logged push that dies after a push was answered: a run that goes on has every row, once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import headgate as hg

pytestmark = pytest.mark.spark


def application(folder: Path, state: str) -> hg.Application:
    """An application with a logged stream, and a file with a malformed row in front and one at its end."""
    app = hg.Application(
        folder=folder, rehearse=False, dead_letters="dead.jsonl", checkpoint={"path": state, "interval": "1 hour"}
    )
    app.stream("pushed", "k INT", source=hg.sources.Push(log=True))
    app.stream("read", "k INT", source=hg.sources.Csv(path="in.csv"))
    app.query("all", "SELECT k FROM pushed")
    app.query("counted", "SELECT count(*) AS n FROM read")
    return app


def test_what_was_answered_is_there_once(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("k\nno\n1\n2\n")
    with application(tmp_path, "state").start(spark) as run:
        run.push("pushed", [(k,) for k in range(3)])
        assert run.drain(60)
        run.checkpoint()
        run.push("pushed", [(k,) for k in range(3, 6)])
        assert run.drain(60)
        run.push("pushed", [(6,)])
        shutil.copytree(tmp_path / "state", tmp_path / "as-it-was")  # what a crash at this moment leaves
    letters = (tmp_path / "dead.jsonl").read_text()
    assert len(letters.splitlines()) == 1
    with application(tmp_path, "as-it-was").start(spark) as again:
        again.push("pushed", [(7,)])
        again.end("pushed")
        assert again.wait(60)
        assert again.results("all").to_arrow().column("k").to_pylist() == list(range(8))
        report = again.report().to_dict()
    assert report["errors"] == {}
    assert report["sources"] == {"pushed": {"state": "ended"}, "read": {"state": "ended"}}
    found = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert found == [json.loads(letters)]  # kept; and the file was not read again
