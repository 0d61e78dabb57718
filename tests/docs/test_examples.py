"""The examples do what their comments say."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.application.checked import RunLimits
from headgate.application.load import load_application
from headgate.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def simulated(*options: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["simulate", str(EXAMPLES / "importance.yaml"), "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_classes_without_a_policy_are_served_by_their_priorities() -> None:
    """Also: what nobody declared is assumed, and named."""
    mine, other = simulated(), simulated("--policy", "rr:unit=query")
    assert (mine["policy"], other["policy"]) == ("mbd", "rr")
    means = [{name: one["latency"]["mean"] for name, one in told["classes"].items()} for told in (mine, other)]
    assert 2 * means[0]["fraud"] < means[0]["reports"]
    assert means[1]["fraud"] > means[1]["reports"], "round robin knows no classes"
    assert 2 * means[0]["fraud"] < means[1]["fraud"]
    assert len(mine["assumed"]["costs"]) == 5


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.spark
def test_a_tuple_at_a_boundary(spark: Any, tmp_path: Path) -> None:
    from headgate.runtime.spark.engine import run

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
