"""The verdicts of the last published runs, kept beside the studies."""

import importlib
from typing import get_args

import pytest

from headgate_lab.studies.before import read_before
from headgate_lab.studies.claims import Verdict


@pytest.mark.parametrize("name", ["prb", "paths", "aqsios"])
def test_every_claim_had_a_verdict(name: str) -> None:
    study = importlib.import_module(f"headgate_lab.studies.{name}").STUDY
    before = read_before(name)
    assert list(before.verdicts) == [claim.id for claim in study.claims]
    assert set(before.verdicts.values()) <= set(get_args(Verdict))
    assert set(before.changes) <= set(before.verdicts)
    assert before.found
