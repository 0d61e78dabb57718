"""The claims of the AQSIOS study, judged on made-up results: like the dissertation's, or against a claim."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from headgate_lab.commands.reproduce import STUDIES
from headgate_lab.studies.aqsios import STUDY, TABLE, points
from headgate_lab.studies.aqsios.quantities import Found, Runs, largest, smallest, unevenness
from headgate_lab.studies.aqsios.readings import AS_JUDGED, ENDED, FREE
from headgate_lab.studies.aqsios.runs import LEVELS
from headgate_lab.studies.aqsios.table import waits
from headgate_lab.studies.before import read_before
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.study import Profile
from tests.lab.studies.aqsios_worlds import (
    FULL,
    Row,
    World,
    as_the_dissertation_says,
    judged,
    scaled,
)

IDS = [asked.id for asked in TABLE]
COARSE = Profile("made up", tuples=100, seeds=2, coarse=True)
# What cannot be told apart or measured is left open, however the rest is.
LEFT_OPEN = {"CMP-12", "CMP-13", "CMP-17", "CMP-18", "CMP-23", "SRC-1", "AFF-1"}


def test_every_claim_is_there() -> None:
    """The same as before the claims became a table."""
    assert list(read_before("aqsios").verdicts) == IDS == [claim.id for claim in STUDY.claims]
    assert len(IDS) == len(set(IDS)) == 74
    assert STUDY.name in STUDIES


def test_every_claim_holds_in_the_dissertations_world() -> None:
    found = judged(IDS)
    failed = {name: claim["measured"] for name, claim in found.items() if claim["verdict"] != "reproduced"}
    assert set(failed) == LEFT_OPEN, {name: text for name, text in failed.items() if name not in LEFT_OPEN}
    assert {found[name]["verdict"] for name in LEFT_OPEN} == {"inconclusive"}


def test_claims_used_to_choose_values_are_marked() -> None:
    marked = {claim.id for claim in STUDY.claims if claim.fitted}
    expected = {f"CMP-{number}" for number in (7, 8, 9, 11, 14, 15, 19, 22, 24)} | {f"PI-{n}" for n in range(1, 6)}
    assert marked == expected | {f"CQC-{n}" for n in (1, 2, 3, 4, 6, 7, 8)} | {"SC-2", "SC-4", "PIAT-1"}
    assert all(claim.tried > 1 for claim in STUDY.claims if claim.fitted)
    found = judged(["SC-1", "ABD-7"])
    assert all("fitted" in claim["measured"] for claim in found.values())


def of(workload: str, scheduler: str = "", profile: str = "") -> Callable[[Row], bool]:
    """Selects the runs of a workload or family, under a scheduler and its variants."""
    return lambda one: (
        one["workload"].startswith(workload)
        and one["scheduler"].startswith(scheduler)
        and one["profile"] == profile
        and not one["workload"].endswith("_H")
    )


def alone(one: Row) -> bool:
    return str(one["workload"]).endswith("_H")


# Chapters 4 and 5 and numbers of cores: what differs in a world against the claim, in which runs, by which factor.
ON_CORES: list[tuple[str, Callable[[Row], bool], str, float]] = [
    ("CQC-1", of("A", "CQC"), "mean_1", 3.0),
    ("CQC-2", of("B", "CQC"), "mean_1", 3.0),
    ("CQC-3", of("C", "CQC"), "mean_1", 0.3),
    ("CQC-4", of("A", "CQC"), "mean_1", 3.0),
    ("CQC-5", alone, "mean_1", 3.0),
    ("CQC-6", of("A", "CQC"), "mean_2", 0.5),
    ("CQC-6", of("A", "CQC"), "mean_3", 0.5),
    ("CQC-7", of("B", "CQC"), "mean_2", 3.0),
    ("CQC-7", of("C", "CQC"), "mean_3", 0.3),
    ("CQC-8", of("B", "CQC"), "mean_3", 2.0),
    ("ABD-1", of("D", "ABD"), "weighted_mean", 0.5),
    ("ABD-1", of("D", "WeHR"), "weighted_mean", 0.1),
    ("ABD-2", of("D", "CQC"), "mean_1", 0.7),
    ("ABD-2", of("D", "WeHR"), "mean_1", 1.2),
    ("ABD-2", of("D", "WeHR"), "mean_3", 0.1),
    ("ABD-3", of("D", "CQC"), "mean_3", 2.0),
    ("ABD-3", of("D", "ABD"), "mean_1", 2.0),
    ("ABD-4", of("E", "ABD"), "weighted_mean", 1.8),
    ("ABD-4", of("E", "CQC"), "inversion_mean", 0.0),
    ("ABD-5", of("F", "ABD"), "mean_1", 0.3),
    ("ABD-6", of("5G", "CQC"), "mean_1", 0.8),
    ("ABD-7", of("E", "ABD_500us"), "weighted_mean", 1.1),
    ("ABD-8", of("5G", "ABD", "adaptive"), "mean_3", 3.0),
    ("ABD-8", of("5G", "ABD", "adaptive"), "series_1", 2.0),
    ("ABD-8", of("5G", "ABD", "adaptive"), "series_2", 0.5),
    ("SC-1", of("5S_16", "MBD"), "mean_4", 1.4),
    ("SC-1", of("5S_3", "MBD"), "weighted_mean", 0.7),
    ("SC-2", of("5S_8", "MBD"), "p90_5", 3.0),
    ("SC-2", of("5S_2", "MBD"), "weighted_p90", 3.0),
    ("SC-3", of("5G_8", "MBD"), "mean_2", 3.0),
    ("SC-4", of("5O_8", "MBD"), "series_1", 9.0),
]


# The comparison: workload, scheduler, measure, and the factor by which it is larger.
COMPARED: list[tuple[int, str, str, str, float]] = [
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
    (4, "5G_4", "MPRR", "mean_5", 0.2),
    (5, "5G_4", "MRR", "inversion_*", 0.0),
    (6, "5G_4", "MPRR", "starvation", 0.5),
    (7, "3D_6", "PCT", "p90_2", 0.1),
    (8, "3D_6", "PCT_S", "mean_3", 20.0),
    (9, "3D_6", "MRR", "mean_1", 10.0),
    (9, "3D_6", "MORR", "mean_2", 4.0),
    (10, "3D_6", "ML", "p95_3", 0.2),
    (10, "3D_6", "ML", "p50_3", 3.0),
    (10, "3D_6", "MOL", "weighted_mean", 0.01),
    (11, "3D_6", "MPRR", "starvation", 0.4),
    (11, "3D_6", "MPRR", "p90_3", 0.3),
    (12, "3D_6", "MOL", "inversion_mean", 0.0),
    (13, "3D_6", "PCT", "starvation", 20.0),
    (13, "3D_6", "ML", "mean_1", 0.4),
    (13, "3D_6", "ML", "starvation", 3.0),
    (14, "3E_6", "PCT", "mean_3", 3.0),
    (14, "3E_6", "PCT_S", "mean_3", 5.0),
    (14, "3E_6", "PCT_S", "starvation", 3.0),
    (15, "3E_6", "MORR", "p50_2", 0.3),
    (15, "3E_6", "MRR", "mean_1", 4.0),
    (16, "3E_6", "MBD", "p90_1", 2.0),
    (16, "3E_6", "MPRR", "mean_1", 0.3),
    (17, "3E_6", "ML", "inversion_mean", 0.0),
    (18, "3E_6", "MBD", "starvation", 3.0),
    (19, "3F_6", "PCT", "mean_1", 0.3),
    (19, "3F_6", "PCT_S", "mean_1", 3.0),
    (19, "3F_6", "PCT_S", "mean_2", 5.0),
    (20, "3F_6", "MOL", "mean_2", 1.5),
    (21, "3F_6", "ML", "p90_3", 0.4),
    (22, "3F_6", "MPRR", "mean_3", 0.4),
    (23, "3F_6", "PCT_S", "inversion_mean", 3.0),
    (23, "3F_6", "MBD", "starvation", 3.0),
    (24, "5I", "PCT", "p90_3", 3.0),
    (24, "5I", "PCT", "mean_1", 0.1),
    (24, "5I", "PCT_S", "mean_4", 0.5),
    (25, "5I", "MOL", "p90_*", 0.3),
    (25, "5I", "MRR", "mean_2", 2.0),
    (25, "5I", "ML", "p90_2", 3.0),
    (26, "5I", "MPRR", "mean_4", 0.2),
    (26, "5I", "MPRR", "mean_5", 3.0),
    (26, "5I", "MBD", "mean_5", 9.0),
    (27, "5I", "PCT_S", "starvation", 0.3),
    (27, "5I", "PCT", "inversion_mean", 0.5),
    (27, "5I", "MBD", "starvation", 0.3),
    (28, "3E_6", "MPRR", "weighted_mean", 0.1),
    (28, "3D_6", "ML", "weighted_mean", 0.1),
]


def _course_of(k: int, times: float) -> World:
    return lambda found: {f"series_{k}": [times * value for value in found[f"series_{k}"]]}


def _times(measure: str, times: float) -> World:
    return lambda found: {measure: found[measure] * times}


def _is(**given: float) -> World:
    return lambda found: dict(given)


# Modules and changes: scheduler, then low class, profile or workload, and what differs in these runs.
CHANGING: list[tuple[str, str, Any, World]] = [
    ("PI-1", "MBD", 1, _times("mean_1", 0.5)),
    ("PI-2", "MBD", 2, _times("p75_2", 0.5)),
    ("PI-2", "MBD", 2, _is(inversion_mean=0.1)),
    ("PI-3", "MBD", 3, _times("mean_3", 0.5)),
    ("PI-4", "MBD", 4, _times("mean_4", 0.5)),
    ("PI-4", "MBD", 4, _is(inversion_mean=0.1)),
    ("PI-5", "MBD", 5, _times("mean_5", 0.5)),
    ("PI-5", "MBD", 5, _is(inversion_mean=0.1)),
    ("PI-6", "MBD_IVP", 1, _is(inversion_mean=0.1)),
    ("PI-6", "MBD_DVP", 1, _times("weighted_mean", 1.2)),
    ("PI-6", "MBD_ISP", 1, _times("weighted_mean", 1.6)),
    ("PI-6", "MBD_DSP", 1, _is(updates=2)),
    ("PI-7", "MBD_DVP", 3, _is(inversion_mean=0.1)),
    ("PI-7", "MBD_IVP", 3, _times("weighted_mean", 1.5)),
    ("PI-7", "MBD_DSP", 3, _is(updated_at=5.0)),
    ("PI-8", "MBD_DSP_p75", 1, _is(inversion_p75=0.1)),
    ("PI-8", "MBD_IVP_p75", 1, _is(inversion_p75=0.0)),
    ("PI-9", "MBD_DVP_p75", 2, _is(inversion_p75=0.0)),
    ("PI-9", "MBD_DSP_p75", 2, _times("weighted_mean", 0.5)),
    ("PI-10", "MBD_ISP_p75", 3, _is(weighted_mean=0.0001)),
    ("PI-10", "MBD_DSP_p75", 3, _is(updates=50)),
    ("SEL-1", "MBD_S", "sel-change", _is(inversion_mean=0.0)),
    ("SEL-1", "MBD_DSP_SA", "sel-change", _is(inversion_mean=0.1)),
    ("SEL-2", "MBD_DSP_SA", "sel-change", _is(updates=50)),
    ("SEL-2", "MBD_DVP_SA", "sel-change", _is(updated_at=5.0)),
    ("SEL-3", "MBD_S", "sel-change", _times("weighted_mean", 2.0)),
    ("SEL-3", "MBD_DSP_SA", "sel-change", _times("weighted_mean", 2.0)),
    ("UP-1", "MBD", "pr-change", lambda found: _course_of(1, 0.5)(found) | _course_of(5, 2.0)(found)),
    ("UP-1", "MBD_UP", "pr-change", _course_of(3, 2.0)),
    ("UP-1", "MBD_UP", "pr-change", lambda found: {"series_1": [found["series_1"][0]] * 30}),
    ("UP-2", "MBD", "pr-change-merge", _course_of(5, 0.5)),
    ("UP-2", "MBD_UP", "pr-change-merge", lambda found: {"series_5": [found["series_5"][0]] * 30}),
    ("SRC-1", "MBD", "5S_8_7+2", _times("weighted_mean", 0.5)),
    ("AMBD-1", "AMBD", "3D_6", _times("weighted_mean", 1.5)),
    ("PIAT-1", "PCT", "piat", _course_of(3, 0.3)),
    ("PIAT-1", "PCT_S", "piat", lambda found: {"series_3": found["series_3"][::-1]}),
    ("PIAT-2", "MRR", "piat", _times("mean_3", 0.1)),
    ("PIAT-2", "MORR", "piat", lambda found: {"series_2": [0.001 * (at + 1) for at in range(100)]}),
    (
        "PIAT-3",
        "MOL",
        "piat",
        lambda found: {f"series_{k}": [0.1 * (at % 2) for at in range(100)] for k in range(1, 6)},
    ),
    ("PIAT-3", "MOL", "piat", _times("mean_4", 9.0)),
    ("PIAT-4", "MPRR", "piat", _times("mean_5", 0.1)),
    ("PIAT-4", "MPRR", "piat", _course_of(3, 3.0)),
    ("PIAT-4", "MBD_DVP_SA_UP", "piat", _times("mean_2", 50.0)),
    ("PIAT-5", "MBD", "piat", _course_of(4, 0.5)),
    ("PIAT-6", "MBD_DSP_SA_UP", "piat", _course_of(4, 2.0)),
    ("PIAT-7", "MBD_DVP_SA_UP", "piat", _course_of(3, 5.0)),
    (
        "PIAT-7",
        "MBD_DSP_SA_UP",
        "piat",
        lambda found: {"series_4": [*found["series_4"][:50], *[9e-3] * 9, *found["series_4"][59:]]},
    ),
]


def _fits(name: str, measure: str) -> bool:
    return name.startswith(measure.removesuffix("*")) if measure.endswith("*") else name == measure


def _differs(name: str, here: Callable[[Row], bool], otherwise: World) -> None:
    """In a world that differs in some runs, the claim is refuted."""

    def world(usual: World, one: Row) -> Row:
        found = usual(one)
        return found | otherwise(found) if here(one) else found

    claim = judged([name], world)[name]
    assert claim["verdict"] == "refuted", claim["measured"]


@pytest.mark.parametrize(("name", "here", "measure", "times"), ON_CORES)
def test_other_responses_on_cores_refute(name: str, here: Callable[[Row], bool], measure: str, times: float) -> None:
    _differs(name, here, lambda found: {measure: scaled(found[measure], times)})


@pytest.mark.parametrize(("number", "workload", "scheduler", "measure", "times"), COMPARED)
def test_other_comparisons_refute(number: int, workload: str, scheduler: str, measure: str, times: float) -> None:
    _differs(
        f"CMP-{number}",
        lambda one: (one["workload"], one["scheduler"]) == (workload, scheduler),
        lambda found: {name: value * times for name, value in found.items() if _fits(name, measure)},
    )


@pytest.mark.parametrize(("name", "scheduler", "where", "otherwise"), CHANGING)
def test_other_changes_refute(name: str, scheduler: str, where: Any, otherwise: World) -> None:
    def here(one: Row) -> bool:
        there = where in (one["low"], one["profile"], one["workload"])
        return one["scheduler"] == scheduler and there and one["in_step"] and not one["variant"]

    _differs(name, here, otherwise)


def test_there_is_a_world_against_every_claim() -> None:
    """But for those that no run can refute."""
    numbers = {f"CMP-{number}" for number, *_ in COMPARED}
    assert {*numbers, *(name for name, *_ in ON_CORES), *(name for name, *_ in CHANGING)} == set(IDS) - {
        "ABD-0",
        "AFF-1",
    }


def _series(latency_at: Callable[[float], float]) -> World:
    series = [latency_at(at / 10) for at in range(100)]
    return lambda found: {name: series for name in found if name.startswith("series_")}


@pytest.mark.parametrize(
    ("name", "here", "otherwise"),
    [
        ("ABD-3", of("D", "ABD"), lambda found: {"mean_3": 0.1}),  # starves
        ("ABD-4", of("E", "ABD"), lambda found: {"inversion_mean": 0.2}),
        ("SC-4", of("5O"), _series(lambda time: 0.001 * (1 + max(0.0, 100 * (time - 6.0))))),  # rises late
        ("SC-4", of("5O"), _series(lambda time: 0.001 if time < 3.6 else 0.005)),  # does not run away
        ("SC-4", of("5O_16"), _series(lambda time: 0.001 * (1 + max(0.0, 100 * (time - 5.0))))),  # not the same
        ("PI-10", lambda one: one["scheduler"] == "MBD_DSP_p75", lambda found: {"weighted_mean": 0.0001}),
    ],
)
def test_more_worlds_refute(name: str, here: Callable[[Row], bool], otherwise: World) -> None:
    _differs(name, here, otherwise)


@pytest.mark.parametrize("level", LEVELS)
def test_inversion_where_there_should_be_none_refutes(level: str) -> None:
    for name in ("CMP-5", "CMP-28"):
        _differs(name, lambda one: one["scheduler"] == "MBD", lambda found: {f"inversion_{level}": 0.01})


def test_one_seed_of_four_leaves_none_open_and_one_of_five_does_not() -> None:
    def torn(usual: World, one: Row) -> Row:
        inverted = one["scheduler"] == "MBD" and one["seed"] == 0
        return usual(one) | ({"inversion_mean": 0.3} if inverted else {})

    assert judged(["CMP-16"], torn)["CMP-16"]["verdict"] == "inconclusive"
    five = Profile("made up", tuples=10_000, seeds=5)
    assert judged(["CMP-16"], torn, five)["CMP-16"]["verdict"] == "reproduced"


def test_a_rival_that_is_inverted_may_be_faster() -> None:
    """CMP-28 compares MBD with those that are without inversion."""

    def world(usual: World, one: Row) -> Row:
        quick = (one["workload"], one["scheduler"]) == ("3D_6", "MRR")
        return usual(one) | ({"weighted_mean": 1e-6} if quick else {})

    assert judged(["CMP-28"], world)["CMP-28"]["verdict"] == "reproduced"


def test_either_of_two_modules_may_be_the_lowest() -> None:
    """Caption and text of Figure 103 disagree."""

    def world(usual: World, one: Row) -> Row:
        found = usual(one)
        lower = one["scheduler"] == "MBD_DVP_p75" and one["low"] == 3
        return found | ({"weighted_mean": found["weighted_mean"] * 0.8} if lower else {})

    assert judged(["PI-10"], world)["PI-10"]["verdict"] == "reproduced"


def test_a_faster_system_stays_below_the_limits_of_plots() -> None:
    def world(usual: World, one: Row) -> Row:
        return {name: scaled(value, 0.1) if "p90" in name else value for name, value in usual(one).items()}

    assert judged(["SC-2"], world)["SC-2"]["verdict"] == "reproduced"


def test_a_short_run_does_not_judge_what_grows_with_its_length() -> None:
    def short(asked_id: str) -> str:
        asked = next(asked for asked in TABLE if asked.id == asked_id)
        rows = [one | as_the_dissertation_says(asked_id)(one) | {"tuples": 5000} for one in points(FULL, [asked])]
        return str(asked.claim().judged(SweepResults(rows))["verdict"])

    grown = {"CMP-7", "CMP-14", "CMP-19", "CMP-24", "CMP-27", "ABD-1", "ABD-2"}
    assert {name: short(name) for name in grown} == dict.fromkeys(grown, "inconclusive")
    assert short("CMP-8") == "reproduced"


def test_claims_stay_open_where_nothing_was_measured() -> None:
    def world(usual: World, one: Row) -> Row:
        return {name: [None] * 100 if isinstance(value, list) else None for name, value in usual(one).items()}

    found = judged(IDS, world)
    assert {name for name, claim in found.items() if claim["verdict"] != "inconclusive"} == {"ABD-0"}


def test_the_texts_have_the_other_readings() -> None:
    found = {name: claim["measured"] for name, claim in judged(["CQC-1", "ABD-4", "PI-1", "PI-8", "CMP-11"]).items()}
    assert "with debt as printed: 9.4, reproduced" in found["CQC-1"]
    assert "with passes until the slice is used up: 43, reproduced" in found["ABD-4"]
    assert "without inputs in step" in found["PI-1"]
    assert "look at all results since the start" in found["PI-8"]
    assert "5G_4 MBD, class 1 low," in found["PI-8"]
    assert "MPRR's share of the largest priority: 10, reproduced" in found["CMP-11"]
    assert "3D_6 MPRR 3 9 30 ms" in found["CMP-11"].replace("3.01", "3").replace("9.01", "9")


def test_a_part_that_cannot_be_told_apart_says_why() -> None:
    assert "chance" in judged(["CMP-12"])["CMP-12"]["measured"]
    assert "cache counters" in judged(["AFF-1"])["AFF-1"]["measured"]
    assert "by construction" in judged(["SRC-1"])["SRC-1"]["measured"]


def test_results_before_the_input_ends_are_another_reading() -> None:
    runs = Runs("3D_6", "PCT")
    row = {**runs.point(10_000, 0), "mean_3": 0.5, "ended_mean_3": 0.25, "updates": 3}
    results = SweepResults([row])
    assert runs.mean(3).by_seed(Found(results, AS_JUDGED)) == {0: 500.0}
    assert runs.mean(3).by_seed(Found(results, ENDED)) == {0: 250.0}
    assert runs.measure("updates", "updates", 1.0).by_seed(Found(results, ENDED)) == {0: 3.0}
    assert runs.mean(3).by_seed(Found(results, FREE)) == {}  # not run


def test_two_runs_with_one_seed_are_a_mistake() -> None:
    row = Runs("3D_6", "PCT").point(10, 0)
    with pytest.raises(LookupError, match="more than one run"):
        Found(SweepResults([row, row | {"tuples": 20}]), AS_JUDGED)


def test_quantities_of_numbers() -> None:
    assert (largest([1.0, 3.0, 2.0]), smallest([2.0, 1.0, 3.0]), unevenness([2.0, 1.0, 3.0])) == (3.0, 1.0, 3.0)
    for of_several in (largest, smallest, unevenness):
        assert math.isnan(of_several([1.0, math.nan, 2.0]))
    assert math.isnan(unevenness([0.0, 1.0]))  # a ratio to 0


def test_the_wait_of_the_most_important_class() -> None:
    assert waits("ABCDABACEABCDAB", "A") == 3
    assert waits("AAAAABBBBCCCDDE", "A") == 10
    assert waits("BA", "A") == 1
    assert "slices that A waits" in judged(["ABD-0"])["ABD-0"]["measured"]
