"""The AQSIOS study: latencies over time, and workloads that change."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from headgate_lab.studies.aqsios.over_time import (
    between,
    fluctuation,
    growth,
    in_stage,
    inversion,
    inversion_over_time,
    knee,
    late_inversion,
    mean_between,
    nearest,
    stage_inversion,
    stages,
)
from headgate_lab.studies.aqsios.quantities import Found, Quantity, Runs
from headgate_lab.studies.aqsios.readings import AS_JUDGED
from headgate_lab.studies.aqsios.runs import run_point
from headgate_lab.studies.aqsios.taken_back import WINDOW_S, TakingBackMonitor
from headgate_lab.studies.aqsios.workload import application, costs, input_seconds, input_tuples, workloads
from headgate_lab.studies.claims import SweepResults

Row = dict[str, Any]
RUNS = Runs("5I", "MBD", profile="pr-change")


def test_whole_tenths_of_a_second_between_two_times() -> None:
    means = [1.0, None, 3.0, 4.0, 5.0]
    assert between(means, 0.0, 0.3) == [1.0, 3.0]
    assert between(means, 0.15, 0.45) == [3.0, 4.0]
    assert mean_between(means, 0.2, 0.4) == 3.5
    assert math.isnan(mean_between(means, 0.1, 0.2))


def test_tenths_of_a_second_next_to_two_times() -> None:
    means = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert between(means, 0.14, 0.37, nearest) == [2.0, 3.0, 4.0]
    assert between(means, 0.16, 0.34, nearest) == [3.0]
    assert between(means, 0.1, 0.3, nearest) == between(means, 0.1, 0.3)


def test_stages_of_priorities() -> None:
    assert [(start, end) for start, end, _ in stages("piat")] == [(0.0, 4.5), (4.5, 7.5), (7.5, 10.0)]
    assert stages("pr-change")[1] == (1.0, 2.0, [50, 40, 30, 20, 20])


def test_inversion_of_means() -> None:
    assert inversion([2, 1, 3, 4, 5], [50, 40, 30, 20, 10]) == pytest.approx(1.25)
    assert inversion([2, 1, 3, 4, 5], [40, 40, 30, 20, 10]) == 0.0  # equal priorities do not count
    assert inversion([2, math.nan, 1, 4, 5], [50, 40, 30, 20, 10]) == 0.0
    assert inversion([3, 1, 2], [20, 30, 10]) == pytest.approx(2 * 0.5)  # by priority, not by number


def _of(quantity: Quantity, first: Sequence[float]) -> float:
    """A quantity of a run in which class 1 has these means over time, and class k a mean of k ms."""
    series = {"series_1": [1e-3 * mean for mean in first], **{f"series_{k}": [1e-3 * k] * 30 for k in range(2, 6)}}
    return quantity.by_seed(Found(SweepResults([RUNS.point(1200, 0) | series]), AS_JUDGED))[0]


def test_inversion_uses_the_priorities_of_the_moment() -> None:
    above_2 = [2.5] * 30  # class 2 is as important in the first second
    assert _of(stage_inversion(RUNS, 0), above_2) == 0.0
    assert _of(stage_inversion(RUNS, 1), above_2) == pytest.approx(1.25 * 0.25)
    assert _of(stage_inversion(RUNS), above_2) == pytest.approx(2 * 1.25 * 0.25)
    assert _of(inversion_over_time(RUNS), above_2) == pytest.approx(2 * 1.25 * 0.25)
    assert _of(inversion_over_time(RUNS, 1.0, 2.0), above_2) == pytest.approx(1.25 * 0.25)
    assert _of(in_stage(RUNS, 2, 1), above_2) == pytest.approx(2.5)


def test_results_just_after_a_change_are_not_compared() -> None:
    late = [1.0] * 10 + [9.0] * 2 + [1.0] * 18
    assert _of(stage_inversion(RUNS, 1), late) == 0.0
    assert _of(inversion_over_time(RUNS), late) > 0.0


def test_growth_and_fluctuation() -> None:
    rising = [1.0] * 6 + [2.0] * 6 + [3.0] * 12 + [6.0] * 6
    assert _of(growth(RUNS, 1), rising) == pytest.approx(3.0)
    assert _of(growth(RUNS, 2), rising) == pytest.approx(1.0)
    assert _of(fluctuation(RUNS), [1.0] * 30) == pytest.approx(0.0)
    assert _of(fluctuation(RUNS), rising) > 0.0


def test_late_inversion_is_that_of_the_second_half() -> None:
    assert _of(late_inversion(RUNS), [9.0] * 15 + [1.0] * 15) == 0.0
    assert _of(late_inversion(RUNS), [1.0] * 15 + [9.0] * 15) > 0.0


def test_a_rise_begins_where_a_response_stays_high() -> None:
    calm = [1.0] * 36
    assert knee([*calm, *[5.0] * 31]) == pytest.approx(3.6)
    assert knee([*calm, 5.0, 1.0, *[5.0] * 29]) == pytest.approx(3.8)
    assert knee([*calm, None, *[5.0] * 30]) == pytest.approx(3.6)
    assert knee([1.0] * 67) == pytest.approx(6.667)  # not before the end
    assert math.isnan(knee([None] * 67))


# Results that are taken back


def test_the_next_result_takes_back_the_one_before_it() -> None:
    plan = application(Runs("A_H", "HR").point(10, 0)).plan
    monitor = TakingBackMonitor(plan, 0.0)
    windowed, other = (next(q for q in plan.queries if kind in q) for kind in ("-join", "-select"))
    monitor.results(windowed, [1.0, 2.0], [0.1, 0.2])  # of tuples that arrived at 0.9 and 1.8
    monitor.results(windowed, [3.0], [0.3])
    monitor.results(other, [1.0, 2.0], [0.1, 0.2])
    times, latencies = monitor.of_query(windowed)
    assert sorted(zip(times, latencies, strict=True)) == [
        (1.0, pytest.approx(0.1)),
        (2.0, pytest.approx(0.2)),
        (2.0, pytest.approx(2.0 - 0.9 - WINDOW_S)),
        (3.0, pytest.approx(0.3)),
        (3.0, pytest.approx(3.0 - 1.8 - WINDOW_S)),
    ]
    assert len(monitor.of_query(other)[0]) == 2


def test_cheap_calls_are_a_variant_of_the_costs() -> None:
    assert costs("cheap calls")["call"] < costs()["call"]
    usual, cheap = (application(Runs("A", "HR", variant=name).point(10, 0)) for name in ("", "cheap calls"))
    assert cheap.simulator.switch_s < usual.simulator.switch_s
    first = next(iter(usual.plan.operators))
    assert usual.plan.operators[first].declared.cost_s == cheap.plan.operators[first].declared.cost_s


def test_longer_and_larger_runs_weigh_more() -> None:
    small, large = ({"workload": name, "tuples": 100, "profile": ""} for name in ("5S_2", "5S_16"))
    assert input_tuples(large) == pytest.approx(8 * input_tuples(small))
    assert input_tuples(small | {"tuples": 200}) == pytest.approx(2 * input_tuples(small))


# Workloads that change


@pytest.mark.parametrize(
    ("workload", "profile", "seconds"),
    [("5I", "sel-change", 2.778), ("5I", "pr-change", 3.0), ("5I", "pr-change-merge", 3.0), ("5L", "piat", 10.0)],
)
@pytest.mark.parametrize("tuples", [100, 10_000])
def test_changes_have_a_fixed_length(workload: str, profile: str, seconds: float, tuples: int) -> None:
    one = Runs(workload, "MBD", profile=profile).point(tuples, 0)
    assert input_seconds(one) == seconds
    rows = application(one).plan.streams["class2-s0"].source["rows"]
    assert rows == round(seconds * workloads()[workload]["classes"][1]["rate"])


def test_changing_selects_declare_their_first_selectivity() -> None:
    usual, changing = (application(Runs("5I", "MBD", profile=profile).point(10, 0)) for profile in ("", "sel-change"))
    for name, operator in changing.plan.operators.items():
        if name in changing.simulator.selectivities:
            assert operator.declared.selectivity == 1.0
        elif name in usual.plan.operators:
            assert operator.declared.selectivity == usual.plan.operators[name].declared.selectivity  # drawn alike
    assert len(changing.simulator.selectivities) == 3 + 2 * 5  # selects, and one before each input of a join


def test_two_of_nine_cores_for_sources() -> None:
    one, two = (application(Runs(workload, "MBD").point(10, 0)) for workload in ("5S_8", "5S_8_7+2"))
    assert one.plan == two.plan
    assert (one.slots, one.simulator.source_slots) == (8, 1)
    assert (two.slots, two.simulator.source_slots) == (7, 2)


@pytest.mark.study
def test_a_change_of_priorities_from_end_to_end() -> None:
    """Class 1 gains when its new priority is followed."""
    fixed, following = (Runs("5I", name, profile="pr-change") for name in ("MBD", "MBD_UP"))
    points = [runs.point(10, 0) for runs in (fixed, following)]
    found = Found(SweepResults([one | run_point(one) for one in points]), AS_JUDGED)
    updates = [found.values(runs, lambda row: row["updates"])[0] for runs in (fixed, following)]
    assert updates[1] == updates[0] + 2
    assert in_stage(following, 1, 1).by_seed(found)[0] < in_stage(fixed, 1, 1).by_seed(found)[0]
