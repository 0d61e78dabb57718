"""Shedders: which tuples are dropped, how much the others count, and that it depends on the stamps alone."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.plan.model import Edge, Query
from headgate.plan.operators import Port
from headgate.scheduling.shedder import MOST_EXTRA, THINNED_EXTRA, Shedder, Sketch, chosen, extra_for, share_of
from headgate.sql.schema import LATE

EDGE = Edge("q/a", 0)


def shedder(shed=None, weighed=True, seed=1):
    return Shedder(Query("q", "normal", Port("q/a"), ("q/a",), tolerance=0.3, shed=shed), EDGE, weighed, seed)


def table(first, count, values=None):
    sequence = np.arange(first, first + count)
    given = sequence if values is None else values
    columns = {"v": given, "_arrival": sequence * 10, "_sequence": sequence, "_time": sequence * 10}
    return pa.table(columns)


@given(st.floats(0.0, 1.0))
def test_the_share_is_never_above_what_is_asked_for(share):
    assert share_of(extra_for(share)) <= share + 1e-12
    if extra_for(share) < MOST_EXTRA:
        assert share_of(extra_for(share) + 1) > share


@given(st.integers(1, 300), st.integers(0, 2**40), st.integers(0, 2**63 - 1))
def test_every_run_of_numbers_loses_exactly_its_share(extra, block, salt):
    size = 64 + extra
    dropped = chosen(np.arange(block * size, (block + 3) * size), extra, salt)
    assert dropped.reshape(3, size).sum(axis=1).tolist() == [extra] * 3


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(1, 200))
def test_batches_do_not_matter(sizes, extra):
    whole, parts = shedder(), shedder()
    whole.set(extra)
    parts.set(extra)
    expected = whole.kept(table(17, sum(sizes)))
    found, at = [], 17
    for size in sizes:
        found.append(parts.kept(table(at, size)))
        at += size
    assert pa.concat_tables(found).combine_chunks() == expected.combine_chunks()


def test_late_tuples_are_chosen_by_their_number_too():
    one, other = shedder(), shedder()
    one.set(64)
    other.set(64)
    plain, late = table(0, 500), table(0, 500)
    late = late.set_column(2, "_sequence", pa.array(np.arange(500) + LATE))
    assert one.kept(plain).column("v") == other.kept(late).column("v")


def test_what_is_kept_counts_for_what_was_dropped():
    some = shedder()
    some.set(extra_for(0.3))
    kept = some.kept(table(0, 91 * 100))
    assert kept.num_rows == 64 * 100
    weights = 1 + kept.column("_extra").to_numpy() / 64
    assert weights.sum() == pytest.approx(9100)


def test_nothing_is_dropped_before_and_after():
    some = shedder()
    before = some.kept(table(0, 1000))
    assert (before.num_rows, set(before.column("_extra").to_pylist())) == (1000, {0})
    some.set(64)
    assert some.kept(table(1000, 1000)).num_rows < 600
    some.set(0)
    assert some.kept(table(2000, 1000)).num_rows == 1000


def test_a_query_that_is_not_weighed_has_no_further_column():
    some = shedder(weighed=False)
    some.set(64)
    assert some.kept(table(0, 128)).column_names == ["v", "_arrival", "_sequence", "_time"]


def test_shedders_choose_independently():
    one, other = shedder(seed=1), shedder(seed=2)
    one.set(64)
    other.set(64)
    rows = [set(some.kept(table(0, 4000)).column("v").to_pylist()) for some in (one, other)]
    assert len(rows[0] & rows[1]) == pytest.approx(1000, rel=0.15)


@pytest.mark.parametrize(("drop", "region"), [("lowest", (0, 34)), ("highest", (66, 100)), ("center", (33, 67))])
def test_a_semantic_shedder_drops_a_region_and_keeps_one_in_eight_of_it(drop, region):
    some = shedder({"attribute": "V", "drop": drop})
    rng = np.random.default_rng(1)
    for first in range(0, 4000, 500):  # it sees values although it is off
        some.kept(table(first, 500, rng.uniform(0, 100, 500)))
    some.set(extra_for(0.3))
    values = rng.uniform(0, 100, 20_000)
    kept = some.kept(table(4000, 20_000, values))
    assert 20_000 - kept.num_rows == pytest.approx(0.3 * 20_000, rel=0.08)
    assert 20_000 - kept.num_rows <= 0.3 * 20_000
    thinned = kept.filter(pa.compute.greater(kept.column("_extra"), 0))
    assert set(thinned.column("_extra").to_pylist()) == {THINNED_EXTRA}
    low, high = region
    inside = thinned.column("v").to_numpy()
    assert low - 3 <= inside.min()
    assert inside.max() <= high + 3
    weights = 1 + kept.column("_extra").to_numpy() / 64
    assert weights.sum() == pytest.approx(20_000, rel=0.03)
    assert weights @ kept.column("v").to_numpy() == pytest.approx(values.sum(), rel=0.03)


def test_a_semantic_shedder_never_drops_more_than_its_share_whatever_changes():
    some = shedder({"attribute": "v", "drop": "lowest"})
    some.kept(table(0, 4000, np.linspace(0, 100, 4000)))
    some.set(extra_for(0.2))
    dropped = 0
    for turn in range(20):  # all values fall into the region now
        kept = some.kept(table(4000 + 500 * turn, 500, np.zeros(500)))
        dropped += 500 - kept.num_rows
        assert dropped <= 0.2 * 500 * (turn + 1)


@pytest.mark.parametrize("values", [np.full(300, np.nan), ["x"] * 300])
def test_values_that_say_nothing_are_kept(values):
    some = shedder({"attribute": "v", "drop": "lowest"})
    some.set(64)
    kept = some.kept(table(0, 300, values))
    assert (kept.num_rows, set(kept.column("_extra").to_pylist())) == (300, {0})


def test_a_sketch_follows_what_came_lately():
    sketch = Sketch()
    assert sketch.region(0.5, "lowest") is None
    for _ in range(40):
        sketch.add(np.linspace(0, 1, 500))
    assert sketch.region(0.5, "lowest").high == pytest.approx(0.5, abs=0.05)
    for _ in range(40):
        sketch.add(np.linspace(10, 11, 500))
    assert sketch.region(0.5, "lowest").high == pytest.approx(10.5, abs=0.05)
