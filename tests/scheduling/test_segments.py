"""Capacities and segments: the worked examples of Jiang and Chakravarthy's strategies, then properties."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.application.explain import AssumedStats
from headgate.application.load import load_application
from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Plan
from headgate.plan.paths import find_paths
from headgate.scheduling.segments import (
    Step,
    find_segments,
    operator_release,
    partition,
    path_capacity,
    path_cost,
    path_selectivity,
    path_steps,
    prune,
    segment_release,
)
from tests.application.apps import GOOD, write_app


def steps_of(costs: list[float], selectivities: list[float], sizes: list[float] | None = None) -> list[Step]:
    """A path; `sizes` are those of the tuples between its operators, beginning with the input."""
    given = sizes or [1.0] * len(costs)
    outputs = [*given[1:], 0.0]
    return [
        Step(f"O{i}", c, s, before, after)
        for i, (c, s, before, after) in enumerate(zip(costs, selectivities, given, outputs, strict=True), start=1)
    ]


def sets(releases: list[float]) -> list[set[int]]:
    """The segments as sets of operator numbers from 1, as the tables print them."""
    return [set(range(first + 1, end + 1)) for first, end in partition(releases)]


# T4: c = (1, 2, 4), sigma = (.5, .5, 1), size 1


def test_capacities() -> None:
    steps = steps_of([1, 2, 4], [0.5, 0.5, 1])
    assert path_cost(steps) == 3.0
    assert path_capacity(steps) == pytest.approx(1 / 3)
    assert [operator_release(step) for step in steps] == [0.5, 0.25, 0.25]
    assert sets([0.5, 0.25, 0.25]) == [{1}, {2, 3}]
    assert path_capacity(steps[1:]) == 0.25
    assert segment_release(steps[1:]) == 0.25


def test_corrected_segment_capacity() -> None:
    """(3.1) with the product to k-1: 0.5, where the printed one gives 0.5556."""
    assert path_capacity(steps_of([1, 5], [0.2, 0.8])) == pytest.approx(0.5)


def test_join_example() -> None:
    """T1: select (sigma 0.2, capacity 1), then join (sigma 0.8, capacity 0.2)."""
    steps = steps_of([1, 5], [0.2, 0.8])
    assert [operator_release(step) for step in steps] == pytest.approx([0.8, 0.2])
    assert sets([0.8, 0.2]) == [{1}, {2}]
    # Were its results to wait for another operator, the join would release 0.04 only.
    assert operator_release(steps_of([1, 5, 1], [0.2, 0.8, 1.0])[1]) == pytest.approx(0.04)


# T5


@pytest.mark.parametrize(
    ("releases", "segments"),
    [
        ([0.8, 0.65, 0.5, 0.7], [{1}, {2}, {3, 4}]),
        ([0.8, 0.5, 0.6], [{1}, {2, 3}]),
        ([0.4, 0.5, 0.3, 0.6], [{1, 2}, {3, 4}]),
        ([0.9, 0.6, 0.3, 0.2], [{1}, {2}, {3}, {4}]),
        ([0.5, 0.9, 0.8], [{1, 2}, {3}]),
        ([0.5, 0.5], [{1, 2}]),
        ([0.7], [{1}]),
        ([], []),
    ],
)
def test_partition(releases: list[float], segments: list[set[int]]) -> None:
    assert sets(releases) == segments


def test_unknown_releases_do_not_cut() -> None:
    assert partition([0.9, None, 0.1, 0.05]) == [(0, 3), (3, 4)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_pruning(order: tuple[int, ...]) -> None:
    segments = [("A", "B"), ("C", "D"), ("X", "C", "D")]
    assert set(prune(segments[i] for i in order)) == {("A", "B"), ("X", "C", "D")}


@given(st.lists(st.lists(st.sampled_from("ABCDEF"), min_size=1, unique=True).map(tuple)), st.randoms())
def test_pruning_keeps_the_maximal_ones_in_any_order(segments: list[tuple[str, ...]], random) -> None:  # type: ignore[no-untyped-def]
    kept = {frozenset(segment) for segment in prune(segments)}
    everything = {frozenset(segment) for segment in segments}
    assert kept == {one for one in everything if not any(one < other for other in everything)}
    shuffled = list(segments)
    random.shuffle(shuffled)
    assert {frozenset(segment) for segment in prune(shuffled)} == kept


@given(st.lists(st.floats(-10, 10), max_size=8))
def test_segments_never_slow_down(releases: list[float]) -> None:
    ranges = partition(releases)
    assert [i for first, end in ranges for i in range(first, end)] == list(range(len(releases)))
    for first, end in ranges:
        assert releases[first:end] == sorted(releases[first:end])


def test_sizes_count() -> None:
    """T5's last row: equal times, sizes 10, 9.5, 8.6, 7.8, cut between the second and third operator."""
    steps = [Step(f"O{i}", 1.0, 1.0, a, b) for i, (a, b) in enumerate([(10, 9.5), (9.5, 8.6), (8.6, 7.8)])]
    releases = [operator_release(step) for step in steps]
    assert releases == pytest.approx([0.5, 0.9, 0.8])
    assert partition(releases) == [(0, 2), (2, 3)]
    assert segment_release(steps[:2]) == pytest.approx(0.7)


def test_costs_of_zero() -> None:
    steps = steps_of([0, 0], [1, 0.5])
    assert path_capacity(steps) == math.inf
    assert operator_release(steps[0]) == 0.0
    assert operator_release(steps[1]) == math.inf


def test_unknown_numbers() -> None:
    steps = [Step("a", 1.0, None, 1, 1), Step("b", None, 0.5, 1, 0)]
    assert path_cost(steps) is path_capacity(steps) is path_selectivity(steps) is None
    assert operator_release(steps[0]) is segment_release(steps) is None
    assert path_capacity(steps[:1]) == 1.0


# In a plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return load_application(write_app(tmp_path)).plan


def test_a_path_through_a_branch(plan: Plan) -> None:
    path = next(p for p in find_paths(plan) if p.operators[:2] == ("some/parts", "some/high"))
    steps = path_steps(plan, AssumedStats(plan), path)
    assert [step.selectivity for step in steps] == [0.1, 1.0, 1.0]
    assert steps[-1].output_bytes == 0.0
    assert steps[0].input_bytes == 12.0  # an INT and a DOUBLE


def test_segments_cover_the_plan_whatever_the_order(plan: Plan) -> None:
    for stats in (DeclaredStats(plan), AssumedStats(plan)):
        segments = find_segments(plan, stats)
        assert {name for segment in segments for name in segment.operators} == set(plan.operators)
        assert find_segments(plan, stats, find_paths(plan)[::-1]) == segments
        assert [segment.id for segment in segments] == [f"S{i}" for i in range(1, len(segments) + 1)]


def test_shared_operators_are_pruned(tmp_path: Path) -> None:
    """The path of `more` continues that of `some`, so the segments of `some` that end there are swallowed."""
    text = GOOD.replace('where: "k = 3"}', 'where: "k = 3", cost: 1us}').replace(
        "inputs: [low, high]}", "inputs: [low, high], cost: 1 ms}"
    )
    plan = load_application(write_app(tmp_path, text)).plan
    operators = [segment.operators for segment in find_segments(plan, AssumedStats(plan))]
    assert any(one[-2:] == ("some/both", "more/few") for one in operators)
    assert not any(one[-1] == "some/both" for one in operators)
