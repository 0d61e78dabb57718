"""The path and segment study: plans, bursts, one small run of each policy, and every claim judged."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from headgate.plan.paths import find_paths
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.paths import STUDY, points
from headgate_lab.studies.paths.measures import backlog, bursts, in_parts, pattern
from headgate_lab.studies.paths.plans import (
    OPERATORS,
    QUERIES,
    STREAMS,
    DrawnOperator,
    Numbers,
    draw_trees,
    leaf_work_by_stream,
    leaves_by_stream,
    work_by_stream,
)
from headgate_lab.studies.paths.runs import (
    BASE,
    BUSY,
    COMPARED,
    CONTEXT,
    HIGHEST,
    LOADS,
    MEMORIES_S,
    SERIES,
    SETTINGS,
    StudySize,
    run_point,
    study_points,
)
from headgate_lab.studies.paths.workload import (
    MOST_IN_SURGE,
    SURGE,
    application,
    stream_rates,
    surge_factor,
    trees_of,
)
from headgate_lab.studies.seconds_monitor import SecondsMonitor
from headgate_lab.studies.study import Profile, reproduce

Row = dict[str, Any]
IDS = [f"PATHS-C{number}" for number in range(1, 11)]
CALM, SCARCE = LOADS[0], MEMORIES_S[0]


def point(
    policy: str = "pcs", setting: str = BASE, load: float = HIGHEST, size: StudySize | None = None
) -> dict[str, Any]:
    size = size or StudySize(30.0, 60, 1)
    wanted = {"policy": policy, "setting": setting, "load": load}
    return next(p for p in study_points(size) if all(p[key] == value for key, value in wanted.items()))


@pytest.mark.parametrize("seed", range(20))
def test_sixteen_trees_of_116_operators(seed: int) -> None:
    trees = draw_trees(seed)
    assert len(trees) == QUERIES
    assert sum(tree.operators for tree in trees) == OPERATORS
    plan = application({**point(), "seed": seed}).plan
    assert len(plan.operators) == OPERATORS
    assert len(find_paths(plan)) == sum(leaves_by_stream(trees))
    assert {len({path.stream for path in find_paths(plan) if path.query == q}) for q in plan.queries} <= {1, 2, 3, 4, 5}


def test_numbers_are_in_their_ranges() -> None:
    plan = application(point()).plan
    passed = [operator.declared.selectivity or 0.0 for operator in plan.operators.values()]
    assert 0.05 <= min(passed) < 0.2
    assert 0.9 < max(passed) <= 1.0
    costs = {tree.cost_s for tree in draw_trees(0, Numbers(1.0, 1.0, least_times=2.0, most_times=2.0))}
    assert costs <= {1.0, 2.0}  # a leaf, or above one


def of_all(trees: list[DrawnOperator]) -> tuple[list[DrawnOperator], list[DrawnOperator]]:
    """The leaves, and the others."""
    leaves, others, waiting = [], [], list(trees)
    while waiting:
        node = waiting.pop()
        (leaves if isinstance(node.inputs[0], int) else others).append(node)
        waiting += [source for source in node.inputs if isinstance(source, DrawnOperator)]
    return leaves, others


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cost_s", "selectivity"])
def test_leaves_are_the_fastest_and_pass_the_least(seed: int, name: str) -> None:
    first, second = (
        [[getattr(node, name) for node in some] for some in of_all(draw_trees(seed, Numbers(leaves_first=ordered)))]
        for ordered in (True, False)
    )
    assert max(first[0]) <= min(first[1])
    assert max(second[0]) > min(second[1])
    assert sorted([*first[0], *first[1]]) == pytest.approx(
        sorted([*second[0], *second[1]])
    )  # the same draws, exchanged


@pytest.mark.parametrize("seed", range(5))
def test_in_a_surge_the_leaves_can_fill_the_processor(seed: int) -> None:
    at = {**point(), "seed": seed}
    trees, rates = trees_of(at), stream_rates(at)
    at_leaves = sum(rate * work for rate, work in zip(rates, leaf_work_by_stream(trees), strict=True))
    length, factor = SURGE[1] - SURGE[0], surge_factor(at, trees, rates)
    usual = 1.0 / (1.0 + length * (factor - 1.0))  # the rates outside the surge, over the mean
    assert factor * usual * at_leaves == pytest.approx(min(1.0, MOST_IN_SURGE / length * at_leaves))
    assert surge_factor({**at, "surge": 0.0}, trees, rates) == 1.0


def test_only_busy_phases_have_surges() -> None:
    plans = {load: application(point(load=load)).plan for load in LOADS}
    assert {load for load in LOADS if plans[load].streams["s0"].source["changes"]} == set(BUSY)


def test_some_joins_grow_when_they_may() -> None:
    declared = [
        o.declared.selectivity or 0.0 for o in application(point(setting="growing joins")).plan.operators.values()
    ]
    assert 1 <= sum(share > 1.0 for share in declared) <= 12


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("setting", list(SETTINGS))
def test_rates_bring_the_wanted_load(load: float, setting: str) -> None:
    at = {**point(setting=setting), "load": load}
    busy = sum(rate * work for rate, work in zip(stream_rates(at), work_by_stream(trees_of(at)), strict=True))
    assert busy == pytest.approx(load)


def test_the_mean_number_of_tuples_is_as_requested() -> None:
    rows = [stream.source["rows"] for stream in application(point(size=StudySize(100.0, 500, 1))).plan.streams.values()]
    assert sum(rows) / STREAMS == pytest.approx(500, rel=0.01)


def test_policies_share_plans_and_arrivals() -> None:
    first, second = (application(point(policy)) for policy in ("pcs", "chain"))
    assert first.plan == second.plan
    assert first.seed == second.seed


def test_the_backlog_of_a_busy_machine() -> None:
    assert backlog(np.array([0.5, 2.0, 1.5, 0.5, 0.0, 0.2])).tolist() == pytest.approx([0, 1, 1.5, 1.0, 0, 0])


def test_a_burst_lasts_until_its_backlog_is_largest() -> None:
    levels = np.array([0.0] * 3 + [1.0, 2, 3, 4, 5, 4, 3, 2, 1, 0.5] + [0.0] * 2 + [9.0] * 9 + [0.0])
    during, after = bursts(levels)
    assert np.flatnonzero(during).tolist() == [3, 4, 5, 6, 7]
    assert np.flatnonzero(after).tolist() == [8, 9, 10, 11, 12]  # nine seconds at the end are too short


def test_the_pattern_of_a_run() -> None:
    outputs = np.array([1.0, 1, 0, 4, 1, 1, 1, 1, 0, 0])
    latencies = np.array([1.0, 1, math.nan, 3, 1, 1, 1, 1, math.nan, math.nan])
    during, after = np.zeros(10, dtype=bool), np.zeros(10, dtype=bool)
    during[1:3], after[3] = True, True
    found = pattern(outputs, latencies, during, after)
    assert found["output_peak"] == 4.0
    assert found["output_in_bursts"] == 0.5
    assert found["silent_in_bursts"] == 0.5
    assert found["output_least_in_bursts"] == 0.0
    assert found["output_peak_after_bursts"] == 4.0
    assert found["latency_in_or_after_bursts_s"] == 2.0
    assert found["latency_else_s"] == 1.0
    assert found["output_cv_10s"] == 0.0


def test_without_bursts_their_figures_are_unknown() -> None:
    none = np.zeros(10, dtype=bool)
    found = pattern(np.ones(10), np.ones(10), none, none)
    assert math.isnan(found["output_in_bursts"])
    assert found["burst_seconds"] == 0


def test_the_monitor_counts_every_second() -> None:
    monitor = SecondsMonitor(application(point()).plan)
    monitor.results("q0", [0.5, 2.5, 2.6], [0.1, 0.2, 0.4])
    monitor.memory_levels(np.array([0.1, 0.9, 3.0]), np.array([100.0, 200.0, 50.0]))
    outputs, latencies = monitor.series(4)
    assert outputs.tolist() == [1, 0, 2, 0]
    assert latencies[[0, 2]].tolist() == pytest.approx([0.1, 0.3])
    assert monitor.memory_series(4).tolist() == [200, 200, 200, 50]
    assert in_parts(latencies, 4) == [pytest.approx(0.1), None, pytest.approx(0.3), None]


@pytest.mark.parametrize("policy", [*COMPARED, *CONTEXT, "threshold"])
def test_one_run(policy: str) -> None:
    found = run_point(point(policy))
    assert found["realised_load"] == pytest.approx(HIGHEST, rel=0.15)  # few tuples, so the drawn selectivities vary
    assert found["outputs"] == run_point(point("pcs"))["outputs"]
    assert len(found["series_outputs"]) == SERIES


def test_the_points() -> None:
    listed = study_points(StudySize(100.0, 10, 4))
    keys = [(p["seed"], p["load"], p["policy"], p["setting"], p["memory_s"]) for p in listed]
    assert len(set(keys)) == len(keys)
    assert {p["seed"] for p in listed if p["setting"] != BASE} == {0, 1}
    thresholds = {(p["memory_s"], p["seed"]) for p in listed if p["policy"] == "threshold"}
    assert thresholds == set(product(MEMORIES_S, (0, 1)))
    assert {p["policy"] for p in listed} == {*COMPARED, *CONTEXT, "threshold"}
    assert {p["setting"] for p in points(Profile("quick", 10, 2, coarse=True))} == {BASE}
    assert {p["seconds"] for p in points(STUDY.full) if p["setting"] == BASE} == {4000.0}


RANKS = {"pcs": 0.0, "simplified-segment": 0.4, "chain": 1.0, "threshold": 0.0}  # from PCS towards Chain


def as_the_paper_says(one: Row) -> Row:
    """What a run would have measured in the report's world, where policies differ more as the load rises."""
    pressure = 0.001 if one["load"] == CALM else one["load"] ** 4
    apart = 1.0 + RANKS.get(one["policy"], 0.5) * pressure
    saves = one["policy"] == "threshold" and one["memory_s"] == SCARCE
    held = 1.0 / (1.0 + pressure) if saves else 1.0 / apart
    measures = dict.fromkeys(("latency_worst_second_s", "output_cv", "output_cv_10s", "output_peak"), apart)
    measures |= {"latency_by_second_s": 0.5 * apart, "latency_in_or_after_bursts_s": 3.0 * apart, "latency_else_s": 1.0}
    measures |= {"output_in_bursts": 1.0 / apart, "output_peak_after_bursts": 4.0 * apart, "outputs": 7.0}
    measures |= {"silent_in_bursts": 0.1, "output_least_in_bursts": 0.0, "burst_seconds": 20.0}
    return measures | {"memory_mean_tuples": held, "memory_peak_tuples": held}


