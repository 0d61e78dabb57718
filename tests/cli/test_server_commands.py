"""The commands against a real server: submit, list, results, set, stop, top; and when there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import headgate as hg
from headgate.cli.main import app

FILE = """
streams: {clicks: {schema: "user STRING, price DOUBLE", source: {kind: push}}}
classes: {critical: {priority: 6}, reports: {priority: 1}}
queries:
  large: {cql: "SELECT user, price FROM clicks WHERE price > 10", class: critical}
slots: 3
"""
NOWHERE = "http://127.0.0.1:9"
COMMANDS = (
    ["submit", "--name", "q", "--cql", "SELECT 1"],
    ["list"],
    ["stop", "q"],
    ["results", "q"],
    ["results", "q", "--follow"],
    ["set", "class", "c", "priority=1"],
    ["set", "query", "q", "class=c"],
    ["set", "policy", "rr"],
    ["top"],
)


def run(*words: str, url: str | None = None) -> Result:
    server = [] if url is None else ["--server", url]
    return CliRunner().invoke(app, [*words, *server])


@pytest.fixture
def submitted(server: Any, client: hg.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An application file that the server has."""
    monkeypatch.setenv("HEADGATE_URL", server.url)
    file = tmp_path / "app.yaml"
    file.write_text(FILE, encoding="utf-8")
    assert run("submit", str(file)).exit_code == 0
    return file


