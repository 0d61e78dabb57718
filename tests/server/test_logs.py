"""The logs of a server: their form, and that neither tokens nor values of rows are in them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import headgate as hg
from headgate.cli.main import app as commands
from headgate.errors import ApplicationError, RowText
from headgate.server.logs import JsonLines, TextLines, set_up_logs

SECRET = "ann-4711"


@pytest.fixture
def logs(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What a server would log as JSON while the test runs."""
    root, ours, out = logging.getLogger(), logging.getLogger("headgate"), io.StringIO()
    handlers, levels = root.handlers[:], (root.level, ours.level)
    set_up_logs("json", out)
    yield out
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def record(message: str, *args: object, **fields: object) -> logging.LogRecord:
    made = logging.getLogger("headgate.test").makeRecord(
        "headgate.test", logging.WARNING, "file.py", 1, message, args, None, extra=fields or None
    )
    return made


def test_a_line_of_each_form() -> None:
    made = record("query %s has %d rows", "large", 3, query="large", share=0.5)
    found = json.loads(JsonLines().format(made))
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "warning",
        "logger": "headgate.test",
        "message": "query large has 3 rows",
        "query": "large",
        "share": 0.5,
    }
    assert TextLines().format(made).endswith("Z WARNING headgate.test: query large has 3 rows")


@given(st.text(), st.text())
def test_whatever_is_logged_is_one_line_of_json(message: str, value: str) -> None:
    made = record("%s", message, value=value)
    text = JsonLines().format(made)
    assert "\n" not in text
    assert json.loads(text)["value"] == value


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_values_of_rows_and_tokens_are_left_out(form: logging.Formatter) -> None:
    cast = RowText(f"[CAST_INVALID_INPUT] The value '{SECRET}' cannot be cast")
    text = form.format(record("query q stopped: %s", cast))
    assert SECRET not in text
    assert "[CAST_INVALID_INPUT]" in text
    assert SECRET not in form.format(record("%s", RowText(SECRET)))
    assert SECRET not in form.format(record("failed: %s", ValueError(SECRET)))
    assert "app.yaml" in form.format(record("wrong: %s", ApplicationError("app.yaml", "wrong")))
    token = "hg_" + "a1B2-" * 8
    assert token not in form.format(record("%s", f"Bearer {token}", header=token))


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_a_failure_has_its_place_and_not_its_text(form: logging.Formatter) -> None:
    made = record("it failed")
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        made.exc_info = (ValueError, error, error.__traceback__)
    text = form.format(made)
    assert SECRET not in text
    assert "ValueError" in text
    assert "test_a_failure_has_its_place" in text


@pytest.mark.parametrize(("terminal", "form"), [(True, TextLines), (False, JsonLines)])
def test_the_form_suits_where_it_goes(terminal: bool, form: type, logs: io.StringIO) -> None:
    class Out(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    set_up_logs(None, Out())
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler.formatter, form)


@pytest.mark.spark
def test_a_server_logs_changes_and_failures_and_no_rows(server: Any, client: hg.Client, logs: io.StringIO) -> None:
    client.stream("clicks", "user STRING, price DOUBLE")
    client.query("numbers", "SELECT CAST(user AS INT) AS n FROM clicks")
    with pytest.raises(ApplicationError):
        client.push("clicks", [(SECRET, "dear")])
    client.push("clicks", [(SECRET, 1.0)])
    while client.queries()["numbers"].state == "running":
        pass
    for listed in ("/v1/queries", "/v1/overview", "/v1/report", "/v1/audit", "/metrics"):
        answer = httpx.get(f"{server.url}{listed}").text
        assert SECRET not in answer, listed
        assert ("CAST_INVALID_INPUT" in answer) == (listed in ("/v1/queries", "/v1/overview", "/v1/report")), listed
    for own in ("/v1/queries/numbers", "/v1/queries/numbers/overview"):
        assert SECRET in httpx.get(f"{server.url}{own}").json()["error"]
    assert SECRET not in _run_command("list", server.url)
    assert SECRET in _run_command("list queries numbers", server.url)
    client.remove_query("numbers")
    token = "hg_" + "x" * 43
    httpx.get(f"{server.url}/v1/overview", headers={"Authorization": f"Bearer {token}"})
    found = lines(logs)
    assert any(line["logger"] == "headgate.audit" and line["what"] == "POST /v1/streams" for line in found)
    assert any(line.get("query") == "numbers" and line["level"] == "error" for line in found)
    assert SECRET not in logs.getvalue()
    assert token not in logs.getvalue()


def _run_command(words: str, url: str) -> str:
    done = CliRunner().invoke(commands, words.split(), env={"HEADGATE_URL": url})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_file_of_an_operator_is_not_quoted(tmp_path: Path, logs: io.StringIO) -> None:
    file = tmp_path / "clicks.csv"
    file.write_text(f"user,price\n{SECRET},{SECRET}\nbob,2.0\n")
    app = hg.Application()
    app.stream("clicks", "user STRING, price DOUBLE", source=hg.sources.Csv(path=str(file)))
    app.query("all", "SELECT user, price FROM clicks")
    app.simulate()
    assert "the row is put aside" in logs.getvalue()
    assert SECRET not in logs.getvalue()
