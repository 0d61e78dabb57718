"""The comparison of multi-core schedulers, judged on made-up results: like the dissertation's, or against a claim."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from headgate_lab.studies.aqsios.compared_schedulers import COMPARED, OTHER_MPRR, WORKLOADS
from headgate_lab.studies.aqsios.comparison import CLAIMS, COARSE, NOTES, points
from headgate_lab.studies.aqsios.criteria import (
    PERCENT,
    above,
    counted,
    greater,
    highest,
    in_ms,
    is_zero,
    lowest,
    near,
    seeds_of,
    shown,
    shown_ms,
    smaller,
    unmeasured,
)
from headgate_lab.studies.aqsios.quantities import (
    Runs,
    by_seed,
    gap,
    known,
    largest,
    over_all,
    ratio,
    smallest,
    to_ms,
    total,
    unevenness,
)
from headgate_lab.studies.aqsios.readings import (
    ALIKE,
    BETTER,
    FAR,
    FLAT,
    HUGE,
    LOW_MS,
    MUCH,
    NOTHING,
    TIGHT,
    numbered,
    priorities,
)
from headgate_lab.studies.aqsios.runs import LEVELS, run_point
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.study import Profile

Row = dict[str, Any]
World = Callable[[Row], Row]
PROFILE = Profile("made up", tuples=10_000, seeds=4)
IDS = [f"CMP-{number}" for number in range(1, 29)]

# Class means in milliseconds, and inversion, in the dissertation's world.
WORLD: dict[str, dict[str, tuple[tuple[float, ...], float]]] = {
    "5G_4": {
        "MBD": ((1.2, 1.8, 3.2, 3.8, 4.7), 0.0),
        "MRR": ((1.9, 2.0, 2.1, 2.0, 1.95), 0.1),
        "MORR": ((7.0, 7.5, 8.0, 7.5, 7.2), 0.1),
        "ML": ((1.5, 2.2, 4.0, 5.0, 6.0), 0.05),
        "MOL": ((8.0, 8.0, 9.0, 8.0, 8.0), 0.2),
        "MPRR": ((9.0, 12.0, 17.0, 26.0, 50.0), 0.0),
        "PCT": ((1.3, 1.7, 6.8, 2.7, 1.4), 4.5),
        "PCT_S": ((1.3, 1.7, 6.8, 2.7, 1.4), 4.5),
    },
    "3D_6": {
        "MBD": ((1.3, 2.2, 6.3), 0.0),
        "MRR": ((1.9, 1.9, 1.95), 0.01),
        "MORR": ((5.0, 5.0, 5.0), 0.01),
        "ML": ((4.0, 5.0, 12.0), 0.0),
        "MOL": ((20.0, 20.0, 20.0), 0.015),
        "MPRR": ((3.0, 9.0, 30.0), 0.0),
        "PCT": ((600.0, 600.0, 600.0), 0.01),
        "PCT_S": ((2.1, 2.1, 2.5), 0.021),
    },
    "3E_6": {
        "MBD": ((1.3, 2.0, 4.7), 0.0),
        "MRR": ((2.0, 2.0, 2.0), 0.005),
        "MORR": ((5.0, 5.0, 5.0), 0.009),
        "ML": ((2.0, 3.0, 8.0), 0.004),
        "MOL": ((12.0, 12.0, 12.0), 0.002),
        "MPRR": ((4.9, 8.0, 17.0), 0.0),
        "PCT": ((200.0, 600.0, 900.0), 0.0),
        "PCT_S": ((4.0, 10.0, 492.0), 0.0),
    },
    "3F_6": {
        "MBD": ((1.9, 2.1, 2.6), 0.0),
        "MRR": ((2.0, 2.0, 2.0), 0.01),
        "MORR": ((5.0, 5.0, 5.0), 0.01),
        "ML": ((3.0, 4.0, 10.0), 0.01),
        "MOL": ((12.0, 12.0, 12.0), 0.01),
        "MPRR": ((7.0, 12.0, 30.0), 0.0),
        "PCT": ((900.0, 600.0, 200.0), 0.3),
        "PCT_S": ((480.0, 10.0, 4.0), 63.5),
    },
    "5I": {
        "MBD": ((1.0, 1.5, 2.4, 2.8, 6.2), 0.0),
        "MRR": ((2.0,) * 5, 0.01),
        "MORR": ((6.0,) * 5, 0.01),
        "ML": ((3.0, 4.0, 6.0, 8.0, 20.0), 0.01),
        "MOL": ((12.0,) * 5, 0.01),
        "MPRR": ((8.0, 15.0, 25.0, 40.0, 90.0), 0.0),
        "PCT": ((40.0, 5.0, 230.0, 5.0, 6.0), 60.9),
        "PCT_S": ((0.125, 5.0, 230.0, 5.0, 6.0), 50.0),
    },
}
PERCENTILES = {"p10": 0.5, "p25": 0.7, "p50": 0.9, "p75": 1.2, "p90": 2.0, "p95": 2.4}  # of the mean


def as_the_paper_says(point: Row) -> Row:
    """What a run would have measured in the dissertation's world."""
    named = "MPRR" if point["scheduler"] == OTHER_MPRR else point["scheduler"]
    means, inversion = WORLD[point["workload"]][named]
    weights = priorities(point["workload"])
    found: Row = {f"inversion_{level}": inversion for level in LEVELS}
    found["weighted_mean"] = sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights) * 1e-3
    found["starvation"] = means[-1] / means[0]
    for k, mean in enumerate(means, start=1):
        found[f"mean_{k}"] = mean * 1e-3
        found |= {f"{p}_{k}": mean * share * 1e-3 for p, share in PERCENTILES.items()}
        found[f"series_{k}"] = [mean * 1e-3] * 90
    if point["workload"] == "5G_4" and named == "MPRR":
        found["series_5"] = [0.001 * (1 + at) for at in range(90)]  # starves
    if point["workload"] == "3D_6" and named == "ML":
        found |= {"p50_3": 6.2e-3, "p95_3": 40e-3}
    return found


