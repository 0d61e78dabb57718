"""The claims of the AQSIOS study about one, two and a growing number of cores, judged on made-up results."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from headgate.policies.registry import make_policy
from headgate_lab.commands.reproduce import STUDIES
from headgate_lab.studies.aqsios import STUDY, piat, scalability, single_and_dual
from headgate_lab.studies.aqsios.charts import charts
from headgate_lab.studies.aqsios.readings import classes
from headgate_lab.studies.aqsios.scalability import knee
from headgate_lab.studies.aqsios.schedulers import settings
from headgate_lab.studies.aqsios.single_and_dual import ADAPTIVE, waits
from headgate_lab.studies.aqsios.workload import has_its_time, input_seconds, input_tuples, workloads
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import BoxChart, draw
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import sweep

Row = dict[str, Any]
CLAIMS = (*single_and_dual.CLAIMS, *scalability.CLAIMS)
IDS = [f"CQC-{n}" for n in range(1, 9)] + [f"ABD-{n}" for n in range(9)] + [f"SC-{n}" for n in range(1, 5)]
FULL = Profile("made up", tuples=10_000, seeds=4)
COARSE = Profile("made up", tuples=100, seeds=2, coarse=True)
POINTS = [*single_and_dual.points(FULL), *scalability.points(FULL)]

SINGLE = {  # class means in ms
    ("A", "HR"): (94, 50, 50),
    ("A", "CQC"): (10, 60, 90),
    ("B", "HR"): (198, 100, 100),
    ("B", "CQC"): (10, 50, 150),
    ("C", "HR"): (193, 100, 100),
    ("C", "CQC"): (10, 50, 200),
}
DUAL = {  # class means, weighted mean and inversion
    ("D", "CQC"): ((5.0, 5.2, 5.5), 5.1, 0.0),
    ("D", "ABD"): ((3.17, 5.0, 8.0), 4.48, 0.0),
    ("D", "WeHR"): ((2.85, 10, 2500), 116.0, 0.0),
    ("E", "CQC"): ((4.0, 2.0, 9.0), 4.0, 2.0),
    ("E", "ABD"): ((1.91, 2.2, 3.0), 2.28, 0.0),
    ("F", "CQC"): ((5.0, 6.0, 7.0), 6.0, 0.0),
    ("F", "ABD"): ((3.07, 4.0, 9.0), 4.58, 0.0),
    ("5G", "CQC"): ((3.0, 2.6, 2.4, 2.6, 2.8), 2.7, 0.4),
    ("5G", "ABD"): ((1.75, 2.0, 2.2, 3.0, 5.0), 2.18, 0.0),
}
LEVELS = (1.4, 1.8, 2.6, 3.06, 4.0)


def as_the_dissertation_says(one: Row) -> Row:
    """What a run would have measured there: the tables above are in milliseconds, the result is in seconds."""
    means, weighted, inversion = _means(one)
    found: Row = {"weighted_mean": weighted / 1e3, "weighted_p90": 3.5e-3, "inversion_mean": inversion}
    for k, mean in enumerate(means, 1):
        found |= {f"mean_{k}": mean / 1e3, f"p10_{k}": mean / 4e3, f"p25_{k}": mean / 3e3, f"p50_{k}": mean / 2e3}
        found |= {f"p75_{k}": mean / 900, f"p90_{k}": mean / 600}
        found[f"series_{k}"] = [_course(one, k, mean, at / 10) / 1e3 for at in range(100)]
    return found


def _means(one: Row) -> tuple[tuple[float, ...], float, float]:
    workload, scheduler = one["workload"], one["scheduler"].split()[0]
    family, _, cores = workload.partition("_")
    if cores == "H":
        return (5.0,), 5.0, 0.0
    if scheduler == "RR":
        return (80.0, 80.0, 80.0), 80.0, 0.0
    if (workload, scheduler) in SINGLE:
        return SINGLE[workload, scheduler], 1.0, 0.0
    if one["profile"] == ADAPTIVE:
        return single_and_dual.ADAPTIVE_MS, 3.0, 0.0
    if scheduler in single_and_dual.QUOTAS:
        return DUAL["E", "ABD"][0], single_and_dual.QUOTAS[scheduler] / 1e3, 0.0
    if (workload, scheduler) in DUAL:
        return DUAL[workload, scheduler]
    slower = 4 / int(cores) if family == "5G" else 1.0
    return tuple(slower * level for level in LEVELS), slower * 2.15, 0.0


def _course(one: Row, k: int, mean: float, time: float) -> float:
    if one["profile"] == ADAPTIVE and k == 1 and 5.5 <= time < 6.0:
        return 10.0
    risen = 100 * (time - 3.5) if one["workload"].startswith("5O") else 0.0
    return mean * (1 + max(0.0, risen))


def judged(world: Callable[[Row], Row], ids: Sequence[str] = IDS, points: Sequence[Row] = POINTS) -> dict[str, Row]:
    """Claims judged on made-up rows, with a little noise by seed."""
    rows = []
    for one in points:
        noise = 1 + 0.001 * one["seed"]
        rows.append(one | {name: _times(value, noise) for name, value in world(one).items()})
    return {claim.id: claim.judged(SweepResults(rows)) for claim in CLAIMS if claim.id in ids}


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_times(one, factor) for one in value]
    return None if value is None else factor * value


def verdicts(world: Callable[[Row], Row], ids: Sequence[str] = IDS) -> dict[str, str]:
    return {name: claim["verdict"] for name, claim in judged(world, ids).items()}


def test_every_claim_is_there() -> None:
    assert [claim.id for claim in CLAIMS] == IDS
    assert [claim.id for claim in STUDY.claims if claim.id in IDS] == IDS


def test_the_study_is_known_by_its_name() -> None:
    assert STUDY.name in STUDIES
    assert len({claim.id for claim in STUDY.claims}) == len(STUDY.claims)


def test_every_claim_holds_in_the_dissertations_world() -> None:
    found = judged(as_the_dissertation_says)
    failed = {name: claim["measured"] for name, claim in found.items() if claim["verdict"] != "reproduced"}
    assert failed == {}


def test_claims_used_to_choose_costs_are_marked() -> None:
    found = judged(as_the_dissertation_says)
    assert {name for name, claim in found.items() if claim["fitted"]} == {"SC-2", "SC-4"}
    assert all("fitted" in found[name]["measured"] for name in ("SC-1", "ABD-7"))


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


# For each claim, what differs in a world that contradicts it: in which runs, which measure, by which factor.
AGAINST: list[tuple[str, Callable[[Row], bool], str, float]] = [
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
    ("ABD-8", of("5G", "ABD", ADAPTIVE), "mean_3", 3.0),
    ("ABD-8", of("5G", "ABD", ADAPTIVE), "series_1", 2.0),
    ("ABD-8", of("5G", "ABD", ADAPTIVE), "series_2", 0.5),
    ("SC-1", of("5S_16", "MBD"), "mean_4", 1.4),
    ("SC-1", of("5S_3", "MBD"), "weighted_mean", 0.7),
    ("SC-2", of("5S_8", "MBD"), "p90_5", 3.0),
    ("SC-2", of("5S_2", "MBD"), "weighted_p90", 3.0),
    ("SC-3", of("5G_8", "MBD"), "mean_2", 3.0),
    ("SC-4", of("5O_8", "MBD"), "series_1", 9.0),
]


@pytest.mark.parametrize(("name", "where", "measure", "times"), AGAINST)
def test_a_world_against_a_claim_refutes_it(
    name: str, where: Callable[[Row], bool], measure: str, times: float
) -> None:
    def world(one: Row) -> Row:
        found = as_the_dissertation_says(one)
        return found | {measure: _times(found[measure], times)} if where(one) else found

    assert verdicts(world, [name]) == {name: "refuted"}


def with_series(where: Callable[[Row], bool], latency_at: Callable[[float], float]) -> Callable[[Row], Row]:
    """A world in which all classes of some runs have different latencies over time, in seconds."""

    def world(one: Row) -> Row:
        found = as_the_dissertation_says(one)
        series = [latency_at(at / 10) for at in range(100)]
        return found | {f"series_{k}": series for k in classes(one["workload"])} if where(one) else found

    return world


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("ABD-3", with_series(of("D", "ABD"), lambda time: 0.001 * (1 + time))),  # starves
        ("ABD-4", lambda one: as_the_dissertation_says(one) | ({"inversion_mean": 0.2} if of("E", "ABD")(one) else {})),
        ("SC-4", with_series(of("5O"), lambda time: 0.001 * (1 + max(0.0, 100 * (time - 6.0))))),  # rises late
        ("SC-4", with_series(of("5O"), lambda time: 0.001 if time < 3.6 else 0.005)),  # does not run away
        ("SC-4", with_series(of("5O_16"), lambda time: 0.001 * (1 + max(0.0, 100 * (time - 5.0))))),  # not the same
    ],
)
def test_other_series_refute(name: str, world: Callable[[Row], Row]) -> None:
    assert verdicts(world, [name]) == {name: "refuted"}


def test_a_short_run_does_not_judge_what_an_overload_makes_grow() -> None:
    """ABD-1 and ABD-2: WeHR's class 3 has not reached 2 s, because the run is shorter than that."""

    def world(one: Row) -> Row:
        early = {"mean_3": 0.05, "weighted_mean": 0.01} if of("D", "WeHR")(one) else {}
        return as_the_dissertation_says(one) | early

    ids, short = ["ABD-1", "ABD-2"], single_and_dual.points(Profile("short", tuples=150, seeds=4))
    found = judged(world, ids, short)
    assert {name: claim["verdict"] for name, claim in found.items()} == dict.fromkeys(ids, "inconclusive")
    assert "takes 50.1 ms" in found["ABD-2"]["measured"]  # reported, though not judged
    assert verdicts(world, ids) == dict.fromkeys(ids, "refuted")


