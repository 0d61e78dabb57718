"""`headgate simulate`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app

pytestmark = pytest.mark.slow

runner = CliRunner()
EXAMPLE = Path(__file__).parents[2] / "examples" / "sensors.yaml"


def report(*options: str) -> dict[str, Any]:
    result = runner.invoke(app, ["simulate", str(EXAMPLE), "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_report() -> None:
    result = report("--seconds", "2")
    assert (result["runtime"], result["policy"], result["slots"], result["seconds"]) == ("simulated", "rr", 2, 2.0)
    assert set(result["classes"]) == {"critical", "normal", "archive"}
    assert {"fire", "climate", "visitors", "discomfort", "hot_floors"} <= set(result["queries"])
    assert result["queries"]["fire"]["outputs"] > 0


def test_same_seed_same_report() -> None:
    assert report("--seconds", "1", "--seed", "3") == report("--seconds", "1", "--seed", "3")
    assert report("--seconds", "1", "--seed", "3") != report("--seconds", "1", "--seed", "4")


@pytest.mark.parametrize("options", [[], ["--until-idle"]])
def test_until_idle_processes_all_rows(options: list[str]) -> None:
    few = ["--set", "streams.sensors.source.rows=300", "--set", "streams.doors.source.rows=200"]
    result = report(*options, *few, "--policy", "fifo", "--slots", "1")
    assert result["queries"]["fire"]["inputs"] == 300
    assert result["queries"]["visitors"]["inputs"] == 200
    assert (result["policy"], result["slots"]) == ("fifo", 1)


def test_the_report_as_tables() -> None:
    result = runner.invoke(app, ["simulate", str(EXAMPLE), "--seconds", "1"])
    assert result.exit_code == 0
    for fragment in ("rr on 2 slots", "critical", "hot_floors", "weighted mean latency", "queued"):
        assert fragment in result.stdout


PARTLY_DECLARED = """
streams:
  s: {schema: "k INT", source: {kind: feeder, rate: 1000, rows: 200, values: {k: "uniform 0 9"}}}
queries:
  few: {cql: "SELECT k + 1 AS k FROM s WHERE k > 7"}
  half: {cql: "SELECT k + 1 AS k FROM s WHERE k > 4", stats: {where: {cost: 2us, selectivity: 0.5}, select: {cost: 0}}}
slots: 1
"""


def test_undeclared_costs_are_assumed_and_named(tmp_path: Path) -> None:
    file = tmp_path / "partly_declared.yaml"
    file.write_text(PARTLY_DECLARED, encoding="utf-8")
    result = json.loads(runner.invoke(app, ["simulate", str(file), "--json"]).stdout)
    assert result["assumed"] == {
        "cost": 1e-05,
        "costs": ["few/where", "few/select"],
        "selectivity": 1.0,
        "selectivities": ["few/where"],
    }
    assert result["queries"]["few"]["latency"]["mean"] >= 2e-05, "two operators of 10 us"
    shown = runner.invoke(app, ["simulate", str(file)]).stdout
    assert "assumed: cost 10 us a tuple for few/where, few/select, not declared in the file" in shown
    assert "assumed: selectivity 1 for few/where, not declared in the file" in shown
    assert "half/" not in shown.split("class")[0], "declared values are not assumed, not even a cost of 0"


def test_nothing_is_assumed_when_everything_is_declared() -> None:
    first = EXAMPLE.parent / "first.yaml"
    result = json.loads(runner.invoke(app, ["simulate", str(first), "--json"]).stdout)
    assert (result["assumed"]["costs"], result["assumed"]["selectivities"]) == ([], [])
    assert "assumed" not in runner.invoke(app, ["simulate", str(first)]).stdout