def rows(world: World, profile: Profile = PROFILE) -> list[Row]:
    """All points with their measurements, and a little noise by seed."""
    found = []
    for point in points(profile):
        noise = 1 + 0.001 * point["seed"]
        measured = world(point)
        found.append(
            point
            | {
                name: [value * noise for value in values] if isinstance(values, list) else values * noise
                for name, values in measured.items()
            }
        )
    return found


def judged(world: World) -> dict[str, Row]:
    results = SweepResults(rows(world))
    return {claim.id: claim.judged(results) for claim in CLAIMS}


def test_every_claim_holds_in_the_papers_world() -> None:
    found = judged(as_the_paper_says)
    assert list(found) == IDS
    assert {name: claim["measured"] for name, claim in found.items() if claim["verdict"] != "reproduced"} == {}


# For worlds that contradict a claim: workload, scheduler, measure, and the factor by which it is larger.
AGAINST: list[tuple[int, str, str, str, float]] = [
    (1, "5G_4", "PCT", "mean_3", 0.2),
    (1, "5G_4", "PCT", "inversion_mean", 0.0),
    (1, "5G_4", "PCT_S", "mean_2", 1.01),
    (2, "5G_4", "MRR", "mean_1", 5.0),
    (2, "5G_4", "MORR", "mean_5", 2.0),
    (3, "5G_4", "ML", "weighted_mean", 9.0),
    (3, "5G_4", "ML", "inversion_mean", 9.0),
    (3, "5G_4", "ML", "p90_5", 0.5),
    (3, "5G_4", "MOL", "mean_5", 2.0),
    (4, "5G_4", "ML", "mean_1", 0.5),
    (4, "5G_4", "MPRR", "mean_3", 0.1),
    (5, "5G_4", "MRR", "inversion_*", 0.0),
    (6, "5G_4", "MPRR", "starvation", 0.5),
    (7, "3D_6", "PCT", "p90_2", 0.1),
    (8, "3D_6", "PCT_S", "mean_3", 10.0),
    (9, "3D_6", "MRR", "mean_1", 3.0),
    (9, "3D_6", "MORR", "mean_2", 2.0),
    (10, "3D_6", "ML", "p95_3", 0.5),
    (10, "3D_6", "ML", "p50_3", 3.0),
    (10, "3D_6", "MOL", "weighted_mean", 0.01),
    (11, "3D_6", "MPRR", "starvation", 0.4),
    (11, "3D_6", "MPRR", "p90_3", 0.3),
    (12, "3D_6", "PCT_S", "inversion_mean", 0.0),
    (13, "3D_6", "PCT", "starvation", 20.0),
    (13, "3D_6", "MRR", "inversion_mean", 9.0),
    (13, "3D_6", "ML", "mean_1", 0.4),
    (13, "3D_6", "ML", "starvation", 3.0),
    (14, "3E_6", "PCT", "mean_3", 3.0),
    (14, "3E_6", "PCT_S", "mean_3", 3.0),
    (14, "3E_6", "PCT_S", "starvation", 3.0),
    (15, "3E_6", "MORR", "p50_2", 0.5),
    (15, "3E_6", "MRR", "mean_1", 2.0),
    (16, "3E_6", "MBD", "p90_1", 2.0),
    (16, "3E_6", "MPRR", "mean_1", 0.3),
    (17, "3E_6", "ML", "inversion_mean", 0.0),
    (18, "3E_6", "MBD", "starvation", 3.0),
    (18, "3E_6", "MRR", "inversion_mean", 9.0),
    (19, "3F_6", "PCT", "mean_1", 0.3),
    (19, "3F_6", "PCT_S", "mean_1", 1.1),
    (19, "3F_6", "PCT_S", "mean_2", 5.0),
    (20, "3F_6", "MOL", "mean_2", 1.5),
    (21, "3F_6", "ML", "p90_3", 0.4),
    (22, "3F_6", "MPRR", "mean_3", 0.4),
    (23, "3F_6", "PCT_S", "inversion_mean", 3.0),
    (23, "3F_6", "MBD", "starvation", 1.2),
    (24, "5I", "PCT", "p90_3", 3.0),
    (24, "5I", "PCT", "mean_1", 0.1),
    (24, "5I", "PCT_S", "mean_4", 0.5),
    (25, "5I", "MOL", "p90_*", 0.3),
    (25, "5I", "MRR", "mean_2", 2.0),
    (25, "5I", "ML", "p90_2", 3.0),
    (26, "5I", "MPRR", "mean_4", 0.5),
    (26, "5I", "MPRR", "mean_5", 3.0),
    (27, "5I", "PCT_S", "starvation", 0.3),
    (27, "5I", "PCT", "inversion_mean", 0.5),
    (27, "5I", "MBD", "starvation", 0.3),
    (28, "3E_6", "MPRR", "weighted_mean", 0.1),
    (28, "3D_6", "ML", "weighted_mean", 0.1),
]


