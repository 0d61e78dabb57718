"""Intervals and verdicts, on made-up results."""

import math
import statistics
from dataclasses import replace

import pytest

from headgate_lab.studies.claims import (
    Criterion,
    Finding,
    PaperClaim,
    SweepResults,
    difference,
    estimate,
    judge,
    paired,
    reduction,
    student_t,
)

# Printed tables of Student's t, two-sided: (confidence, degrees of freedom) -> t.
TABLE = {
    (0.95, 1): 12.706,
    (0.95, 2): 4.303,
    (0.95, 4): 2.776,
    (0.95, 9): 2.262,
    (0.95, 30): 2.042,
    (0.95, 120): 1.980,
    (0.99, 1): 63.657,
    (0.99, 4): 4.604,
    (0.99, 5): 4.032,
    (0.90, 7): 1.895,
}


@pytest.mark.parametrize(("where", "t"), TABLE.items())
def test_t_is_as_in_printed_tables(where: tuple[float, int], t: float) -> None:
    assert student_t(*where) == pytest.approx(t, abs=6e-4)


@pytest.mark.parametrize(("confidence", "freedom"), [(0.0, 4), (1.0, 4), (0.95, 0)])
def test_no_t_for_meaningless_arguments(confidence: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="no t"):
        student_t(confidence, freedom)


def test_the_interval_of_five_samples() -> None:
    """Mean 3, deviation sqrt(2.5): the half width is 2.776 * sqrt(2.5 / 5)."""
    got = estimate([1, 2, 3, 4, 5])
    assert (got.mean, got.seeds) == (3, 5)
    assert got.high - 3 == pytest.approx(3 - got.low) == pytest.approx(1.963, abs=1e-3)


def test_one_sample_says_nothing_about_the_spread() -> None:
    assert estimate([7.0]).low == -math.inf
    with pytest.raises(ValueError, match="nothing was measured"):
        estimate([])


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_sample_that_is_not_finite_leaves_everything_open(odd: float) -> None:
    for samples in ([odd], [1.0, odd], [odd, odd, 1.0], [math.inf, -math.inf, odd]):
        got = estimate(samples)
        assert math.isnan(got.mean)
        assert (got.low, got.high, got.seeds) == (-math.inf, math.inf, len(samples))
        for criterion in (
            Criterion("above", samples, low=0.0),
            Criterion("below", samples, high=0.0),
            Criterion("anywhere", samples),
        ):
            assert judge([criterion], samples, "text").verdict == "inconclusive"


def test_pairs_go_by_seed() -> None:
    """The seeds differ a lot, the policies by a tenth: only the paired interval is narrow."""
    base = {0: 100.0, 1: 500.0, 2: 900.0}
    other = {2: 810.0, 0: 90.0, 1: 450.0, 3: 1.0}
    assert reduction(base, other) == pytest.approx([0.1, 0.1, 0.1])
    assert difference(base, other) == [10.0, 50.0, 90.0]
    assert paired(lambda a, b, c: a + b - c, base, other, base) == [90.0, 450.0, 810.0]
    assert statistics.stdev(base.values()) > 300


HOLDS = Criterion("it holds", [1.0, 1.1, 0.9], low=0.0)
FAILS = Criterion("it fails", [-1.0, -1.1, -0.9], low=0.0)
OPEN = Criterion("it is open", [-1.0, 1.0, 0.5], low=0.0)


@pytest.mark.parametrize(
    ("criteria", "verdict"),
    [
        ([HOLDS], "reproduced"),
        ([HOLDS, HOLDS], "reproduced"),
        ([HOLDS, OPEN], "inconclusive"),
        ([HOLDS, FAILS], "refuted"),
        ([OPEN, FAILS], "refuted"),
        ([], "inconclusive"),
        ([Criterion("one seed", [1.0], low=0.0)], "inconclusive"),
        ([Criterion("inside", [1.0, 1.1, 0.9], 0.0, 2.0)], "reproduced"),
        ([Criterion("beyond", [3.0, 3.1, 2.9], 0.0, 2.0)], "refuted"),
        ([Criterion("on the border", [2.0, 2.1, 1.9], 0.0, 2.0)], "inconclusive"),
        ([Criterion("the same in every seed", [0.0, 0.0, 0.0], low=0.0)], "refuted"),
    ],
)
def test_verdicts(criteria: list[Criterion], verdict: str) -> None:
    assert judge(criteria, [1.0, 2.0], "text").verdict == verdict


def test_criteria_that_do_not_hold_are_named() -> None:
    found = judge([HOLDS, OPEN, FAILS], [1.0, 3.0], "text")
    assert found.measured == "text; fails: it fails; open: it is open"
    assert (found.value, found.seeds) == (2.0, 2)
    assert found.interval == pytest.approx((2 - 12.706, 2 + 12.706), abs=1e-3)


def test_a_failure_among_many_criteria_must_be_clearer() -> None:
    """Of forty criteria one may fail at 5 % by chance, so each must fail at an eighth of a percent."""
    weak = Criterion("weak", [-0.5, -0.2, -0.4, -0.1], low=0.0)
    assert judge([weak], [0.0], "").verdict == "refuted"
    assert judge([weak, *[HOLDS] * 39], [0.0], "").verdict == "inconclusive"


ROWS = [{"policy": policy, "rho": 0.9, "seed": seed, "mean": seed + 1.0} for policy in ("rb", "prb") for seed in (0, 1)]


def test_results_are_looked_up_by_parameters() -> None:
    results = SweepResults([*ROWS, {"policy": "rb", "seed": 0, "mean": 5.0, "rho": 0.5}])
    assert results.by_seed("mean", policy="rb", rho=0.9) == {0: 1.0, 1: 2.0}
    assert results.values("rho", policy="rb") == [0.5, 0.9]
    assert results.values("depth") == []


def test_results_refuse_mistakes() -> None:
    results = SweepResults(ROWS)
    with pytest.raises(LookupError, match="no run"):
        results.by_seed("mean", policy="rr")
    with pytest.raises(LookupError, match="more than one run"):
        results.by_seed("mean", rho=0.9)


def test_a_claim_as_json() -> None:
    def check(results: SweepResults) -> Finding:
        return judge(
            [Criterion("positive", list(results.by_seed("mean", policy="rb").values()), low=-20.0)], [1, 2], "so"
        )

    claim = PaperClaim("X-C1", "a paper", "Figure 1", "something is positive", check)
    entry = claim.judged(SweepResults(ROWS))
    assert list(entry) == [
        "id",
        "source",
        "figure",
        "claim",
        "measured",
        "value",
        "interval",
        "seeds",
        "verdict",
        "reason",
        "why",
        "fitted",
        "tried",
    ]
    assert (entry["verdict"], entry["seeds"], entry["value"], entry["fitted"]) == ("reproduced", 2, 1.5, False)
    assert replace(claim, fitted=True).judged(SweepResults(ROWS))["fitted"]


def test_a_missing_measure_leaves_a_claim_open() -> None:
    found = SweepResults([{"seed": 0, "mean": None}, {"seed": 1, "mean": 2.0}]).by_seed("mean")
    assert math.isnan(found[0])
    assert judge([Criterion("positive", list(found.values()), low=0.0)], [1.0, 2.0], "").verdict == "inconclusive"
