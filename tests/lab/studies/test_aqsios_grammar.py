"""The language of the AQSIOS study's table of claims."""

import pytest

from headgate_lab.studies.aqsios.grammar import Where, expanded
from headgate_lab.studies.aqsios.quantities import Found, Runs
from headgate_lab.studies.aqsios.readings import AS_JUDGED, FLAT
from headgate_lab.studies.claims import Criterion, SweepResults

WHERE = Where("3D_6")
ROWS = [
    Runs("3D_6", name).point(10_000, 0)
    | {"mean_1": 0.002 * at, "mean_2": 0.004, "mean_3": 0.006, "inversion_mean": 0.5}
    for at, name in ((1, "MBD"), (4, "MRR"))
]
FOUND = Found(SweepResults(ROWS), AS_JUDGED)


def criterion(line: str) -> Criterion:
    (part,) = WHERE.parts([line])
    return part.rule(part.what, part.samples(FOUND))


@pytest.mark.parametrize(
    ("line", "samples", "low", "high"),
    [
        ("MBD mean 1 near 7", 2.0, 3.5, 14.0),
        ("MBD mean 1 above 7", 2.0, 3.5, None),
        ("MBD mean 1 below 7", 2.0, None, 14.0),
        ("MBD mean 1 < 7", 2.0, None, 7.0),
        ("MBD mean 1 > 7", 2.0, 7.0, None),
        ("MBD mean 1 < MRR mean 1", 4.0, 1.0, None),
        ("MBD mean 1 < MRR mean 1 by 3", 4.0, 3.0, None),
        ("MBD mean 1 less MRR mean 1", 6.0, 0.0, None),
        ("MRR mean 1 like MBD mean 1 within 2", 4.0, 0.5, 2.0),
        ("MRR mean 1 starves beside MBD mean 1", 4.0, 3.0, None),
        ("MRR mean 1 does not starve beside MBD mean 1", 4.0, None, 3.0),
        ("MRR mean 1 / MBD mean 1 < FLAT", 4.0, None, FLAT),
        ("MBD mean 1 under MRR mean 1 near 50", 75.0, 25.0, 100.0),
        ("MRR mean 1 beyond MBD mean 1 near 200", 300.0, 100.0, 400.0),
        ("spread mean 1 of MBD, MRR < 1.25", 4.0, None, 1.25),
        ("none MBD inversion", 0.5, None, 1e-12),
        ("some MBD inversion", 0.5, 1e-12, None),
    ],
)
def test_a_line_is_a_quantity_and_its_range(line: str, samples: float, low: float | None, high: float | None) -> None:
    found = criterion(line)
    assert list(found.samples) == pytest.approx([samples])
    assert found.low == (float("-inf") if low is None else low)
    assert found.high == (float("inf") if high is None else high)


def test_what_is_left_open_says_why() -> None:
    assert "chance" in criterion("chance MRR inversion").left_open
    assert criterion("open cache misses: no caches").left_open == "no caches"


def test_letters_stand_for_values() -> None:
    assert list(expanded("s=MBD,MRR k=1..2: s mean k < s@w_H mean 3")) == [
        f"{s} mean {k} < {s}@w_H mean 3" for s in ("MBD", "MRR") for k in (1, 2)
    ]
    assert list(expanded("w=A: HR@w_H mean 1 < HR@w mean 1")) == ["HR@A_H mean 1 < HR@A mean 1"]
    assert list(expanded("open a thing: with a reason")) == ["open a thing: with a reason"]


def test_runs_may_be_elsewhere() -> None:
    where = Where("5G_4", low=3, profile="piat")
    assert where.runs("MBD") == Runs("5G_4", "MBD", 3, "piat", name="MBD")
    assert where.runs("MBD@5S_2").workload == "5S_2"
    usual = where.runs("MBD@usual")
    assert (usual.workload, usual.low) == ("5G_4", 0)
    assert Where("A", in_step=False).runs("CQC").scheduler == "CQC single"


def test_what_grows_is_only_judged_at_full_length() -> None:
    short = Found(SweepResults([row | {"tuples": 100} for row in ROWS]), AS_JUDGED)
    (part,) = WHERE.parts(["MBD mean 1! / MRR mean 1 near 2"])
    assert part.samples(FOUND) == [0.25]
    assert part.samples(short) != part.samples(short)  # not a number


@pytest.mark.parametrize("line", ["MBD speed near 3", "MBD mean 1 about 3", "MBD mean 1 near SOME_WORD"])
def test_a_line_that_is_wrong_is_refused(line: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        WHERE.parts([line])
