"""`headgate explain`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
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


def explained(*options: str) -> dict[str, Any]:
    return json.loads(runner.invoke(app, ["explain", str(EXAMPLE), "--json", *options]).stdout)


def test_a_policy_is_told_only_when_asked_for() -> None:
    told = explained("--policy", "pcs")
    assert told.pop("schedule")["policy"] == "pcs"
    told["policy"] = explained()["policy"]
    assert told == explained()


def test_text_of_a_policy() -> None:
    shown = runner.invoke(app, ["explain", str(EXAMPLE), "--policy", "threshold:memory=1000000"]).stdout
    for fragment in (
        "saving begins at 625,000 bytes in queues and ends at 250,000",
        "normal",
        "not known",
        "2,292,000",
    ):
        assert fragment in shown, fragment
    shown = runner.invoke(app, ["explain", str(EXAMPLE), "--policy", "chain"]).stdout
    assert "lower envelope" in shown
    assert "part of what waits" in runner.invoke(app, ["explain", str(EXAMPLE), "--policy", "mprr"]).stdout
    assert "classes take turns" in runner.invoke(app, ["explain", str(EXAMPLE), "--policy", "cqc"]).stdout


@pytest.mark.parametrize("suffix", ["png", "svg", "SVG"])
def test_plot(tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"charts.{suffix}"
    result = runner.invoke(app, ["explain", str(EXAMPLE), "--plot", str(picture), "--json"])
    assert result.exit_code == 0
    assert "used#1" not in result.stderr  # with --json nothing but JSON
    assert picture.stat().st_size > 1000


def test_the_same_application_gives_the_same_picture(tmp_path: Path) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for picture in (first, second):
        runner.invoke(app, ["explain", str(EXAMPLE), "--policy", "chain", "--plot", str(picture)])
    assert first.read_bytes() == second.read_bytes()


def test_paths_that_cannot_be_drawn_are_named(tmp_path: Path) -> None:
    result = runner.invoke(app, ["explain", str(EXAMPLE), "--plot", str(tmp_path / "a.svg")])
    assert "not drawn, because a cost is not declared: used#1" in result.stderr


@pytest.mark.parametrize(
    ("file", "words"),
    [("a.pdf", "end the name in .png or .svg"), ("charts", ".png or .svg"), ("none/a.svg", "there is no folder")],
)
def test_what_cannot_be_drawn(tmp_path: Path, file: str, words: str) -> None:
    result = runner.invoke(app, ["explain", str(EXAMPLE), "--plot", str(tmp_path / file)])
    assert result.exit_code == 2
    assert words in result.stderr


def test_nothing_to_draw(tmp_path: Path) -> None:
    costs = ("queries.fire.operators.hot.cost=null", "queries.some.operators.parts.cost=null")
    changes = [part for cost in costs for part in ("--set", cost)]
    result = runner.invoke(app, ["explain", str(write_app(tmp_path)), "--plot", str(tmp_path / "a.svg"), *changes])
    assert result.exit_code == 2
    assert "declare the cost of every operator" in result.stderr


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = runner.invoke(app, ["explain", str(EXAMPLE), "--plot", str(tmp_path / "a.svg")])
    assert result.exit_code == 2
    assert "matplotlib is not installed; pip install 'headgate[study]'" in result.stderr


def test_help_has_examples() -> None:
    shown = runner.invoke(app, ["explain", "--help"], env={"COLUMNS": "120"}).stdout
    assert "--plot" in shown
    assert "--policy chain --plot charts.svg" in shown
