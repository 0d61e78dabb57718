"""`headgate bench`: finds the measurement by its name and prints what it gives."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.charts.files import new_figure
from headgate.cli.main import app

runner = CliRunner()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A bench that only notes how it was called."""
    calls: list[bool] = []

    def run(quick: bool) -> dict[str, Any]:
        calls.append(quick)
        return {"calls_per_second": 12345.678, "rows": 3, "ways": {"prepared": {"ms": 8.5}}, "list": [1, 2.5]}

    module = ModuleType("headgate.bench.simulator")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "headgate.bench.simulator", module)
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


def test_a_picture_where_there_is_none_is_refused_before_measuring(fake: list[bool]) -> None:
    result = runner.invoke(app, ["bench", "simulator", "--plot", "out"])
    assert (result.exit_code, result.stdout, fake) == (2, "", [])
    assert "draws no picture" in result.stderr


def test_a_picture(fake: list[bool], tmp_path: Path) -> None:
    sys.modules["headgate.bench.simulator"].draw = lambda result: new_figure(2.0, 2.0)  # type: ignore[attr-defined]
    shown = runner.invoke(app, ["bench", "simulator", "--plot", str(tmp_path / "new")]).stdout
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["simulator.png", "simulator.svg"]
    assert "simulator.svg" in shown.replace("\n", "")