def _fits(name: str, measure: str) -> bool:
    return name.startswith(measure.removesuffix("*")) if measure.endswith("*") else name == measure


@pytest.mark.parametrize(("number", "workload", "scheduler", "measure", "times"), AGAINST)
def test_a_world_against_a_claim_refutes_it(
    number: int, workload: str, scheduler: str, measure: str, times: float
) -> None:
    def world(point: Row) -> Row:
        found = as_the_paper_says(point)
        if (point["workload"], point["scheduler"]) != (workload, scheduler):
            return found
        return {name: value * times if _fits(name, measure) else value for name, value in found.items()}

    claim = judged(world)[f"CMP-{number}"]
    assert claim["verdict"] == "refuted", claim["measured"]


def test_there_is_a_world_against_every_claim() -> None:
    assert {f"CMP-{number}" for number, *_ in AGAINST} == set(IDS)


@pytest.mark.parametrize(
    ("number", "workload", "level"), [(4, "5G_4", "mean"), *((5, "5G_4", level) for level in LEVELS)]
)
def test_inversion_where_there_should_be_none_refutes(number: int, workload: str, level: str) -> None:
    def world(point: Row) -> Row:
        inverted = point["workload"] == workload and point["scheduler"] == "MBD"
        return as_the_paper_says(point) | ({f"inversion_{level}": 0.01} if inverted else {})

    found = judged(world)
    assert found[f"CMP-{number}"]["verdict"] == "refuted"
    assert found["CMP-28"]["verdict"] == "refuted"


@pytest.mark.parametrize(("number", "workload", "lowest_class"), [(11, "3D_6", 3), (26, "5I", 5)])
def test_a_class_that_grows_over_time_starves(number: int, workload: str, lowest_class: int) -> None:
    def world(point: Row) -> Row:
        starved = point["workload"] == workload and point["scheduler"] == "MBD"
        rising = {f"series_{lowest_class}": [0.001 * (1 + at) for at in range(90)]} if starved else {}
        return as_the_paper_says(point) | rising

    assert judged(world)[f"CMP-{number}"]["verdict"] == "refuted"


