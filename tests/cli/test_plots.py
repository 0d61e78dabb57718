"""`--plot` of `run` and `simulate`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.runtime.spark import engine
from tests.application.apps import write_app

pytestmark = pytest.mark.slow

runner = CliRunner()
FILES = ["boxes.png", "boxes.svg", "course.png", "course.svg"]


class SimulatedSpark:
    """A stand-in for the Spark runtime, which runs the simulator."""

    ran = False

    def __init__(self, application: Any, **_: Any) -> None:
        self._app = application

    def start(self) -> None:
        type(self).ran = True

    def wait(self, limits: Any, _: Any) -> None:
        from headgate.runtime.simulated import simulate

        self._report = {**simulate(self._app, limits).report, "errors": {"fire": "the disk is full"}}

    def stop(self) -> dict[str, Any]:
        return self._report


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SparkRuntime", SimulatedSpark)
    monkeypatch.setattr(SimulatedSpark, "ran", False)


def invoke(command: str, tmp_path: Path, folder: Path, *options: str) -> Any:
    return runner.invoke(app, [command, str(write_app(tmp_path)), "--seconds", "1", "--plot", str(folder), *options])


@pytest.mark.parametrize(("command", "code"), [("run", 1), ("simulate", 0)])
def test_files_are_written_and_named(tmp_path: Path, command: str, code: int) -> None:
    folder = tmp_path / "made" / "for it"
    result = invoke(command, tmp_path, folder)
    assert result.exit_code == code, result.output
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert all(str(folder / name) in result.stdout for name in FILES)
    assert "drawn" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_stdout_is_still_one_json_value(tmp_path: Path, command: str) -> None:
    result = invoke(command, tmp_path, tmp_path / "plots", "--json")
    assert json.loads(result.stdout)["course"]["bucket"] == 0.1
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == FILES


def test_the_same_run_gives_the_same_pictures(tmp_path: Path) -> None:
    for name in ("a", "b"):
        invoke("simulate", tmp_path, tmp_path / name)
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_a_folder_that_cannot_be_made(tmp_path: Path, command: str) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        result = invoke(command, tmp_path, folder)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert f"--plot {folder}: the folder cannot be made: " in result.stderr
        assert "name a folder that can be written" in result.stderr
        assert not SimulatedSpark.ran


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = invoke(command, tmp_path, tmp_path / "plots")
    assert result.exit_code == 2
    assert "matplotlib is not installed; pip install 'headgate[plot]'" in result.stderr
    assert not SimulatedSpark.ran
    assert not (tmp_path / "plots").exists()


def test_the_report_is_printed_even_if_a_picture_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "plots" / "boxes.png").mkdir(parents=True)
    result = invoke("simulate", tmp_path, tmp_path / "plots")
    assert result.exit_code == 2
    assert "a picture cannot be written: Is a directory" in result.stderr
    assert "weighted mean latency" in result.stdout
