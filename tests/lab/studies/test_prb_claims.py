"""The claims of the PRB study, judged on made-up results: like the paper's, or against a claim."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.prb import STUDY
from headgate_lab.studies.study import Profile

Row = dict[str, Any]
PROFILE = Profile("made up", tuples=10, seeds=4)
IDS = [f"PRB-C{number}" for number in range(1, 15)]


def as_the_paper_says(row: Row) -> Row:
    """What a run would have measured in the paper's world, up to a little noise by seed."""
    if row["workload"] == "tree":
        measured = _tree(row)
    else:
        theta = row["theta"]
        falling = 400 * (1 - 0.5 * theta)
        factor = {"fifo": 1.5, "rr": 2.0 - 1.2 * theta, "rb": 1.0, "prb": 0.95 - theta / 6}[row["policy"]]
        measured = {"mean": falling * factor, "work": 50.0}
    noise = 1 + 0.001 * (row["seed"] - 1.5)
    return row | {name: value * noise for name, value in measured.items()}


def _tree(row: Row) -> Row:
    base = {100.0: 700 - 80 * row["depth"] + 5 * row["count"], 300.0: 120.0}.get(row["cost"], 150.0)
    saved = 0.08 - 0.01 * abs(row["depth"] - 4) - 0.0001 * abs(row["count"] - 9)
    if row["cost"] == 300.0:
        saved = 0.7
    factor = {"rr": 0.9 if row["cost"] == 300.0 else 2.0, "rb": 1.0, "prb": 1 - saved}[row["policy"]]
    found = {"mean": base * factor, "work": 70.0}
    if row["traced"]:
        found["preemptions"] = 0.1
    return found


def judged(world: Callable[[Row], Row]) -> dict[str, Row]:
    results = SweepResults([world(point) for point in STUDY.points(PROFILE)])
    return {claim.id: claim.judged(results) for claim in STUDY.claims}


def verdicts(world: Callable[[Row], Row]) -> dict[str, str]:
    return {name: claim["verdict"] for name, claim in judged(world).items()}


def test_every_claim_is_there() -> None:
    assert [claim.id for claim in STUDY.claims] == IDS


def test_every_claim_holds_in_the_papers_world() -> None:
    assert set(verdicts(as_the_paper_says).items()) == {(name, "reproduced") for name in IDS}


def changed(row: Row, when: bool, **factors: float) -> Row:
    return row | {name: row[name] * factor for name, factor in factors.items()} if when else row


AGAINST: dict[str, Callable[[Row], bool]] = {
    "PRB-C1": lambda row: row.get("theta") == 0.9 and row["policy"] == "fifo",
    "PRB-C2": lambda row: row.get("theta") == 0.9 and row["policy"] == "rr",
    "PRB-C3": lambda row: row.get("theta") == 0.45 and row["workload"] == "cost" and row["policy"] == "prb",
    "PRB-C4": lambda row: row.get("theta") == 0.9 and row["workload"] == "cost" and row["policy"] == "rb",
    "PRB-C5": lambda row: row["workload"] == "selectivity" and row["policy"] == "prb",
    "PRB-C6": lambda row: row.get("depth") == 6,
    "PRB-C7": lambda row: row.get("depth") == 2 and row["policy"] == "rb",
    "PRB-C8": lambda row: row.get("count") == 16,
    "PRB-C9": lambda row: row.get("count") == 32 and row["policy"] == "rb",
    "PRB-C10": lambda row: row.get("cost") == 50.0 and row["policy"] == "prb",
    "PRB-C11": lambda row: row.get("cost") == 300.0 and row["policy"] == "rr",
    "PRB-C13": lambda row: row.get("cost") == 300.0 and row["policy"] == "rr",
    "PRB-C14": lambda row: row.get("cost") == 300.0 and row["policy"] == "prb",
}


@pytest.mark.parametrize("name", AGAINST)
def test_a_world_against_a_claim_refutes_it(name: str) -> None:
    """One policy or one value is ten times worse than in the paper."""
    assert verdicts(lambda row: changed(as_the_paper_says(row), AGAINST[name](row), mean=10.0))[name] == "refuted"


# Worlds where ends and trend are as in the paper, but a dent in a curve or a change that is too small refutes a claim.
DENTED: dict[str, tuple[Callable[[Row], bool], str, float]] = {
    "PRB-C4": (lambda row: row.get("theta") == 0.45 and row["policy"] == "prb", "mean", 1.08),
    "PRB-C5": (lambda row: row.get("theta") == 0.45 and row["policy"] == "prb", "mean", 1.08),
    "PRB-C7": (lambda row: row.get("depth") == 2 and row["policy"] == "prb", "mean", 1.02),
    "PRB-C9": (lambda row: row.get("count") in (4, 8, 16) and row["policy"] == "prb", "mean", 1.01),
    "PRB-C13": (lambda row: row.get("cost") == 300.0 and row["policy"] == "rr", "work", 0.7),
}


@pytest.mark.parametrize("name", DENTED)
def test_a_dent_refutes(name: str) -> None:
    where, measure, factor = DENTED[name]
    found = judged(lambda row: changed(as_the_paper_says(row), where(row), **{measure: factor}))[name]
    assert found["verdict"] == "refuted", found["measured"]


def test_a_small_step_against_a_trend_does_not_refute_it() -> None:
    """PRB's response falls by 2 % from one expensive leaf to two, as it does in the replica."""
    where = {"workload": "tree", "depth": 6, "count": 1, "policy": "prb"}

    def world(row: Row) -> Row:
        found = as_the_paper_says(row)
        mine = all(row.get(name) == value for name, value in where.items()) and row["cost"] == 100.0
        return changed(found, mine, mean=(220 + 10) / (220 + 5) * 1.02)

    assert verdicts(world)["PRB-C8"] == "reproduced"


def test_what_is_not_reproduced_has_a_cause() -> None:
    found = judged(lambda row: changed(as_the_paper_says(row), AGAINST["PRB-C11"](row), mean=10.0))["PRB-C11"]
    assert found["reason"] == "paper"
    assert "how its load is measured" in found["why"]


def test_the_texts_have_more_than_the_criteria() -> None:
    texts = {name: claim["measured"] for name, claim in judged(as_the_paper_says).items()}
    assert "rb is below fifo by 33.3% at theta 0 and 33.3% at theta 0.9" in texts["PRB-C3"]
    assert "largest with 8" in texts["PRB-C9"]
    assert "By construction it cannot be otherwise" in texts["PRB-C12"]


def test_a_criterion_that_fails_says_what_it_compares() -> None:
    found = judged(lambda row: changed(as_the_paper_says(row), AGAINST["PRB-C6"](row), mean=10.0))["PRB-C6"]
    assert "rb's response by depth falls from 0 to 6" in found["measured"]


@pytest.mark.parametrize(
    "phrase",
    [
        "a quarter of the tuples",
        "at most 300 tuples",
        "within a factor of 2",
        "each leaf is a root",
        "2 for each preemption",
    ],
)
def test_the_notes_say_how_the_paper_is_read(phrase: str) -> None:
    assert phrase in " ".join(STUDY.notes)


def test_claims_stay_open_where_seeds_disagree() -> None:
    def torn(row: Row) -> Row:
        return changed(as_the_paper_says(row), row["policy"] in ("prb", "rr") and row["seed"] % 2 == 0, mean=5.0)

    found = verdicts(torn)
    assert {found[name] for name in ("PRB-C3", "PRB-C5", "PRB-C10", "PRB-C11", "PRB-C14")} == {"inconclusive"}