def test_one_tenth_of_a_second_is_no_burst() -> None:
    """ABD-8: over half a second class 1 is the lowest, inside the burst as well as outside."""

    def world(one: Row) -> Row:
        found = as_the_dissertation_says(one)
        if one["profile"] == ADAPTIVE:
            usual = found["mean_1"]
            found["series_1"] = [1.3 * usual if at == 57 else usual for at in range(100)]
        return found

    found = judged(world, ["ABD-8"])["ABD-8"]
    assert found["verdict"] == "refuted"
    assert "fails: class 1 not lowest in the half second of the burst" in found["measured"]


def test_a_faster_system_stays_below_the_limits_of_plots() -> None:
    def world(one: Row) -> Row:
        found = as_the_dissertation_says(one)
        return {name: _times(value, 0.1) if "p90" in name else value for name, value in found.items()}

    assert verdicts(world, ["SC-2"]) == {"SC-2": "reproduced"}


def test_there_is_a_world_against_every_claim() -> None:
    exact = {"ABD-0"}  # computed from the schedule, not measured
    assert {name for name, *_ in AGAINST} == set(IDS) - exact


def test_the_wait_of_the_most_important_class() -> None:
    assert waits("ABCDABACEABCDAB", "A") == 3
    assert waits("AAAAABBBBCCCDDE", "A") == 10
    assert waits("BA", "A") == 1


