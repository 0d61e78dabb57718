"""`headgate replay`, given what a run on Spark recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.application.checked import RunLimits
from headgate.application.load import load_application
from headgate.cli.main import app
from headgate.runtime.spark.engine import SparkRuntime

FIRST = Path(__file__).parents[2] / "examples" / "first.yaml"
runner = CliRunner()


@pytest.mark.spark
def test_replay_repeats_the_decisions_of_a_run_on_spark(spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.events"
    sinks = ["queries.fire.sink={kind: memory}", "queries.averages.sink={kind: memory}"]
    runtime = SparkRuntime(load_application(FIRST, sinks), spark, record=log)
    runtime.start()
    runtime.wait(RunLimits(until_idle=True, seconds=60))
    report = runtime.stop()
    replayed = runner.invoke(app, ["replay", str(log), "--json"])
    assert replayed.exit_code == 0, replayed.output
    steps = json.loads(replayed.stdout)
    called = [one for step in steps for one in step["instructions"] if one.startswith("StartCall")]
    ended = [step for step in steps if step["event"].startswith("CallEnded")]
    assert len(called) == len(ended) == sum(report["calls"].values()) > 0
    assert any("RunFinished()" in step["instructions"] for step in steps)
    assert "-> StartCall(slot 0, " in runner.invoke(app, ["replay", str(log)]).stdout


def test_a_file_that_is_not_a_log_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("not a log")
    for path in (other, tmp_path / "missing"):
        result = runner.invoke(app, ["replay", str(path)])
        assert result.exit_code == 2
        assert "name a file that `headgate run --record` wrote" in " ".join(result.output.split())
