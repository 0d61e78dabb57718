"""A run must not replace any of the files that the application consists of."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.application.load import load_application
from headgate.errors import ApplicationError

FILE = """\
streams:
  s: {schema: "k INT", source: {kind: json, path: rows.jsonl}}
tables:
  t: {kind: csv, path: out/part-00000.csv, schema: "k INT"}
extensions: [own.py]
queries:
  q: {cql: SELECT k FROM s, sink: {kind: csv, path: results.csv}}
"""


def problem(folder: Path, text: str, name: str = "app.yaml", *changes: str) -> str:
    (folder / "rows.jsonl").touch()
    (folder / "own.py").touch()
    (folder / "out").mkdir()
    (folder / "out" / "part-00000.csv").write_text("k\n")
    (folder / name).write_text(text)
    with pytest.raises(ApplicationError) as caught:
        load_application(folder / name, changes)
    return str(caught.value).removeprefix(f"{folder / name}:")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("app.yaml", "'app.yaml' is the application file"),
        ("out/../app.yaml", "'app.yaml' is the application file"),
        ("own.py", "'own.py' is an extension"),
        ("rows.jsonl", "'rows.jsonl' is the file of stream 's'"),
        ("out/part-00000.csv", "'part-00000.csv' is the file of table 't'"),
    ],
)
def test_dead_letters_replace_nothing_that_is_read(tmp_path: Path, path: str, expected: str) -> None:
    replaced = f"dead_letters: {expected}, which the dead letters would replace; write them elsewhere"
    assert problem(tmp_path, f"{FILE}dead_letters: {path}\n") == f"8: {replaced}"


def test_dead_letters_replace_no_results(tmp_path: Path) -> None:
    assert "query 'q' also writes to 'results.csv'" in problem(tmp_path, f"{FILE}dead_letters: results.csv\n")


def test_an_override_is_blamed_for_its_path(tmp_path: Path) -> None:
    message = problem(tmp_path, FILE, "app.yaml", "dead_letters=app.yaml")
    assert message.startswith("--set dead_letters=app.yaml: ")


def test_a_link_to_the_application_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "app.yaml")
    assert "'app.yaml' is the application file" in problem(tmp_path, f"{FILE}dead_letters: link.jsonl\n")


def test_dead_letters_beside_the_file_replace_no_source(tmp_path: Path) -> None:
    """It is natural to read the dead letters of an earlier run, but from a file with another name."""
    text = FILE.replace("rows.jsonl", "again.dead-letters.jsonl")
    (tmp_path / "again.dead-letters.jsonl").touch()
    assert "'again.dead-letters.jsonl' is the file of stream 's', which the dead letters" in problem(
        tmp_path, text, "again.yaml"
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [("app.json", "'app.json' is the application file"), ("out", "'part-00000.csv' is the file of table 't'")],
)
def test_results_replace_nothing_that_is_read(tmp_path: Path, path: str, expected: str) -> None:
    text = FILE.replace("{kind: csv, path: results.csv}", f"{{kind: json, path: {path}}}")
    assert f"queries.q.sink.path: {expected}, which the results would" in problem(tmp_path, text, "app.json")