def judged(world: Callable[[Row], Row]) -> dict[str, str]:
    """Verdicts on made-up rows, with a little noise by seed."""
    rows = []
    for one in study_points(StudySize(100.0, 10, 10, (BASE,))):
        noise = 1 + 0.001 * one["seed"]
        rows.append({**one, **{name: value * noise for name, value in world(one).items()}})
    return {claim.id: claim.judged(SweepResults(rows))["verdict"] for claim in STUDY.claims}


def test_every_claim_holds_in_the_papers_world() -> None:
    assert judged(as_the_paper_says) == dict.fromkeys(IDS, "reproduced")


# For each claim, what differs in a world that contradicts it: in which runs, which measure, by which factor.
AGAINST: list[tuple[int, Callable[[Row], bool], str, float]] = [
    (1, lambda one: one["policy"] == "chain", "latency_by_second_s", 0.1),
    (2, lambda one: one["policy"] == "chain" and one["load"] == HIGHEST, "latency_by_second_s", 0.5),
    (3, lambda one: one["load"] == CALM, "latency_by_second_s", 10.0),
    (3, lambda one: one["policy"] == "chain" and one["load"] == CALM, "latency_worst_second_s", 0.1),
    (3, lambda one: one["policy"] == "simplified-segment", "latency_in_or_after_bursts_s", 0.2),
    (4, lambda one: one["policy"] == "pcs", "output_cv", 10.0),
    (5, lambda one: one["policy"] == "chain", "output_in_bursts", 10.0),
    (5, lambda one: one["policy"] == "chain", "output_peak_after_bursts", 10.0),
    (6, lambda one: one["policy"] == "chain" and one["load"] == CALM, "output_cv", 1.2),
    (7, lambda one: one["policy"] == "chain", "silent_in_bursts", 0.0),
    (8, lambda one: one["policy"] == "chain" and one["load"] == CALM, "outputs", 0.9),
    (9, lambda one: one["policy"] == "pcs", "memory_peak_tuples", 0.1),
    (10, lambda one: one["policy"] == "threshold" and one["memory_s"] == MEMORIES_S[-1], "latency_by_second_s", 1.2),
    (10, lambda one: one["policy"] == "threshold" and one["memory_s"] == SCARCE, "memory_peak_tuples", 1.4),
    (10, lambda one: one["policy"] == "threshold" and one["memory_s"] == SCARCE, "output_cv", 1.2),
]