def push_one(client: hg.Client) -> None:
    client.push("clicks", [("ann", 20.5), ("bob", 1.0)])
    while not client.results("large").rows:
        time.sleep(0.02)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_server_is_one_line(words: list[str]) -> None:
    done = run(*words, url=NOWHERE)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {NOWHERE}: no server can be reached")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "class", "c", "prio=1"], "did you mean 'priority'?"),
        (["set", "query", "q", "clas=c"], "did you mean 'class'?"),
        (["set", "query", "q", "class"], "is not key=value"),
        (["set", "query", "q", "qos={"], "is not valid YAML"),
        (["submit"], "give an application file, or --name and --cql"),
        (["submit", "--name", "q"], "give an application file, or --name and --cql"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_without_a_server(words: list[str], said: str) -> None:
    done = run(*words, url=NOWHERE)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.spark
def test_submit(submitted: Path, client: hg.Client) -> None:
    done = run("submit", str(submitted))
    assert done.stdout.splitlines() == [
        "unchanged  streams.clicks",
        "unchanged  classes.critical",
        "unchanged  classes.reports",
        "unchanged  queries.large",
    ]
    assert "left as the server has them: slots" in done.stderr
    submitted.write_text(FILE.replace("> 10", "> 11"), encoding="utf-8")
    done = run("submit", str(submitted))
    assert done.exit_code == 2
    assert "--replace" in done.stderr
    done = run("submit", str(submitted), "--replace", "--json")
    assert {"key": "queries", "name": "large", "outcome": "replaced"} in json.loads(done.stdout)
    done = run("submit", "--name", "small", "--cql", "SELECT user FROM clicks WHERE price < 1", "--class", "reports")
    assert done.stdout == "added      queries.small\n"
    done = run("submit", "--name", "wrong", "--cql", "SELECT usr FROM clicks", "--class", "reports")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "queries.wrong.cql" in done.stderr


@pytest.mark.spark
def test_list(submitted: Path, client: hg.Client) -> None:
    client.table("limits", [{"user": "ann"}])
    assert "large  running  critical" in " ".join(run("list").stdout.split("\n")[2:3])
    assert json.loads(run("list", "--json").stdout)["large"]["section"]["class"] == "critical"
    assert "push" in run("list", "streams").stdout
    assert "limits" in run("list", "tables").stdout
    classes = run("list", "classes").stdout
    assert classes.index("critical") < classes.index("reports")
    one = run("list", "queries", "large").stdout
    assert "cql: " in one
    assert "small" not in one
    assert "known queries: " in run("list", "queries", "larg").stderr


@pytest.mark.spark
def test_nothing_to_list(server: Any, client: hg.Client) -> None:
    assert run("list", url=server.url).stdout == "there are no queries\n"
    assert json.loads(run("list", "--json", url=server.url).stdout) == {}


@pytest.mark.spark
def test_results(submitted: Path, client: hg.Client) -> None:
    push_one(client)
    lines = run("results", "large").stdout.splitlines()
    assert [line.split() for line in (lines[0], lines[2])] == [["user", "price"], ["ann", "20.5"]]
    assert json.loads(run("results", "large", "--json").stdout) == [{"user": "ann", "price": 20.5}]
    assert json.loads(run("results", "large", "--json", "--last", "0").stdout) == []
    assert run("results", "larg").exit_code == 2


def started(*words: str) -> subprocess.Popen[str]:
    """A command in a process of its own. Signals are as at a terminal: a shell in the background has Ctrl-C ignored."""
    return subprocess.Popen(
        [sys.executable, "-m", "headgate", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.spark
def test_follow_until_ctrl_c(submitted: Path, client: hg.Client) -> None:
    push_one(client)
    follower = started("results", "large", "--follow", "--last", "1", "--json")
    assert follower.stdout is not None
    assert json.loads(follower.stdout.readline()) == {"user": "ann", "price": 20.5}
    client.push("clicks", [("eve", 30.0)])
    assert json.loads(follower.stdout.readline()) == {"user": "eve", "price": 30.0}
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=30)
    assert (follower.returncode, out, err) == (0, "", "")


@pytest.mark.spark
def test_follow_ends_with_the_query(submitted: Path, client: hg.Client) -> None:
    push_one(client)
    follower = started("results", "large", "--follow", "--last", "1")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "user\tprice\n"
    assert follower.stdout.readline() == "ann\t20.5\n"
    client.stop_query("large")
    assert follower.communicate(timeout=30) == ("", "")
    assert follower.returncode == 0


@pytest.mark.spark
def test_a_closed_pipe_ends_quietly_though_nothing_comes(submitted: Path, client: hg.Client) -> None:
    push_one(client)
    follower = started("results", "large", "--follow", "--last", "1")
    assert follower.stdout is not None
    assert follower.stderr is not None
    follower.stdout.readline()
    follower.stdout.close()
    assert follower.wait(30) == 0
    assert follower.stderr.read() == ""
    follower.stderr.close()


@pytest.mark.spark
def test_set(submitted: Path, client: hg.Client) -> None:
    assert run("set", "class", "critical", "priority=9").stdout == "class critical: priority 9\n"
    assert client.classes()["critical"]["priority"] == 9
    qos = "qos={latency: {priority: best-effort, points: [[0, 1], [60, 1]]}}"
    assert run("set", "query", "large", "class=reports", "tolerance=0.2", qos).exit_code == 0
    section = client.queries()["large"].section
    assert (section["class"], section["tolerance"]) == ("reports", 0.2)
    assert run("set", "query", "large", "tolerance=null", "qos=null").exit_code == 0
    assert "qos" not in client.queries()["large"].section
    assert run("set", "policy", "rr", "unit=query").exit_code == 0
    assert client.policy["name"] == "rr"
    done = run("set", "policy", "round")
    assert done.exit_code == 2
    assert "policy" in done.stderr
    done = run("set", "class", "nobody", "priority=9")
    assert (done.exit_code, done.stdout) == (2, "")


@pytest.mark.spark
def test_stop(submitted: Path, client: hg.Client) -> None:
    done = run("stop", "large", "nope")
    assert done.exit_code == 2
    assert done.stdout == "stopped  large\n"
    assert "there is no 'nope'" in done.stderr
    assert run("stop", "large").exit_code == 2  # it does not run
    assert json.loads(run("stop", "large", "--remove", "--json").stdout) == {"large": "removed"}
    assert client.queries() == {}


@pytest.mark.spark
def test_top_once(submitted: Path, client: hg.Client) -> None:
    text = run("top", "--once").stdout
    assert text.startswith("mbd")
    assert "critical" in text
    assert "large" in text
    assert json.loads(run("top", "--json").stdout)["queries"]["large"]["state"] == "running"
