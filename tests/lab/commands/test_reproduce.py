"""`headgate reproduce`: one JSON value with every claim, a table for people, files in a folder, plain errors."""

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate_lab.studies.study import reproduce as reproduce_study

runner = CliRunner()
KEYS = {"id", "source", "figure", "claim", "measured", "interval", "seeds", "verdict"}
KEYS |= {"reason", "why", "fitted", "tried", "before", "change"}
TINY = ["reproduce", "prb", "--quick", "--tuples", "1", "--seeds", "2"]


def check_claims(printed: dict[str, Any]) -> None:
    assert [claim["id"] for claim in printed["claims"]] == [f"PRB-C{number}" for number in range(1, 15)]
    for claim in printed["claims"]:
        assert set(claim) >= KEYS
        assert claim["verdict"] in ("reproduced", "refuted", "inconclusive")
        assert (claim["reason"] is None) == (claim["verdict"] == "reproduced")
        low, high = claim["interval"]
        assert low <= claim["value"] <= high


@pytest.mark.spark
def test_json_is_one_value_with_every_claim(spark: Any, tmp_path: Path) -> None:
    result = runner.invoke(app, [*TINY, "--json", "--out", str(tmp_path / "prb")])
    printed = json.loads(result.stdout)
    check_claims(printed)
    sizes = [printed[key] for key in ("study", "profile", "tuples_per_stream", "seeds")]
    assert sizes == ["prb", "quick", 1, 2]
    assert all(Path(name).is_file() for name in printed["files"])
    assert json.loads((tmp_path / "prb" / "claims.json").read_text())["claims"] == printed["claims"]


@pytest.mark.study
@pytest.mark.spark
def test_the_quick_study_takes_less_than_a_minute(spark: Any, tmp_path: Path) -> None:
    start = time.monotonic()
    result = runner.invoke(app, ["reproduce", "prb", "--quick", "--json", "--out", str(tmp_path)])
    assert time.monotonic() - start < 60
    check_claims(json.loads(result.stdout))


def test_unknown_study() -> None:
    result = runner.invoke(app, ["reproduce", "prp"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean 'prb'?" in result.stderr


@pytest.mark.parametrize("option", ["--seeds", "--tuples"])
def test_sizes_must_be_positive(option: str) -> None:
    assert runner.invoke(app, ["reproduce", "prb", option, "0"]).exit_code == 2


@pytest.fixture
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*given: Any) -> None:
        raise AssertionError("the runs have started")

    monkeypatch.setattr("headgate_lab.commands.reproduce.run_study", run)


@pytest.mark.usefixtures("no_runs")
@pytest.mark.parametrize("where", ["file", "file/below", "/proc/headgate", "/proc"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_runs(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = runner.invoke(app, [*TINY, "--out", str(tmp_path / where)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: --out {tmp_path / where}: cannot write there: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("master", ["foo://bar", "local[two]", "spark:/host", "yarn-client", "mesos://host:5050"])
def test_an_unknown_master(master: str, tmp_path: Path) -> None:
    result = runner.invoke(app, [*TINY, "--out", str(tmp_path), "--master", master])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: spark.master: '{master}' is not a Spark master; write local[*]")
    assert result.stderr.count("\n") == 1


def from_java() -> Py4JJavaError:
    error = SimpleNamespace(_target_id="o1", getMessage=lambda: "No free port.\nStack: ...")
    return Py4JJavaError("An error occurred", error)


MASTERS = [
    "local",
    "local[*]",
    "local[4, 2]",
    "local-cluster[2,1,1024]",
    "yarn",
    "spark://a:1,b:2",
    "k8s://https://c:3",
]


@pytest.mark.parametrize("error", [from_java(), PySparkException("No free port.\n")])
@pytest.mark.parametrize("master", MASTERS)
def test_a_spark_that_does_not_start(
    error: Exception, master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(builder: Any) -> None:
        raise error

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", start)
    result = runner.invoke(app, [*TINY, "--out", str(tmp_path), "--master", master])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: spark: Spark did not start on '{master}': No free port; check")
    assert result.stderr.count("\n") == 1


def test_help_shows_examples() -> None:
    shown = runner.invoke(app, ["reproduce", "--help"]).stdout
    assert "headgate reproduce prb --quick" in shown
    assert "--out" in shown


def test_a_study_that_fails_late_keeps_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headgate_lab.commands import reproduce
    from headgate_lab.studies.prb import STUDY

    def fails(point: Any) -> dict[str, Any]:
        return STUDY.run(point) if point["seed"] == 0 else {"value": 1 // 0}

    study = replace(STUDY, run=fails)
    monkeypatch.setattr(reproduce, "study_named", lambda name: study)
    monkeypatch.setattr(
        reproduce,
        "run_study",
        lambda study, profile, _, done: reproduce_study(study, profile, None, done),
    )
    result = runner.invoke(app, [*TINY, "--json", "--out", str(tmp_path)])
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert printed["incomplete"]
    assert "ZeroDivisionError" in printed["error"]
    kept = pq.read_table(tmp_path / "incomplete.parquet")
    assert kept.num_rows == len(STUDY.points(replace(STUDY.quick, tuples=1, seeds=2))) // 2
    assert set(kept.column("seed").to_pylist()) == {0}
    assert str(tmp_path / "incomplete.parquet") in result.stderr.replace("\n", "")
