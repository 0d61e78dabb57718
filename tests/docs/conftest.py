"""Fixtures for the tests that execute the docs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.pages import ROOT


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, a new folder with a copy of the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
