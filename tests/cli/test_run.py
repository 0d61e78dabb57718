"""`headgate run` and `headgate demo`: exit codes, with a stand-in for Spark."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli import live
from headgate.cli.main import app
from headgate.runtime.spark import engine
from headgate.runtime.spark.launch import jvm
from tests.application.apps import write_app

runner = CliRunner()


class StandIn:
    """A runtime that does nothing but record what it was asked to do."""

    errors: dict[str, str] = {}  # noqa: RUF012
    raises: BaseException | None = None
    steps: list[str] = []  # noqa: RUF012

    rehearse: bool | None = None

    def __init__(self, app: Any, announce: Any, record: Any = None, force: bool = False, fresh: bool = False) -> None:
        self.steps.clear()
        StandIn.rehearse = app.rehearse
        announce("starting Spark")

    def start(self) -> None:
        self.steps.append("start")

    def wait(self, *_: Any) -> None:
        self.steps.append("wait")
        if self.raises is not None:
            raise self.raises

    def stop(self) -> dict[str, Any]:
        self.steps.append("stop")
        return {"errors": self.errors, "seconds": 1.0}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    monkeypatch.setattr(engine, "SparkRuntime", StandIn)
    monkeypatch.setattr(jvm, "begin_jvm", lambda settings: None)
    return StandIn


@pytest.mark.parametrize(("errors", "code"), [({}, 0), ({"fire": "the disk is full"}, 1)])
@pytest.mark.parametrize("command", ["run", "demo"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_stopped_query_is_exit_code_1(
    stand_in: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    options: list[str],
    errors: dict[str, str],
    code: int,
) -> None:
    monkeypatch.setattr(stand_in, "errors", errors)
    arguments = [command, *([str(write_app(tmp_path))] if command == "run" else []), "--seconds", "1", *options]
    result = runner.invoke(app, arguments)
    assert result.exit_code == code, result.output
    assert stand_in.steps == ["start", "wait", "stop"]
    if options:
        assert json.loads(result.stdout)["errors"] == errors


def test_an_interrupted_run_ends_with_its_report(
    stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stand_in, "raises", KeyboardInterrupt())
    result = runner.invoke(app, ["run", str(write_app(tmp_path)), "--json"])
    assert (result.exit_code, stand_in.steps) == (0, ["start", "wait", "stop"])


def test_a_scheduler_that_fails_is_stopped_too(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stand_in, "raises", AssertionError("a bug in a policy"))
    result = runner.invoke(app, ["run", str(write_app(tmp_path))])
    assert isinstance(result.exception, AssertionError)
    assert stand_in.steps == ["start", "wait", "stop"]


@pytest.mark.parametrize(("options", "expected"), [([], None), (["--rehearse"], True), (["--no-rehearse"], False)])
@pytest.mark.parametrize("command", ["run", "demo"])
def test_options_turn_the_rehearsal_on_and_off(
    stand_in: Any, tmp_path: Path, command: str, options: list[str], expected: bool | None
) -> None:
    arguments = [command, *([str(write_app(tmp_path))] if command == "run" else []), "--seconds", "1", *options]
    assert runner.invoke(app, arguments).exit_code == 0
    assert stand_in.rehearse is expected


def test_the_progress_of_the_start_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    now = 0.0
    monkeypatch.setattr(live.time, "monotonic", lambda: now)
    with live.progress() as show:
        for stage in ("starting Spark", "checking", "rehearsing: call 1 of 8", "rehearsing: call 2 of 8"):
            show(stage)
            now += 6.0
    assert capsys.readouterr() == ("", "rehearsing: call 1 of 8 ...\n")
