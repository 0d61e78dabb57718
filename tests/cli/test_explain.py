"""`headgate explain`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from headgate.cli.main import app
from tests.plan.apps import write_app

runner = CliRunner()
EXAMPLE = Path(__file__).parents[2] / "examples" / "sensors.yaml"


def test_text(tmp_path: Path) -> None:
    shown = runner.invoke(app, ["explain", str(write_app(tmp_path))]).stdout
    for fragment in (
        "sensors",
        "places (table)",
        "location STRING, floor INT",
        "critical",
        "hot select: temperature > 35",
        "cost 20 us a tuple, selectivity 0.1",
        "selectivity 1 (assumed)",
        "1 ms a call",
        "parts.high split",
        "floor join: inner with places on location",
        "both of some union",
        "fire#1",
        "S1",
        "policy rr (quantum 0.05)",
        "slots 3",
    ):
        assert fragment in shown, fragment


def test_options_apply(tmp_path: Path) -> None:
    options = ["--policy", "fifo:unit=query", "--slots", "7", "--set", "seed=9", "--json"]
    told = json.loads(runner.invoke(app, ["explain", str(write_app(tmp_path)), *options]).stdout)
    assert told["policy"] == {"name": "fifo", "parameters": {"unit": "query"}}
    assert (told["slots"], told["seed"]) == (7, 9)


def test_json_is_one_value() -> None:
    result = runner.invoke(app, ["explain", str(EXAMPLE), "--json"])
    assert result.exit_code == 0
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert set(told["queries"]["climate"]) >= {"operators", "paths", "segments"}


def test_markup_in_a_file_is_only_text(tmp_path: Path) -> None:
    changes = ["--set", "queries.more.operators.few.where=k = 3 AND '[/bold]' <> '[red]'"]
    result = runner.invoke(app, ["explain", str(write_app(tmp_path)), *changes])
    assert result.exit_code == 0
    assert "'[/bold]' <> '[red]'" in result.stdout
