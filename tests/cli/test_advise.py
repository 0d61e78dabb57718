"""`headgate advise`: what other policies would do for an application."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app as cli

runner = CliRunner()
APP = """
streams:
  s: {schema: "k INT", source: {kind: feeder, rate: 300}}
classes:
  vital: {priority: 5}
queries:
  q:
    class: vital
    cql: SELECT k FROM s WHERE k > 5
    sink: {kind: csv, path: written.csv}
policy: fifo
slots: 2
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "app.yaml"
    found.write_text(APP)
    return found


@pytest.mark.spark
def test_an_application_is_measured_and_forecast_and_writes_nothing(spark: Any, path: Path) -> None:
    short = ["--seconds", "2", "--ahead", "2", "--try", "mbd", "--try", "rr:unit=query"]
    done = runner.invoke(cli, ["advise", str(path), *short, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    tried = [one["policy"] for one in found["forecasts"]]
    assert tried[:3] == ["fifo", "mbd", "rr"]
    assert found["current"] == "fifo"
    assert found["forecasts"][0]["classes"]["vital"]["mean"] > 0.0
    assert found["recommendation"].startswith(("keep", "change"))
    assert not (path.parent / "written.csv").exists()


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (["--try", "nix"], "no policy 'nix'"),
        (["--try", "rr:quantum=-1"], "quantum"),
        (["--ahead", "0"], "a run needs some time"),
        (["--policy", "nix"], "no policy 'nix'"),
    ],
)
def test_mistakes_are_found_before_anything_runs(path: Path, options: list[str], fragment: str) -> None:
    done = runner.invoke(cli, ["advise", str(path), *options])
    assert done.exit_code == 2
    assert fragment in done.output


def test_help_has_examples() -> None:
    assert "headgate advise examples/" in runner.invoke(cli, ["advise", "--help"]).stdout
