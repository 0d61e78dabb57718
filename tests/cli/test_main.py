"""The command itself: help, version, and how fast it starts."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate import __version__
from headgate.cli.main import app
from tests.application.apps import GOOD, write_app

runner = CliRunner()
ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "pyarrow", "pydantic", "pyspark", "sqlglot", "yaml")


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"headgate {__version__}\n")


@pytest.mark.parametrize("command", ["simulate", "explain", "policies", "bench"])
def test_help_has_examples(command: str) -> None:
    result = runner.invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"headgate {command}" in result.stdout
    assert command in runner.invoke(app, ["--help"]).stdout


def test_no_command_shows_the_help() -> None:
    assert "explain" in runner.invoke(app, []).output


def test_help_loads_nothing_heavy() -> None:
    """Loaded modules rather than seconds: a busy machine must not fail the test."""
    code = f"import sys, headgate.cli.main; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ("streams:", "strems:", "did you mean 'streams'?"),
        # sqlglot prints a message of its own about these two, which the user must not see
        ('"k INT, v DOUBLE"', '"k INT) x"', "cannot read the schema"),
        ('"k = 3"', '"DROP )"', "cannot read"),
    ],
)
def test_a_real_process_reports_an_error_in_one_line(tmp_path: Path, old: str, new: str, fragment: str) -> None:
    path = write_app(tmp_path, GOOD.replace(old, new, 1))
    command = [sys.executable, "-m", "headgate.cli.main", "explain", str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {path}:")
    assert fragment in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_reader_of_a_pipe_may_stop_early() -> None:
    command = f"{sys.executable} -m headgate.cli.main explain examples/sensors.yaml --no-check --json | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
    assert (result.stdout, result.stderr) == ("{\n", "")


NOISY = """
import os
from headgate.cli.output import print_json, one_line_errors

@one_line_errors
def command(as_json=False):
    print("a library")
    os.system("echo a child")
    os.write(1, b"a JVM\\n")
    print_json({"answer": 42})
    os.system("echo a child that ends late")

command(as_json=True)
print("after it")
"""


def test_only_json_is_on_stdout_whatever_else_is_printed() -> None:
    """All of the noise used to be on stdout too."""
    result = subprocess.run([sys.executable, "-c", NOISY], capture_output=True, text=True, check=True)
    assert result.stdout == '{\n  "answer": 42\n}\nafter it\n'
    for noise in ("a library", "a child", "a JVM", "a child that ends late"):
        assert f"{noise}\n" in result.stderr


def test_the_reader_of_piped_json_may_stop_early() -> None:
    command = f"{sys.executable} -m headgate.cli.main policies --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("[0\n", "")
