"""The examples in the docstrings of the public names run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import headgate as hg
from headgate.policies.registry import POLICIES

NAMES = ("Application", "Explanation", "Report", "load", "register")


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    before = set(POLICIES)
    (found,) = [one for one in doctest.DocTestFinder(recurse=False).find(getattr(hg, name), name) if one.examples]
    failed, tried = doctest.DocTestRunner().run(found)
    for policy in set(POLICIES) - before:
        del POLICIES[policy]
    assert tried > 1
    assert failed == 0
