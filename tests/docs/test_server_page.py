"""docs/server.md against a real server: its curl commands, its Python, its table of paths."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

import headgate as hg
from tests.docs.pages import ROOT, blocks
from tests.docs.test_docs import check_python

PAGE = ROOT / "docs" / "server.md"
pytestmark = pytest.mark.spark


def test_the_curl_commands_do_what_they_say(server: Any, client: hg.Client) -> None:
    (script,) = [block for block in blocks(PAGE, "sh") if "curl" in block]
    script = script.replace("http://127.0.0.1:8600", server.url)
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert client.queries()["large"].state == "running"
    assert client.classes()["critical"]["priority"] == 9


def test_the_python_does_what_it_says(server: Any, client: hg.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_URL", server.url)
    (code,) = blocks(PAGE, "python")
    check_python(PAGE, code)


def test_every_path_is_listed(server: Any) -> None:
    text = PAGE.read_text(encoding="utf-8")
    paths = [path.removeprefix("/v1").replace("{name}", "NAME") for path in server.app.openapi()["paths"]]
    same = {f"/{key}/NAME" for key in ("tables", "classes", "queries")}  # "and the like"
    assert {path for path in paths if f"`{path}`" not in text} <= same
