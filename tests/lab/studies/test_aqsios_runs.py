"""The AQSIOS study: which runs it makes, what they measure, its notes and its figures."""

from pathlib import Path

import pytest

from headgate.policies.registry import make_policy
from headgate_lab.studies.aqsios import LONG_SEEDS, OTHER_SEEDS, STUDY, TABLE, points
from headgate_lab.studies.aqsios.charts import charts
from headgate_lab.studies.aqsios.quantities import PARAMETERS, Runs
from headgate_lab.studies.aqsios.runs import run_point
from headgate_lab.studies.aqsios.schedulers import settings
from headgate_lab.studies.aqsios.workload import has_its_time, workloads
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import BoxChart, draw
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import sweep
from tests.lab.studies.aqsios_worlds import (
    FULL,
    World,
    compared,
    judged,
    kind,
    on_cores,
)

IDS = [asked.id for asked in TABLE]
COARSE = Profile("made up", tuples=100, seeds=2, coarse=True)


@pytest.mark.parametrize("profile", [FULL, COARSE])
def test_points_are_distinct_and_known(profile: Profile) -> None:
    listed = points(profile)
    assert len({tuple(one.items()) for one in listed}) == len(listed)
    assert all(set(one) == {*PARAMETERS, "tuples", "seed"} for one in listed)
    assert {one["workload"] for one in listed} <= set(workloads())
    for scheduler in {one["scheduler"] for one in listed}:
        given = settings(scheduler)
        assert make_policy(given.name, given.parameters).name == given.name


def test_a_coarse_profile_leaves_out_long_runs() -> None:
    listed = points(COARSE)
    assert not any(map(has_its_time, listed))
    assert any(map(has_its_time, points(FULL)))
    found = judged(IDS, profile=COARSE)
    assert {claim["verdict"] for claim in found.values()} == {"reproduced", "inconclusive"}
    assert {found[name]["verdict"] for name in ("ABD-8", "SC-4", "SEL-1", "UP-2", "PIAT-7")} == {"inconclusive"}
    assert "not run" in found["ABD-8"]["measured"]


def test_what_overloads_a_class_is_never_shortened() -> None:
    short = points(Profile("short", tuples=100, seeds=1))
    assert {one["tuples"] for one in short if one["scheduler"] in ("PCT", "PCT_S", "WeHR", "CQC single")} == {10_000}
    assert {one["tuples"] for one in short if one["workload"] == "3D_6" and one["scheduler"] == "MBD"} == {100}


def test_what_takes_longest_has_fewer_seeds() -> None:
    def seeds(**where: object) -> set[int]:
        return {one["seed"] for one in listed if where.items() <= one.items()}

    listed = points(Profile("five seeds", tuples=100, seeds=5))
    assert seeds(workload="3D_6", scheduler="MBD") == set(range(5))
    assert seeds(workload="5L") == seeds(profile="pr-change") == seeds(workload="5O_4") == set(range(LONG_SEEDS))
    assert seeds(workload="5G_4", low=1, in_step=True, scheduler="MBD_DSP", variant="") == set(range(LONG_SEEDS))
    assert seeds(scheduler="MOL real") == seeds(variant="taken back") == set(range(OTHER_SEEDS))
    assert {one["seed"] for one in points(Profile("one seed", tuples=100, seeds=1))} == {0}


@pytest.mark.parametrize(
    "phrase",
    ["process CPU time", "as fitted", "within a factor of 2", "pictures without numbers", "taken back", "Poisson"],
)
def test_the_notes_say_how_the_dissertation_is_read(phrase: str) -> None:
    assert phrase in " ".join(STUDY.notes)


def test_headlines_name_claims() -> None:
    assert {claim for headline in STUDY.headlines for claim in headline.claims} <= set(IDS)
    assert {kind(claim) for headline in STUDY.headlines for claim in headline.claims} >= {"CQC", "ABD", "CMP", "UP"}


@pytest.mark.parametrize(
    ("kinds", "world", "against"), [(("CMP",), compared, "MPRR"), (("CQC", "ABD"), on_cores, "HR")]
)
def test_headlines_with_checks_of_their_own_hold_as_published_and_can_fail(
    kinds: tuple[str, ...], world: World, against: str
) -> None:
    def holds(slower: float) -> set[str]:
        rows = [one | world(one) for one in points(FULL, [asked for asked in TABLE if kind(asked.id) in kinds])]
        for one in (one for one in rows if one["scheduler"] in (against, "ABD")):
            one |= {name: value * slower for name, value in one.items() if name.startswith(("mean_", "weighted_mean"))}
        results = SweepResults(rows)
        checked = [headline.entry(results, []) for headline in STUDY.headlines if headline.check]
        return {one["holds"] for one in checked if "not known" not in one["measured"]}

    assert holds(1.0) == {"holds"}
    assert "does not hold" in holds(0.1 if against == "MPRR" else 10.0)


def test_tiny_runs_from_end_to_end(tmp_path: Path) -> None:
    """Runs of fixed length are made up: they would take most of the test's time."""
    table = [asked for asked in TABLE if kind(asked.id) in ("CQC", "ABD", "SC")]
    listed = points(Profile("tiny", tuples=40, seeds=1, coarse=True), table)
    rows = sweep(STUDY.run, listed, weight=STUDY.weight)
    full = Profile("tiny", tuples=40, seeds=1)
    made_up = [one | on_cores(one) for one in points(full, table) if has_its_time(one)]
    results = SweepResults([*rows, *made_up])
    found = {asked.id: asked.claim().judged(results) for asked in table}
    assert {name for name, claim in found.items() if claim["verdict"] == "inconclusive"} == set(found) - {"ABD-0"}
    assert all(row["mean_1"] > 0.0 for row in rows)
    drawn = {chart.name: chart for chart in charts(results)}
    assert {"figure-05", "figure-12", "figure-14", "figure-70", "figure-83"} <= set(drawn)
    assert all(path.stat().st_size for path in draw([drawn["figure-09"], drawn["figure-14"]], tmp_path))


def test_boxes_have_the_percentiles_of_each_class() -> None:
    table = [asked for asked in TABLE if asked.id == "ABD-2"]
    rows = [one | on_cores(one) for one in points(COARSE, table)]
    chart = next(chart for chart in charts(SweepResults(rows)) if chart.name == "figure-09")
    assert isinstance(chart, BoxChart)
    assert (list(chart.groups), list(chart.boxes)) == (["1", "2", "3"], ["CQC", "ABD", "WeHR"])
    box = chart.boxes["CQC"][0]
    assert box is not None
    assert (box.p10, box.p50, box.mean) == pytest.approx((1.25, 2.5, 5.0))


@pytest.mark.parametrize("scheduler", ["MBD", "PCT_S"])
def test_a_short_run_has_all_measures_of_the_claims(scheduler: str) -> None:
    one = Runs("3D_6", scheduler).point(300, 0)
    found = run_point(one)
    assert set(compared(one)) <= set(found)
    early = {name.removeprefix("ended_") for name in found if name.startswith("ended_")}
    assert early == {name for name in compared(one) if not name.startswith("series_")} | (early - set(compared(one)))
