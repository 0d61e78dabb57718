"""Dead letters: one file, made with the first letter, counted whatever the disk does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.connect.dead_letters import DeadLetters
from headgate.connect.sinks.lock import OutputLock


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_nothing_is_written_of_nothing(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "in" / "dead.jsonl")
    letters.begin()
    letters.close()
    assert letters.report() == {"rows": 0, "path": None, "streams": {}, "queries": {}}
    assert not list(tmp_path.iterdir())


def test_letters_say_whence_and_why(tmp_path: Path) -> None:
    path = tmp_path / "in" / "dead.jsonl"
    letters = DeadLetters(path)
    letters.put("malformed", "s", 7, 'x,"y', "is torn")
    letters.put("failed", "s", 3, {"k": 1, "t": "é"}, "Division by zero", "q")
    report = letters.report()
    letters.close()
    assert report == {"rows": 2, "path": str(path), "streams": {"s": 2}, "queries": {"q": 1}}
    assert lines(path) == [
        {"kind": "malformed", "stream": "s", "position": 7, "reason": "is torn", "row": 'x,"y'},
        {
            "kind": "failed",
            "stream": "s",
            "position": 3,
            "query": "q",
            "reason": "Division by zero",
            "row": {"k": 1, "t": "é"},
        },
    ]
    assert [entry.name for entry in path.parent.iterdir()] == ["dead.jsonl"]


def test_a_run_replaces_the_letters_of_the_run_before(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_text("old\n")
    letters = DeadLetters(path)
    letters.begin()
    assert not path.exists()
    letters.put("malformed", "s", 1, "x", "is torn")
    letters.close()
    assert len(lines(path)) == 1


def test_a_run_that_goes_on_adds_to_the_letters_of_the_run_before(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    for line, left in enumerate(("", '{"a": 1}\n{"b": 2}\n', '{"a": 1}\n{"b": 2}\n{"half')):
        path.write_text(left)
        letters = DeadLetters(path)
        letters.begin(resumes=True)
        letters.put("malformed", "s", line, "x", "is torn")
        letters.close()
        assert [*lines(path)][:-1] == [{"a": 1}, {"b": 2}][: 2 * bool(left)]
        assert lines(path)[-1]["position"] == line
    path.unlink()
    letters = DeadLetters(path)
    letters.begin(resumes=True)
    letters.put("malformed", "s", 7, "x", "is torn")
    letters.close()
    assert len(lines(path)) == 1


def test_letters_of_another_run_are_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_text("of another\n")
    other = OutputLock(path, "other.yaml")
    letters = DeadLetters(path)
    letters.begin()
    letters.put("malformed", "s", 1, "x", "is torn")
    letters.close()
    other.release()
    assert path.read_text() == "of another\n"
    assert letters.report()["rows"] == 1
    assert "dead letters are counted, but no longer written: another run writes to" in caplog.text


def test_a_letter_that_comes_after_the_end_is_counted(tmp_path: Path) -> None:
    """Of a call that was cut off, and came back when all was closed: it ended with a traceback."""
    letters = DeadLetters(tmp_path / "dead.jsonl")
    for number in (1, 2):
        letters.put("failed", "s", number, {"k": 1}, "Division by zero", "q")
        letters.close()
    assert letters.report()["rows"] == 2
    assert len(lines(tmp_path / "dead.jsonl")) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["dead.jsonl"]
