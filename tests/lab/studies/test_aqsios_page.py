"""docs/studies-aqsios.md says what the AQSIOS study says: its notes, and each claim with its figure and text."""

from __future__ import annotations

from pathlib import Path

from headgate_lab.studies.aqsios import STUDY

PAGE = (Path(__file__).parents[3] / "docs" / "studies-aqsios.md").read_text(encoding="utf-8").splitlines()


def test_the_notes_are_those_of_the_study() -> None:
    assert tuple(line.removeprefix("* ") for line in PAGE if line.startswith("* ")) == STUDY.notes


def test_the_claims_are_those_of_the_study() -> None:
    below = PAGE[PAGE.index("## Claims") :]
    end = next((at for at, line in enumerate(below) if at and line.startswith("## ")), len(below))
    header, _rule, *claims = [
        tuple(cell.strip() for cell in line.split("|")[1:4]) for line in below[:end] if line.startswith("| ")
    ]
    assert header == ("id", "figure", "claim")
    assert claims == [(claim.id, claim.figure, claim.text) for claim in STUDY.claims]
