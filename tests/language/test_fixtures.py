"""Queries in, plans out: as they are written and as they are rewritten (see plans.py for how to write them anew)."""

from pathlib import Path

import pytest

from tests.language.plans import FOLDER, expected

FIXTURES = sorted(FOLDER.glob("*.cql"))


def test_there_are_fixtures() -> None:
    assert len(FIXTURES) > 40


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_plans(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == expected(file), "look at the difference, then: make it anew (plans.py)"