@pytest.mark.parametrize(("buckets", "verdict"), [(90, "refuted"), (2, "inconclusive")])
def test_a_class_that_does_not_grow_does_not_starve(buckets: int, verdict: str) -> None:
    """This holds however large the ratio of classes is. From a very short run, nothing is known."""

    def world(point: Row) -> Row:
        steady = point["workload"] == "5G_4" and point["scheduler"] == "MPRR"
        return as_the_paper_says(point) | ({"series_5": [0.05] * buckets} if steady else {})

    assert judged(world)["CMP-4"]["verdict"] == verdict


@pytest.mark.parametrize(("tuples", "verdict"), [(150, "inconclusive"), (10_000, "refuted")])
def test_a_short_run_does_not_refute_a_ratio_caused_by_an_overload(tuples: int, verdict: str) -> None:
    """CMP-27: PCT_S has reached neither 48 nor the highest ratio."""

    def world(point: Row) -> Row:
        small = point["workload"] == "5I" and point["scheduler"] == "PCT_S"
        return as_the_paper_says(point) | ({"starvation": 1.5} if small else {})

    results = SweepResults(rows(world, Profile("made up", tuples, seeds=4)))
    assert next(claim for claim in CLAIMS if claim.id == "CMP-27").judged(results)["verdict"] == verdict


def test_a_short_run_does_not_judge_what_grows_with_its_length() -> None:
    short = Profile("short", tuples=5000, seeds=4)
    results = SweepResults(rows(as_the_paper_says, short))
    found = {claim.id: claim.judged(results)["verdict"] for claim in CLAIMS}
    grown = {"CMP-7", "CMP-14", "CMP-18", "CMP-19", "CMP-23", "CMP-24", "CMP-27"}
    assert {name for name, verdict in found.items() if verdict != "reproduced"} == grown
    assert {found[name] for name in grown} == {"inconclusive"}


def test_claims_without_runs_stay_open() -> None:
    coarse = Profile("quick", tuples=10_000, seeds=3, coarse=True)
    results = SweepResults(rows(as_the_paper_says, coarse))
    found = {claim.id: claim.judged(results) for claim in CLAIMS}
    assert {claim["verdict"] for claim in found.values()} == {"reproduced", "inconclusive"}
    assert {name for name, claim in found.items() if claim["verdict"] == "reproduced"} >= {"CMP-6", "CMP-8", "CMP-16"}
    assert "PCT not run" in found["CMP-7"]["measured"]


def test_seeds_that_disagree_leave_a_claim_open() -> None:
    def world(point: Row) -> Row:
        torn = point["scheduler"] == "MBD" and point["seed"] == 0
        return as_the_paper_says(point) | ({"inversion_mean": 0.3} if torn else {})

    found = judged(world)
    assert found["CMP-12"]["verdict"] == "inconclusive"
    assert "MBD 0.075 (1 of 4 seeds)" in found["CMP-12"]["measured"]


def test_the_text_has_both_readings_of_mprr() -> None:
    text = judged(as_the_paper_says)["CMP-11"]["measured"]
    assert "MPRR 3 9 30 ms, starvation 10; MPRR largest 3 9 30 ms" in text.replace("3.01", "3").replace("9.01", "9")


def test_the_notes_say_how_words_are_read() -> None:
    notes = " ".join(NOTES)
    assert f"{FLAT:g} times the fastest" in notes
    assert f"'far above': {FAR:g} times" in notes
    assert f"a factor of {ALIKE:g}" in notes
    assert f"{TIGHT:g} times its mean" in notes
    assert f"more than {MUCH:g} times" in notes
    assert f"no other class is {1 - BETTER:.0%} faster".replace("%", " %") in notes
    assert f"'low' a mean below {LOW_MS:g} ms" in notes
    assert f"more than {HUGE:g} times that of class 1" in notes
    assert "'Starving' (CMP-4)" in notes
    assert "that of the widest class" in notes


def test_fitted_claims_are_marked() -> None:
    assert {claim.id for claim in CLAIMS if claim.fitted} == {
        f"CMP-{number}" for number in (7, 8, 9, 11, 14, 15, 19, 22, 24)
    }


def test_the_points() -> None:
    listed = points(PROFILE)
    assert len({tuple(point.items()) for point in listed}) == len(listed) == 5 * 9 * 4
    assert {point["scheduler"] for point in listed} == {*COMPARED, OTHER_MPRR}
    assert {point["workload"] for point in listed} == set(WORKLOADS)
    assert {point["scheduler"] for point in points(Profile("quick", 10, 1, coarse=True))} == set(COARSE)


