"""Every study runs, with its smallest sizes: each claim is judged by finite numbers. Nightly; `make quick` runs a
small part of each study, in the test file of that study.

A new study is found by its line in the list of the command.
"""

import importlib
import math
from dataclasses import replace

import pytest

from headgate_lab.commands.reproduce import STUDIES
from headgate_lab.studies.study import reproduce

LONG = {"aqsios": "it has hundreds of runs, whatever their size"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak if n in LONG else pytest.mark.nightly) for n in STUDIES]
)
def test_every_claim_is_judged(name: str) -> None:
    study = importlib.import_module(f"headgate_lab.studies.{name}").STUDY
    seen: list[tuple[int, int]] = []
    smallest = replace(study.quick, tuples=1, seeds=2)
    outcome = reproduce(study, smallest, None, lambda done, of: seen.append((done, of)))
    assert seen[-1] == (len(outcome.results.rows), len(outcome.results.rows))
    assert [claim["id"] for claim in outcome.claims] == [claim.id for claim in study.claims]
    judged = [claim for claim in outcome.claims if claim["verdict"] != "inconclusive"]
    assert all(math.isfinite(number) for claim in judged for number in (claim["value"], *claim["interval"]))
    assert any(math.isfinite(claim["value"]) for claim in outcome.claims)
