"""`headgate explain`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.application.explain import AssumedStats
from headgate.application.load import load_application
from headgate.charts.progress_charts import draw_progress_charts
from headgate.cli.main import app
from headgate.errors import ApplicationError
from headgate.policies.explanations import explain_charts
from tests.application.apps import write_app

runner = CliRunner()
EXAMPLE = Path(__file__).parents[2] / "examples" / "sensors.yaml"


def test_text(tmp_path: Path) -> None:
    shown = runner.invoke(app, ["explain", "--no-check", str(write_app(tmp_path))]).stdout
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
    found = json.loads(runner.invoke(app, ["explain", "--no-check", str(write_app(tmp_path)), *options]).stdout)
    assert found["policy"] == {"name": "fifo", "parameters": {"unit": "query"}}
    assert (found["slots"], found["seed"]) == (7, 9)


def test_json_is_one_value() -> None:
    result = runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--json"])
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert set(found["queries"]["climate"]) >= {"operators", "paths", "segments"}


def test_markup_in_a_file_is_only_text(tmp_path: Path) -> None:
    changes = ["--set", "queries.more.operators.few.where=k = 3 AND '[/bold]' <> '[red]'"]
    result = runner.invoke(app, ["explain", "--no-check", str(write_app(tmp_path)), *changes])
    assert result.exit_code == 0
    assert "'[/bold]' <> '[red]'" in result.stdout


def explained(*options: str) -> dict[str, Any]:
    return json.loads(runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--json", *options]).stdout)


def test_a_policy_is_explained_only_when_asked_for() -> None:
    found = explained("--policy", "pcs")
    assert found.pop("schedule")["policy"] == "pcs"
    found["policy"] = explained()["policy"]
    assert found == explained()


def test_text_of_a_policy() -> None:
    shown = runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--policy", "threshold:memory=1000000"]).stdout
    for fragment in (
        "saving begins at 625,000 bytes in queues and ends at 250,000",
        "normal",
        "not known",
        "2,292,000",
    ):
        assert fragment in shown, fragment
    shown = runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--policy", "chain"]).stdout
    assert "lower envelope" in shown
    assert (
        "part of what waits" in runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--policy", "mprr"]).stdout
    )
    assert "classes take turns" in runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--policy", "cqc"]).stdout


def drawn(folder: Path, *options: str) -> Any:
    return runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--plot", str(folder), *options])


def test_plot_names_a_folder_as_in_other_commands(tmp_path: Path) -> None:
    result = drawn(tmp_path / "charts", "--json")
    assert result.exit_code == 0
    assert "used#1" not in result.stderr  # with --json, nothing but JSON is printed
    assert json.loads(result.stdout)
    assert sorted(path.name for path in (tmp_path / "charts").iterdir()) == ["progress.png", "progress.svg"]
    again = drawn(tmp_path / "again")
    assert (tmp_path / "charts/progress.svg").read_bytes() == (tmp_path / "again/progress.svg").read_bytes()
    assert "not drawn, because a cost is not declared: used#1" in again.stderr
    assert str(tmp_path / "again/progress.png") in again.stdout


@pytest.mark.parametrize(
    ("name", "fragment"), [("a.svg", "--plot names a folder; write --plot "), ("file/a", "the folder cannot be made")]
)
def test_what_is_not_a_folder_is_refused(tmp_path: Path, name: str, fragment: str) -> None:
    (tmp_path / "file").touch()
    result = drawn(tmp_path / name)
    assert result.exit_code == 2
    assert fragment in result.stderr


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_there_are_no_empty_axes(count: int) -> None:
    """Five charts used to get six axes, the last of them empty."""
    plan = load_application(EXAMPLE).plan
    chart = next(one for one in explain_charts(plan, AssumedStats(plan)) if one["points"])
    figure = draw_progress_charts([chart] * count)
    assert len(figure.axes) == count
    assert all(axes.lines for axes in figure.axes)


def test_nothing_to_draw(tmp_path: Path) -> None:
    costs = ("queries.fire.operators.hot.cost=null", "queries.some.operators.parts.cost=null")
    changes = [part for cost in costs for part in ("--set", cost)]
    result = runner.invoke(
        app, ["explain", "--no-check", str(write_app(tmp_path)), "--plot", str(tmp_path / "a"), *changes]
    )
    assert result.exit_code == 2
    assert "declare the cost of every operator" in result.stderr


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = runner.invoke(app, ["explain", "--no-check", str(EXAMPLE), "--plot", str(tmp_path / "a")])
    assert result.exit_code == 2
    assert "matplotlib is not installed; pip install 'headgate[plot]'" in result.stderr


def test_help_has_examples() -> None:
    shown = runner.invoke(app, ["explain", "--help"], env={"COLUMNS": "120"}).stdout
    assert "--plot" in shown
    assert "--policy chain --plot out/charts" in shown


BAD = """
streams:
  s: {schema: "k INT, v DOUBLE", source: {kind: feeder, rate: 1, rows: 1}}