@pytest.mark.parametrize(("number", "where", "measure", "times"), AGAINST)
def test_a_world_against_a_claim_refutes_it(
    number: int, where: Callable[[Row], bool], measure: str, times: float
) -> None:
    def world(one: Row) -> Row:
        found = as_the_paper_says(one)
        return found | {measure: found[measure] * times} if where(one) else found

    assert judged(world)[f"PATHS-C{number}"] == "refuted"


def test_there_is_a_world_against_every_claim() -> None:
    assert {f"PATHS-C{number}" for number, *_ in AGAINST} == set(IDS)


def test_every_claim_has_its_place() -> None:
    assert [claim.id for claim in STUDY.claims] == IDS
    assert {claim.figure for claim in STUDY.claims} == {"Figure 2", "Figure 3", "Figure 4", "no figure"}


def test_a_tiny_study_from_end_to_end() -> None:
    profile = Profile("quick", tuples=10, seeds=1, coarse=True)
    outcome = reproduce(STUDY, profile, None)
    assert [claim["id"] for claim in outcome.claims] == [claim.id for claim in STUDY.claims]
    assert next(claim["value"] for claim in outcome.claims if claim["id"] == "PATHS-C8") == 0.0
    named = {chart.name for chart in STUDY.charts(outcome.results)}
    assert {"latency", "memory-peak", "output-over-time", "threshold"} <= named


