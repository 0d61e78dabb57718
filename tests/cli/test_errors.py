"""Wrong input to the commands: one line on stderr, exit code 2, nothing on stdout, never a traceback."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app
from tests.application.apps import GOOD, line_of, write_app

runner = CliRunner()


@pytest.mark.parametrize("command", ["explain", "simulate"])
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    ("old", "new", "fragments"),
    [
        ("slots: 3", "slot: 3", ["slot", "did you mean 'slots'?"]),
        ("class: critical", "class: critcal", ["queries.fire.class", "did you mean 'critical'?"]),
        ('"temperature > 35"', '"temprature > 35"', ["operators.hot.where", "did you mean 'temperature'?"]),
        ("path: places.csv", "path: place.csv", ["tables.places.path", "did you mean 'places.csv'?"]),
        ("priority: 3", "priority: 0", ["classes.normal.priority", "above 0"]),
        ("cost: 20us", "cost: 20 parsecs", ["operators.hot.cost", "parsecs"]),
        ("seed: 5", "seed: 5\nslots: 4", ["slots: 4", "appears twice"]),
        ("streams:", "streams: [", ["not valid YAML"]),
        ("quantum: 0.05", "quantum: 0", ["policy.quantum", "above 0"]),
    ],
)
def test_wrong_file(tmp_path: Path, command: str, options: list[str], old: str, new: str, fragments: list[str]) -> None:
    text = GOOD.replace(old, new, 1)
    path = write_app(tmp_path, text)
    result = runner.invoke(app, [command, str(path), *options])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {path}:")
    assert result.stderr.count("\n") == 1
    if fragments[0] in text:
        assert result.stderr.startswith(f"error: {path}:{line_of(text, fragments[0])}: ")
        fragments = fragments[1:]
    for fragment in fragments:
        assert fragment in result.stderr


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (["--policy", "rrr"], ["--policy rrr", "did you mean 'rr'?"]),
        (["--policy", "rr:quantum=-1"], ["--policy rr:quantum=-1: policy.quantum", "above 0"]),
        (["--policy", "rr:quantum"], ["--policy rr:quantum", "not key=value"]),
        (["--policy", "rr:"], ["--policy rr:", "does not name a policy"]),
        (["--policy", "rr:quantum=["], ["--policy rr:quantum=[", "not valid YAML"]),
        (["--policy", ":"], ["does not name a policy"]),
        (["--slots", "0"], ["--slots 0", "above 0"]),
        (["--seed", "-1"], ["--seed -1", "at least 0"]),
        (["--set", "slots"], ["--set slots", "key=value"]),
        (["--set", "streams.click.source.rate=1"], ["--set streams.click", "did you mean 'clicks'?"]),
        (["--seconds", "0"], ["--seconds 0", "above 0"]),
        (["--seconds", "-1"], ["--seconds -1", "above 0"]),
        (["--seconds", "nan"], ["--seconds nan"]),
        (["--set", "streams.clicks.source.rows=null"], ["--set streams.clicks.source.rows=null", "endless"]),
    ],
)
def test_wrong_option(tmp_path: Path, options: list[str], fragments: list[str]) -> None:
    result = runner.invoke(app, ["simulate", str(write_app(tmp_path)), *options])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: --")
    assert all(fragment in result.stderr for fragment in fragments), result.stderr


def test_no_file(tmp_path: Path) -> None:
    result = runner.invoke(app, ["explain", str(tmp_path / "absent.yaml")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no such file" in result.stderr


def test_an_endless_stream_is_found_when_the_simulation_starts(tmp_path: Path) -> None:
    text = GOOD.replace(" rows: 10000,", "")
    path = write_app(tmp_path, text)
    result = runner.invoke(app, ["simulate", str(path)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {path}:{line_of(text, 'kind: feeder')}: streams.clicks.source")


def test_a_bug_is_not_dressed_up_as_a_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("headgate.api.application.read_draft", broken)
    result = runner.invoke(app, ["explain", str(write_app(tmp_path))])
    assert isinstance(result.exception, ValueError)
