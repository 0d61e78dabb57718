"""The examples do what their comments say."""

import ast
import csv
import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.application.checked import RunLimits
from headgate.application.load import load_application
from headgate.cli.main import app

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def simulated(*options: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["simulate", str(EXAMPLES / "importance.yaml"), "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_classes_without_a_policy_are_served_by_their_priorities() -> None:
    """The report also names the costs that were not declared and had to be assumed."""
    mine, other = simulated(), simulated("--policy", "rr:unit=query")
    assert (mine["policy"], other["policy"]) == ("mbd", "rr")
    means = [{name: one["latency"]["mean"] for name, one in report["classes"].items()} for report in (mine, other)]
    assert 2 * means[0]["fraud"] < means[0]["reports"]
    assert means[1]["fraud"] > means[1]["reports"], "round robin knows no classes"
    assert 2 * means[0]["fraud"] < means[1]["fraud"]
    assert len(mine["assumed"]["costs"]) == 5


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.spark
def test_a_tuple_at_a_boundary(spark: Any, tmp_path: Path) -> None:
    from headgate.runtime.spark.run import run

    for name in ("boundaries.yaml", "readings.csv"):
        shutil.copy(EXAMPLES / name, tmp_path)
    report = run(load_application(tmp_path / "boundaries.yaml"), RunLimits(until_idle=True), spark)
    assert report["errors"] == {}
    ends = {row["time"][-8:]: row["readings"] for row in rows(tmp_path / "out/cql_windows.csv")}
    assert ends == {"08:00:10": "3", "08:00:20": "3", "08:00:30": "2"}
    begins: dict[str, str] = {}
    for row in rows(tmp_path / "out/spark_windows.csv"):
        if row["change"] == "+":
            begins[row["begins"]] = row["readings"]
    assert begins == {"08:00:00": "3", "08:00:10": "3", "08:00:20": "1", "08:00:30": "1"}


SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "readings.py")


@pytest.mark.spark
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_run(spark: Any, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    runpy.run_path(str(tmp_path / "examples" / script.name), run_name="__main__")
    printed = capsys.readouterr().out
    shown = {
        "push.py": ["[{'user': 'bob', 'price': 30.0}]", "\n2\n"],
        "own_policy.py": ["shortest {", "fifo {"],
        "own_connectors.py": ["even: [4, 2]!", "kind: countdown", "\n2\n"],
    }
    assert all(text in printed for text in shown[script.name]), printed


@pytest.mark.spark
def test_the_tour_runs(spark: Any) -> None:
    """A notebook can show the value of every cell."""
    cells = [cell for cell in json.loads((EXAMPLES / "tour.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop()
        assert isinstance(last, ast.Expr)
        exec(compile(tree, "tour", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "tour", "eval"), names)
        assert isinstance(value, dict) or len(value._repr_html_()) > 200
    assert value.classes["critical"].outputs == 2
    assert not any(cell["outputs"] for cell in cells), "outputs are not kept in git"