def test_a_schedule_is_judged_for_every_seed_alike() -> None:
    found = judged(as_the_dissertation_says)["ABD-0"]
    assert (found["value"], found["interval"]) == (3.0, [3.0, 3.0])
    assert "10 under CQC" in found["measured"]


def test_the_texts_have_other_readings() -> None:
    texts = {name: claim["measured"] for name, claim in judged(as_the_dissertation_says).items()}
    assert "with debt as printed: 9.4, reproduced" in texts["CQC-1"]
    for label in ("with passes until the slice is used up", "with CQC's debt as printed", "without inputs in step"):
        assert f"{label}: 0.43, reproduced" in texts["ABD-4"]
    assert "without inputs in step: 1, reproduced" in texts["SC-1"]


def test_claims_stay_open_where_seeds_disagree() -> None:
    def torn(one: Row) -> Row:
        found = as_the_dissertation_says(one)
        if one["seed"] % 2 or one["scheduler"] not in ("CQC single", "ABD"):
            return found
        return found | {
            name: _times(value, 5.0) for name, value in found.items() if name.startswith(("mean", "weight"))
        }

    found = verdicts(torn)
    assert {found[name] for name in ("CQC-1", "CQC-2", "ABD-1", "ABD-4", "ABD-6")} == {"inconclusive"}


def test_claims_stay_open_where_nothing_was_measured() -> None:
    def world(one: Row) -> Row:
        found = as_the_dissertation_says(one)
        return {name: [None] * 100 if isinstance(value, list) else None for name, value in found.items()}

    assert verdicts(world) == dict.fromkeys(IDS, "inconclusive") | {"ABD-0": "reproduced"}


def test_a_rise_begins_where_a_response_stays_high() -> None:
    calm = [1.0] * 36
    assert knee([*calm, *[5.0] * 31]) == pytest.approx(3.6)
    assert knee([*calm, 5.0, 1.0, *[5.0] * 29]) == pytest.approx(3.8)
    assert knee([*calm, None, *[5.0] * 30]) == pytest.approx(3.6)
    assert knee([1.0] * 67) == pytest.approx(6.667)  # not before the end
    assert math.isnan(knee([None] * 67))


