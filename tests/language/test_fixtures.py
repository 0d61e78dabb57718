"""Fixtures: the plans of queries, as written and as rewritten (fixture_files.py regenerates them)."""

from pathlib import Path

import pytest

from tests.language.fixture_files import FOLDER, expected

FIXTURES = sorted(FOLDER.glob("*.cql"))


def test_there_are_fixtures() -> None:
    assert len(FIXTURES) > 40


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_plans(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == expected(file), "review the diff, then regenerate (fixture_files.py)"