def test_a_ratio_to_nothing_leaves_a_claim_open() -> None:
    """Very short runs are like this: Chain gives no result in the bursts of one seed."""

    def world(one: Row) -> Row:
        silent = one["policy"] == "chain" and one["seed"] == 0
        return as_the_paper_says(one) | ({"output_in_bursts": 0.0} if silent else {})

    assert judged(world) == dict.fromkeys(IDS, "reproduced") | {"PATHS-C5": "inconclusive"}


def test_claims_stay_open_where_nothing_was_measured() -> None:
    """Without a single result, the only thing known is that all policies gave equally many."""

    def world(one: Row) -> Row:
        return dict.fromkeys(as_the_paper_says(one), math.nan) | {"outputs": 0.0, "burst_seconds": 0.0}

    assert judged(world) == dict.fromkeys(IDS, "inconclusive") | {"PATHS-C8": "reproduced"}


def test_the_text_on_total_output_says_that_it_cannot_differ() -> None:
    rows = [one | as_the_paper_says(one) for one in study_points(StudySize(100.0, 10, 2, (BASE,)))]
    (claim,) = (claim for claim in STUDY.claims if claim.id == "PATHS-C8")
    assert "By construction it cannot be otherwise" in claim.judged(SweepResults(rows))["measured"]


def test_the_notes_say_how_the_report_is_read() -> None:
    notes = " ".join(STUDY.notes)
    assert f"{STUDY.full.tuples:,} by default" in notes
    assert "Joins do not grow" in notes
    assert SETTINGS[BASE].growing_joins == 0.0


@pytest.mark.study
def test_path_capacity_has_the_least_latency_in_every_phase() -> None:
    """PATHS-C1's first half, at a size that takes minutes."""
    listed = [p for p in study_points(StudySize(1000.0, 4000, 5, (BASE,))) if p["policy"] in COMPARED]
    results = SweepResults([{**p, **run_point(p)} for p in listed])
    for load in LOADS:
        pcs, *others = (results.by_seed("latency_s", policy=policy, load=load) for policy in COMPARED)
        for other in others:
            assert sum(other.values()) > sum(pcs.values())
