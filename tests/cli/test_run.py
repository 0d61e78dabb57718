"""`headgate run` and `headgate demo`: exit codes, with Spark played by a stand-in."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.runtime.spark import engine
from tests.plan.apps import write_app

runner = CliRunner()


class StandIn:
    """A runtime that does nothing, and remembers what was asked of it."""

    errors: dict[str, str] = {}  # noqa: RUF012
    raises: BaseException | None = None
    told: list[str] = []  # noqa: RUF012

    def __init__(self, app: Any) -> None:
        self.told.clear()

    def start(self) -> None:
        self.told.append("start")

    def wait(self, *_: Any) -> None:
        self.told.append("wait")
        if self.raises is not None:
            raise self.raises

    def stop(self) -> dict[str, Any]:
        self.told.append("stop")
        return {"errors": self.errors, "seconds": 1.0}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    monkeypatch.setattr(engine, "SparkRuntime", StandIn)
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
    words = [command, *([str(write_app(tmp_path))] if command == "run" else []), "--seconds", "1", *options]
    result = runner.invoke(app, words)
    assert result.exit_code == code, result.output
    assert stand_in.told == ["start", "wait", "stop"]
    if options:
        assert json.loads(result.stdout)["errors"] == errors


def test_an_interrupted_run_ends_with_its_report(
    stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stand_in, "raises", KeyboardInterrupt())
    result = runner.invoke(app, ["run", str(write_app(tmp_path)), "--json"])
    assert (result.exit_code, stand_in.told) == (0, ["start", "wait", "stop"])


def test_a_scheduler_that_fails_is_stopped_too(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stand_in, "raises", AssertionError("a bug in a policy"))
    result = runner.invoke(app, ["run", str(write_app(tmp_path))])
    assert isinstance(result.exception, AssertionError)
    assert stand_in.told == ["start", "wait", "stop"]
