"""`headgate bench` finds a bench by its name and prints what it measures."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.charts.files import new_figure
from headgate.cli.main import app
from headgate.errors import ApplicationError
from headgate_lab.bench.parts import part

runner = CliRunner()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A fake bench that only records how it was called."""
    calls: list[bool] = []

    def run(quick: bool) -> dict[str, Any]:
        calls.append(quick)
        return {"calls_per_second": 12345.678, "rows": 3, "ways": {"prepared": {"ms": 8.5}}, "list": [1, 2.5]}

    module = ModuleType("headgate_lab.bench.simulator")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "headgate_lab.bench.simulator", module)
    return calls


def test_json(fake: list[bool]) -> None:
    result = runner.invoke(app, ["bench", "simulator", "--quick", "--json"])
    assert json.loads(result.stdout)["calls_per_second"] == 12345.678
    assert fake == [True]


def test_table(fake: list[bool]) -> None:
    shown = runner.invoke(app, ["bench", "simulator"]).stdout
    assert all(fragment in shown for fragment in ("calls per second", "prepared", "8.5"))
    assert fake == [False]


def test_unknown_name() -> None:
    result = runner.invoke(app, ["bench", "simulatr"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean 'simulator'?" in result.stderr


def test_a_picture_that_a_bench_cannot_draw_is_refused_before_measuring(fake: list[bool]) -> None:
    result = runner.invoke(app, ["bench", "simulator", "--plot", "out"])
    assert (result.exit_code, result.stdout, fake) == (2, "", [])
    assert "draws no picture" in result.stderr


def test_a_picture(fake: list[bool], tmp_path: Path) -> None:
    sys.modules["headgate_lab.bench.simulator"].draw = lambda result: new_figure(2.0, 2.0)  # type: ignore[attr-defined]
    shown = runner.invoke(app, ["bench", "simulator", "--plot", str(tmp_path / "new")]).stdout
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["simulator.png", "simulator.svg"]
    assert "simulator.svg" in shown.replace("\n", "")


def test_a_bench_that_fails_late_keeps_its_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(quick: bool) -> dict[str, Any]:
        part("steps", lambda: {"ms": 8.5})
        part("replay", lambda: 1 // 0)
        return {}

    module = ModuleType("headgate_lab.bench.simulator")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "headgate_lab.bench.simulator", module)
    result = runner.invoke(app, ["bench", "simulator", "--json"])
    assert result.exit_code == 1
    kept = json.loads(result.stdout)
    assert kept == {"incomplete": True, "error": "integer division or modulo by zero", "steps": {"ms": 8.5}}
    assert result.stderr.splitlines() == [
        "bench simulator: steps",
        "bench simulator: replay",
        "error: bench 'simulator' failed: integer division or modulo by zero",
    ]
    shown = runner.invoke(app, ["bench", "simulator"]).stdout
    assert all(fragment in shown for fragment in ("incomplete", "8.5"))


def test_a_bench_that_fails_before_it_has_measured_anything(fake: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def run(quick: bool) -> dict[str, Any]:
        raise ApplicationError("bench", "there is no such file", "make it")

    monkeypatch.setattr(sys.modules["headgate_lab.bench.simulator"], "run", run)
    result = runner.invoke(app, ["bench", "simulator", "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no such file" in result.stderr