@pytest.mark.parametrize("profile", [FULL, COARSE])
def test_points_are_complete_and_distinct(profile: Profile) -> None:
    points = [*single_and_dual.points(profile), *scalability.points(profile)]
    keys = ["workload", "scheduler", "tuples", "seed", "low", "profile", "in_step"]
    assert all(list(one) == keys for one in points)
    assert len({tuple(one.values()) for one in points}) == len(points)
    assert all(one["workload"] in workloads() for one in points)
    for one in points:
        given = settings(one["scheduler"])
        assert make_policy(given.name, given.parameters).name == given.name


def test_experiments_with_changes_have_a_fixed_length() -> None:
    for one in (*single_and_dual.points(COARSE), *scalability.points(COARSE)):
        if one["profile"] == ADAPTIVE:
            assert input_seconds(one) > 6.5
        if one["workload"].startswith("5O"):
            assert input_seconds(one) == pytest.approx(6.667)


def test_longer_and_larger_runs_weigh_more() -> None:
    small, large = ({"workload": name, "tuples": 100, "profile": ""} for name in ("5S_2", "5S_16"))
    assert input_tuples(large) == pytest.approx(8 * input_tuples(small))
    assert input_tuples(small | {"tuples": 200}) == pytest.approx(2 * input_tuples(small))


def test_a_coarse_profile_leaves_out_runs_of_fixed_length() -> None:
    points = STUDY.points(COARSE)
    assert not any(map(has_its_time, points))
    ours = (*single_and_dual.points(COARSE), *scalability.points(COARSE))
    rows = [one | as_the_dissertation_says(one) for one in ours if one in points]
    found = {claim.id: claim.judged(SweepResults(rows)) for claim in CLAIMS}
    assert {name for name, claim in found.items() if claim["measured"] == "not run at this size"} == {"ABD-8", "SC-4"}
    assert {found[name]["verdict"] for name in ("ABD-8", "SC-4")} == {"inconclusive"}
    assert any(map(has_its_time, STUDY.points(FULL)))


@pytest.mark.parametrize(
    "phrase",
    ["process CPU time", "as fitted", "within a factor of 2", "pictures without numbers", "printed formula", "Poisson"],
)
def test_the_notes_say_how_the_dissertation_is_read(phrase: str) -> None:
    assert phrase in " ".join(STUDY.notes)


def test_the_notes_say_which_bounds_are_wider_than_printed() -> None:
    notes = " ".join(STUDY.notes)
    start, end = piat.EPISODE_S
    assert f"looked for from {start:g} to {end:g} s" in notes
    assert all(f"({name}" in notes for name in ("CQC-4", "ABD-2", "SC-2", "CMP-4", "CMP-21"))


def test_tiny_runs_from_end_to_end(tmp_path: Path) -> None:
    """Runs of fixed length are made up: they would take most of the test's time."""
    profile = Profile("tiny", tuples=40, seeds=1, coarse=True)
    points = [*single_and_dual.points(profile), *scalability.points(profile)]
    long = [one for one in points if one["profile"] == ADAPTIVE or one["workload"].startswith("5O")]
    rows = sweep(STUDY.run, [one for one in points if one not in long], weight=STUDY.weight)
    results = SweepResults([*rows, *(one | as_the_dissertation_says(one) for one in long)])
    found = {claim.id: claim.judged(results) for claim in CLAIMS}
    assert {name for name, claim in found.items() if claim["verdict"] == "inconclusive"} == set(IDS) - {"ABD-0"}
    assert all(row["mean_1"] > 0.0 for row in rows)
    drawn = {chart.name: chart for chart in charts(results)}
    assert {"figure-05", "figure-12", "figure-14", "figure-70", "figure-83"} <= set(drawn)
    assert all(path.stat().st_size for path in draw([drawn["figure-09"], drawn["figure-14"]], tmp_path))


def test_boxes_have_the_percentiles_of_each_class() -> None:
    rows = [one | as_the_dissertation_says(one) for one in single_and_dual.points(COARSE)]
    chart = next(chart for chart in charts(SweepResults(rows)) if chart.name == "figure-09")
    assert isinstance(chart, BoxChart)
    assert list(chart.groups) == ["1", "2", "3"]
    assert list(chart.boxes) == ["CQC", "ABD", "WeHR"]
    box = chart.boxes["CQC"][0]
    assert box is not None
    assert (box.p10, box.p50, box.mean) == pytest.approx((1.25, 2.5, 5.0))