queries:
  good: {cql: "SELECT k FROM s"}
  bad:
    cql: |
      SELECT k,
             %s AS x
      FROM s
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("no_such_function(v)", "no_such_function"),
        ("map('a')", "WRONG_NUM_ARGS"),
        ("unnest(array(1, 2, 3))", "unnest"),
        ("make_ym_interval(k, 1)", "CAST(... AS STRING)"),
        ("collate('a', 'nosuch')", "COLLATION_INVALID_NAME"),
        ("array()", "it holds a value of no type; write CAST(... AS type)"),
        ("array(map('a'), s.v)", "WRONG_NUM_ARGS"),
    ],
)
def test_a_mistake_that_only_spark_finds_has_a_place(spark: Any, tmp_path: Path, text: str, fragment: str) -> None:
    path = write_app(tmp_path, BAD % text)
    result = runner.invoke(app, ["explain", str(path), "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {path}:7: queries.bad.cql: line 2, character 8: "), result.stderr
    assert fragment in result.stderr
    assert result.stderr.count("\n") == 1


PLACES = """
streams:
  s: {schema: "k INT, v DOUBLE", source: {kind: feeder, rate: 1, rows: 1}}
tables:
  p: {kind: csv, path: places.csv, schema: "location STRING, floor INT"}
queries:
  bad:
    cql: |
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "place", "fragment"),
    [
        ("SELECT k FROM s\nWHERE make_dt_interval(k)", "line 2, character 7: ", "FILTER_NOT_BOOLEAN"),
        ("SELECT k FROM s JOIN p\n ON none(s.k) = p.floor", "line 2, character 5: ", "`none`"),
        ("SELECT k FROM s JOIN p\n ON s.k = floor AND none(v, floor)", "line 2, character 21: ", "`none`"),
        (
            "SELECT count(*) AS n FROM s\nGROUP BY map(k, v)",
            "",
            "type MAP cannot be compared; use map_entries",
        ),
    ],
)
def test_conditions_and_groups_that_only_spark_can_refuse(
    spark: Any, tmp_path: Path, text: str, place: str, fragment: str
) -> None:
    indented = "".join(f"      {line}\n" for line in text.splitlines())
    path = write_app(tmp_path, PLACES + indented)
    result = runner.invoke(app, ["explain", str(path), "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    message = result.stderr.splitlines()[-1]
    assert message.startswith(f"error: {path}:8: queries.bad.cql: {place}"), result.stderr
    assert fragment in message
    assert "_sequence" not in message


@pytest.mark.spark
def test_spark_checks_without_reading_anything(spark: Any, tmp_path: Path) -> None:
    found = json.loads(runner.invoke(app, ["explain", str(write_app(tmp_path, BAD % "k + 1")), "--json"]).stdout)
    assert found["checked"] is True


def test_without_java_it_says_that_spark_has_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> None:
        raise ApplicationError("java", "there is no Java", "install one")

    monkeypatch.setattr("headgate.runtime.spark.launch.settings.find_java", no_java)
    result = runner.invoke(app, ["explain", str(EXAMPLE), "--json"])
    assert json.loads(result.stdout)["checked"] is False
    assert result.stderr == "Spark has not checked the queries: there is no Java; install one\n"
