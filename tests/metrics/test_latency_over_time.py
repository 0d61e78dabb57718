"""Latency over time: buckets of any width agree with values computed from all results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.metrics.class_measures import by_priority, priority_inversion
from headgate.metrics.latency_over_time import MOST, LatencyOverTime

PRIORITIES = {"high": 6, "low": 2}

Results = list[tuple[str, float, float, float]]  # class, time, latency, weight
tenths = st.integers(0, 4000).map(lambda number: number / 10)  # on the boundaries of buckets
results = st.lists(
    st.tuples(
        st.sampled_from(list(PRIORITIES)),
        tenths | st.floats(0, 30) | st.floats(0, 1e6),
        st.floats(1e-6, 1e3),
        st.sampled_from([1.0, 0.25, 3.0]),
    ),
    max_size=60,
)


def add(course: LatencyOverTime, found: Results, weighted: bool) -> None:
    for name in PRIORITIES:
        mine = [one[1:] for one in found if one[0] == name]
        if mine:
            times, latencies, weights = np.array(mine).T
            course.add(name, times, latencies, weights if weighted else None)


def expected(found: Results, name: str, at: int, per_second: float, weighted: bool) -> float | None:
    """The mean of a bucket, computed from all results."""
    inside = [one for one in found if one[0] == name and np.floor(one[1] * per_second) == at]
    if not inside:
        return None
    return float(np.average([one[2] for one in inside], weights=[one[3] if weighted else 1.0 for one in inside]))


@settings(deadline=None)
@given(results, st.integers(1, 5), st.booleans())
def test_buckets_agree_with_all_results(found: Results, parts: int, weighted: bool) -> None:
    """Also if results come in several parts, each with times in any order."""
    course = LatencyOverTime(PRIORITIES)
    for part in range(parts):
        add(course, found[part::parts], weighted)
    summary = course.summary(max((time for _, time, _, _ in found), default=0.0))
    per_second = 1.0 / summary["bucket"]
    assert len(summary["times"]) <= MOST
    assert summary["times"] == [pytest.approx(at * summary["bucket"]) for at in range(len(summary["times"]))]
    for name in PRIORITIES:
        wanted = [expected(found, name, at, per_second, weighted) for at in range(len(summary["times"]))]
        assert summary["classes"][name] == [None if one is None else pytest.approx(one) for one in wanted]
    for at, inversion in enumerate(summary["inversion"]):
        means = {name: summary["classes"][name][at] for name in PRIORITIES}
        assert inversion == priority_inversion(by_priority(PRIORITIES), means, PRIORITIES)


@settings(deadline=None)
@given(results, st.floats(0, 1e7))
def test_merging_keeps_counts_and_sums(found: Results, seconds: float) -> None:
    course = LatencyOverTime(PRIORITIES)
    add(course, found, weighted=False)
    counts, sums = course.counts.sum(axis=1), course.sums.sum(axis=1)
    course.summary(seconds)  # makes room for a run of this length
    assert course.counts.sum(axis=1).tolist() == counts.tolist()
    assert course.sums.sum(axis=1) == pytest.approx(sums)


@pytest.mark.parametrize(
    ("seconds", "bucket", "buckets"),
    [(0.0, 0.1, 0), (0.05, 0.1, 1), (12.0, 0.1, 120), (12.01, 0.2, 61), (24.0, 0.2, 120), (3600.0, 51.2, 71)],
)
def test_buckets_cover_the_whole_run(seconds: float, bucket: float, buckets: int) -> None:
    summary = LatencyOverTime(PRIORITIES).summary(seconds)
    assert summary["bucket"] == bucket
    assert len(summary["times"]) == len(summary["inversion"]) == len(summary["classes"]["high"]) == buckets
    assert set(summary["inversion"]) <= {None}


def test_a_result_on_a_boundary_is_in_the_bucket_that_begins_there() -> None:
    course = LatencyOverTime(PRIORITIES)
    times = np.arange(120) / 10  # 0.3 / 0.1 would be below 3
    course.add("high", times, times)
    assert course.summary(12.0)["classes"]["high"] == course.summary(12.0)["times"] == times.tolist()


def add_inverted_latencies(course: LatencyOverTime, until: float) -> None:
    """In every tenth of a second, the class `high` waits twice as long as `low`."""
    times = np.arange(0.05, until, 0.1)
    course.add("high", times, np.full(len(times), 2.0))
    course.add("low", times, np.ones(len(times)))


def test_inversion_uses_the_priorities_of_its_time() -> None:
    course = LatencyOverTime(PRIORITIES)
    course.set_priorities(0.32, {"high": 1, "low": 2})
    course.set_priorities(0.38, {"high": 2, "low": 2})  # the last priorities set within a bucket apply to it
    course.set_priorities(0.5, {"high": 4, "low": 1})
    add_inverted_latencies(course, 0.7)
    assert course.summary(0.7)["inversion"] == [3.0, 3.0, 3.0, 0.0, 0.0, 4.0, 4.0]


def test_in_merged_buckets_the_later_priorities_apply() -> None:
    course = LatencyOverTime(PRIORITIES)
    course.set_priorities(0.5, {"high": 4, "low": 1})
    add_inverted_latencies(course, 12.0)
    course.set_priorities(13.0, {"high": 1, "low": 1})
    assert course.summary(13.0)["inversion"][:4] == [3.0, 3.0, 4.0, 4.0]
