"""The latencies of the last minutes: what numpy says of the same results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.metrics.live_latencies import BUCKET_S, BUCKETS, WINDOW, LiveLatencies

BLOCK = st.tuples(
    st.sampled_from("abc"),
    st.floats(0.0, 30.0),  # since the block before
    st.lists(st.floats(1e-5, 100.0), min_size=1, max_size=200),
    st.booleans(),  # does somebody look after it?
)


@given(st.lists(BLOCK, max_size=40))
def test_the_last_minute_and_the_course_are_exact(blocks):
    live, now, known = LiveLatencies(), 0.0, []
    for query, later, latencies, looked_at in blocks:
        now += later
        values = np.array(latencies)
        live.add(query, query.upper(), now, values)
        known.append((query, int(now / BUCKET_S), values))
        if looked_at:
            live.count(now)
    live.count(now)
    current = int(now / BUCKET_S)
    for rings, name_of in ((live.queries, str), (live.classes, str.upper)):
        windows = rings.windows()
        for query in {one for one, _, _ in known}:
            mine = [values for one, bucket, values in known if one == query and bucket > current - WINDOW]
            window = windows[name_of(query)]
            assert window.results == sum(map(len, mine))
            if mine:
                together = np.concatenate(mine)
                assert window.mean == pytest.approx(together.mean())
                assert window.max == together.max()
            course = rings.course(name_of(query))
            assert len(course["times"]) == min(BUCKETS, current + 1)
            counted = sum(len(values) for one, bucket, values in known if one == query and bucket > current - BUCKETS)
            assert sum(course["counts"]) == counted


@given(st.lists(st.floats(1e-5, 1000.0), min_size=1, max_size=60))
def test_percentiles_are_right_to_within_a_bucket(latencies):
    live = LiveLatencies()
    live.add("q", "c", 1.0, np.array(latencies))
    live.count(2.0)
    for percent, value in zip((50, 95, 99), live.classes.percentiles("c", (50, 95, 99)), strict=True):
        wanted = np.percentile(latencies, percent, method="inverted_cdf")
        assert value == pytest.approx(wanted, rel=0.05)


def test_large_blocks_count_in_full_though_percentiles_use_a_sample():
    live, chance = LiveLatencies(), np.random.default_rng(1)
    live.add("q", "c", 1.0, chance.uniform(0.5, 1.5, 100_000))
    live.add("q", "c", 1.0, np.full(100, 9.0))
    live.count(1.0)
    assert live.queries.windows()["q"].results == 100_100
    p50, p95, _ = live.classes.percentiles("c", (50, 95, 99))
    assert p50 == pytest.approx(1.0, rel=0.25)
    assert p95 < 2.0


def test_names_that_are_forgotten_leave_no_trace():
    live = LiveLatencies()
    live.add("q", "c", 1.0, np.array([1.0]))
    live.forget("q", 1.0)
    live.add("r", "c", 1.0, np.array([2.0, 3.0]))
    live.count(1.0)
    assert live.queries.windows().keys() == {"r"}
    assert live.queries.windows()["r"].results == 2
    assert live.classes.windows()["c"].results == 3
    assert live.queries.course("q")["counts"] == [0]


def test_what_is_too_old_is_gone():
    live = LiveLatencies()
    live.add("q", "c", 1.0, np.array([1.0]))
    live.count(BUCKETS * BUCKET_S + 1.0)
    assert live.queries.windows()["q"].results == 0
    assert live.classes.percentiles("c", (50,)) == [None]
    live.count(10.0)  # a look that was under way when the last one was taken
    assert live.queries.windows()["q"].results == 0