def test_quantities_of_nothing() -> None:
    none = Runs(SweepResults([]), "5G_4", "MBD")
    assert in_ms(none) == "MBD not run"
    assert counted({"MBD": none.inverted()}) == "MBD not run"
    assert shown(none.weighted()) == "not known"
    assert all(map(math.isnan, known(none.widest())))


def test_quantities_by_seed() -> None:
    assert by_seed(lambda a, b: a - b, {0: 3.0, 1: 5.0}, {1: 4.0, 2: 1.0}) == {1: 1.0}
    both = over_all(largest, [{0: 1.0, 1: math.nan}, {0: 2.0, 1: 3.0}])
    assert both[0] == 2.0
    assert math.isnan(both[1])
    assert total([{0: 1.0, 1: 2.0}, {0: 2.0}]) == {0: 3.0}
    assert ratio({0: 3.0, 1: 1.0}, {0: 2.0, 1: 4.0}) == [1.5, 0.25]
    assert gap({0: 3.0}, {0: 2.0}) == [1.0]
    assert to_ms({0: 0.25}) == {0: 250.0}
    of = {"a": {0: 1.0}, "b": {0: 2.0}}
    assert [criterion.samples for criterion in highest("x", of, "b")] == [[1.0]]
    assert [criterion.samples for criterion in lowest("x", of, "a")] == [[1.0]]


def test_quantities_of_numbers() -> None:
    assert (largest([1.0, 3.0, 2.0]), smallest([2.0, 1.0, 3.0]), unevenness([2.0, 1.0, 3.0])) == (3.0, 1.0, 3.0)
    for of in (largest, smallest, unevenness):
        assert math.isnan(of([1.0, math.nan, 2.0]))
    assert math.isnan(unevenness([0.0, 1.0]))  # a ratio to 0
    assert math.isnan(ratio({0: 1.0}, {0: 0.0})[0])


def test_parts() -> None:
    assert (near("x", {0: 1.0}, 4.0).low, near("x", [1.0], 4.0).high) == (2.0, 8.0)
    assert near("x", [1.0], 4.0).what == "x near 4"
    assert near("x", [1.0], 4.0, "{:g} ms, about").what == "x 4 ms, about"
    assert above("x", {}, 1.0).samples != []  # nothing was run: open, not an error
    assert (is_zero("x", [0.0]).low, is_zero("x", [0.0]).high) == (-NOTHING, NOTHING)
    assert all(map(math.isnan, unmeasured("x").samples))
    first, second = {0: 6.0}, {0: 2.0}
    assert (greater("x", first, second, 2.0).samples, greater("x", first, second, 2.0).low) == ([3.0], 2.0)
    assert (smaller("x", first, second).samples, smaller("x", first, second).high) == ([3.0], 1.0)


def test_texts() -> None:
    assert (shown([0.25, 0.75]), shown({0: 0.5}, PERCENT), shown_ms({0: 0.0125})) == ("0.5", "50.0%", "12.5")
    assert shown([1.0, math.nan]) == "not known"
    assert seeds_of({0: 0.0, 1: 0.3}) == "1 of 2 seeds"


def test_two_runs_with_one_seed_are_a_mistake() -> None:
    row = points(Profile("tiny", 10, 1))[0]
    with pytest.raises(LookupError, match="more than one run"):
        Runs(SweepResults([row, row | {"tuples": 20}]), row["workload"], row["scheduler"])


def test_claims_by_number() -> None:
    check = CLAIMS[0].check
    one, two = numbered("X", "chapter 1", [("Figure 1", "a", check), ("Figure 2", "b", check)], first=3, fitted={"X-4"})
    assert [(claim.id, claim.figure, claim.fitted) for claim in (one, two)] == [
        ("X-3", "Figure 1", False),
        ("X-4", "Figure 2", True),
    ]
    assert one.source.endswith(", chapter 1")


@pytest.mark.parametrize("scheduler", ["MBD", "PCT_S"])
def test_a_short_run_has_all_measures_of_the_claims(scheduler: str) -> None:
    (point,) = (p for p in points(Profile("tiny", 300, 1)) if p["workload"] == "3D_6" and p["scheduler"] == scheduler)
    found = run_point(point)
    assert set(as_the_paper_says(point)) <= set(found)
