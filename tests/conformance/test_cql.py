"""CQL on Spark against the reference: whatever the cut, policy, rules or sharing, the same changes at each instant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headgate.application.checked import PolicySettings
from headgate.policies.registry import POLICIES
from headgate.runtime.spark.calls.ways import Ways
from tests.conformance.choices import ALL, CHOSEN, choices
from tests.conformance.cql_runs import PLACES, Cut, Data, differences, expected, plan_of, run, trusting
from tests.conformance.cql_strategies import applications
from tests.conformance.cql_strategies import data as any_data
from tests.tiers import examples

pytestmark = pytest.mark.spark

DATA = Data(
    {
        "s": [
            # k, v, t: out of order within the slack of 3, equal times, nulls, and late tuples (at 4 and 9)
            (1, 5, 1), (2, 3, 2), (1, None, 2), (2, 8, 5), (1, 2, 3), (None, 7, 5), (0, 4, 9), (2, 6, 4),
            (2, 1, 7), (1, 5, 9), (1, 9, 12), (0, None, 10), (2, 2, 14), (3, 3, 15), (1, 6, 9), (2, 8, 15),
            (1, 5, 21), (2, 4, 20), (None, 1, 22), (0, 7, None),
        ],
        "r": [
            (1, 4, 0), (2, 6, 2), (1, 5, 5), (1, 5, 5), (None, 2, 6), (2, 9, 6), (0, 3, 11), (2, None, 12),
            (1, 1, 12), (3, 8, 16), (2, 5, 19), (1, 7, 10), (2, 6, 25),
        ],
        "c": [(1, 1, 1), (2, 2, 2), (1, 1, 4), (2, 3, 4), (2, 2, 6), (1, 1, 6), (None, 5, 8), (2, 3, 13), (1, 1, 13)],
    },
    signs=[1, 1, 1, 1, -1, -1, 1, -1, 1],
)  # fmt: skip

# What a change is most likely to break.
QUERIES = {
    "some": "SELECT k, v + 1 AS w FROM s WHERE v > 2",
    "slide": "SELECT k, v FROM s [RANGE 6 SLIDE 4] WHERE v % 2 = 0",
    "rows_slide": "SELECT k, v FROM s [ROWS 3 SLIDE 2]",
    "sums": "SELECT k, count(*) AS n, count(v) AS m, sum(v) AS total, min(v) AS low, max(v) AS high FROM s GROUP BY k",
    "panes": "SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean FROM s [RANGE 8 SLIDE 4] GROUP BY k",
    "recent": "SELECT k, sum(v) AS total, count(DISTINCT v) AS kinds FROM s [RANGE 6] GROUP BY k HAVING count(*) > 1",
    "one_row": "SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 3] WHERE v > 4",
    "kinds": "SELECT DISTINCT k FROM s [RANGE 4]",
    "without_all": "SELECT k FROM s [RANGE 8] EXCEPT ALL SELECT k FROM r",
    "pairs_any": "SELECT a.v, b.w FROM s [RANGE 4] AS a, r [RANGE 3 SLIDE 3] AS b WHERE a.v < b.w AND a.v + b.w > 8",
    "three": "SELECT a.k, b.w, x.p FROM s [RANGE 6] AS a, r [PARTITION BY k ROWS 1] AS b, c AS x "
    "WHERE a.k = b.k AND b.k = x.k",
    "floors_left": "SELECT s.k, v, p.floor FROM s [NOW] LEFT JOIN places AS p ON s.k = p.k AND p.floor > 11",
    "came": "ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k)",
    "whole_pairs": "RSTREAM(SELECT s.k, w FROM s [NOW], r [RANGE 4] WHERE s.k = r.k)",
    "nested": "SELECT n, count(*) AS groups FROM (SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k) AS g GROUP BY n",
    "with_query": "SELECT came.k, n, w FROM came [RANGE 3], r [RANGE 5] WHERE came.k = r.k",
}
# One for each way to compute state, and a query that reads another; `make test` has these.
FIRST = ("slide", "sums", "panes", "kinds", "without_all", "pairs_any", "three", "came", "with_query")
# The rest of the ground; `make soak`.
MORE = {
    "all_rows": "SELECT * FROM s",
    "few": "SELECT k, v + 1 AS w FROM s WHERE v > 2 AND v <> 6",
    "range_": "SELECT k, v FROM s [RANGE 5] WHERE v % 2 = 0",
    "now_": "SELECT k, v, t FROM s [NOW]",
    "sparse": "SELECT k, v FROM s [RANGE 2 SLIDE 5]",
    "grown": "SELECT k, count(*) AS n FROM s [RANGE UNBOUNDED SLIDE 4] GROUP BY k",
    "rows_": "SELECT k, v FROM s [ROWS 3]",
    "partition": "SELECT k, v FROM s [PARTITION BY k ROWS 2] WHERE v > 1",
    "sums": QUERIES["sums"],
    "came": QUERIES["came"],
    "of_rows": "SELECT v % 2 AS odd, count(*) AS n FROM s [ROWS 4] GROUP BY v % 2",
    "one_pane": "SELECT count(*) AS n, max(v) AS high FROM s [RANGE 2 SLIDE 2]",
    "forever": "SELECT count(*) AS n, sum(v) AS total FROM s",
    "kinds_ever": "SELECT DISTINCT k FROM s",
    "both": "SELECT k FROM s [RANGE 4] UNION SELECT k FROM r [RANGE 4]",
    "both_all": "SELECT k, v FROM s [RANGE 4] UNION ALL SELECT k, w FROM r [ROWS 2]",
    "without": "SELECT k FROM s [RANGE 8] EXCEPT SELECT k FROM r [RANGE 4]",
    "common": "SELECT k FROM s INTERSECT SELECT k FROM r [RANGE 6 SLIDE 3]",
    "common_all": "SELECT k FROM s [ROWS 5] INTERSECT ALL SELECT k FROM r [RANGE 9]",
    "pairs": "SELECT s.k, v, w FROM s, r WHERE s.k = r.k",
    "pairs_now": "SELECT s.k, s.v, r.w FROM s [NOW], r [RANGE 7] WHERE s.k = r.k",
    "pairs_rows": "SELECT a.k, a.v, b.w FROM s [ROWS 2] AS a JOIN r [PARTITION BY k ROWS 1] AS b ON a.k = b.k",
    "per_pair": "SELECT r.k, count(*) AS n, sum(s.v) AS total FROM s [RANGE 9], r [RANGE 9] "
    "WHERE s.k = r.k GROUP BY r.k",
    "floors": "SELECT s.k, v, floor FROM s, places AS p WHERE s.k = p.k AND v > 1",
    "went": "DSTREAM(SELECT k, v FROM s [ROWS 2] WHERE v > 1)",
    "whole": "RSTREAM(SELECT k, sum(v) AS total FROM s [RANGE 6] GROUP BY k)",
    "whole_slide": "RSTREAM(SELECT k, v FROM s [RANGE 7 SLIDE 5])",
    "whole_rows": "RSTREAM(SELECT k, v FROM s [ROWS 2 SLIDE 3])",
    "views": "WITH x AS (SELECT k, sum(v) AS total FROM s [RANGE 6] GROUP BY k) "
    "SELECT a.k, b.k AS other FROM x AS a, x AS b WHERE a.total < b.total",
    "windowed": "WITH i AS (ISTREAM(SELECT k, max(v) AS high FROM s [RANGE 5] GROUP BY k)) "
    "SELECT k, count(*) AS n FROM i [RANGE 4] GROUP BY k",
    "of_query": "SELECT total, count(*) AS n FROM sums GROUP BY total",
    "of_stream": "SELECT w, count(*) AS n FROM few [RANGE 5] GROUP BY w",
    "relation": "SELECT k, p FROM c WHERE p < 5",
    "relation_sum": "SELECT k, count(*) AS n, sum(p) AS total FROM c GROUP BY k",
    "relation_join": "SELECT c.k, v FROM s [RANGE 3], c WHERE s.k = c.k",
}
WAYS: dict[str, dict[str, Any]] = {
    "direct": {"only": "direct"},
    "prepared": {"only": "prepared", "ways": Ways(direct=False)},
    "partitioned": {"only": "partitioned", "ways": Ways(partitioned_rows=0)},
}
SMALL = {name: QUERIES[name] for name in ("some", "recent", "came", "with_query")}


FIFO = PolicySettings("fifo", {"unit": "operator"})
CUTS = [  # one way to cut operators into units, so that plans are made once
    Cut(policy=FIFO),
    Cut(size=4, slots=3, calls=9, policy=PolicySettings("rr", {"unit": "operator"}), order=("r", "s", "c")),
]
ONE_BY_ONE = Cut(size=7, slots=2, policy=FIFO, one_by_one=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cql")
    lines = [f"{'' if k is None else k},{floor}" for k, floor in PLACES]
    (path / "places.csv").write_text("\n".join(["k,floor", *lines]) + "\n")
    return path


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with trusting(monkeypatch):
        yield


def check(
    spark: Any, folder: Path, queries: Mapping[str, str], cuts: list[Cut], data: Data = DATA, **more: Any
) -> None:
    """Every cut gives the reference's answer. `rules` and `shared` are the plan's, other words the runtime's."""
    plan = plan_of(queries, **{key: more.pop(key) for key in ("rules", "shared") if key in more})
    wanted = expected(queries, data)
    for cut in cuts:
        different = differences(run(spark, plan, data, cut, folder, **more), wanted)
        assert not different, f"{cut}\n{different}"


def test_every_cut_gives_the_reference_answer(spark: Any, folder: Path, trusted: None) -> None:
    check(spark, folder, {name: QUERIES[name] for name in FIRST}, CUTS)


@pytest.mark.nightly
def test_every_cut_of_all_queries_gives_the_reference_answer(spark: Any, folder: Path, trusted: None) -> None:
    check(spark, folder, QUERIES, CUTS)


@pytest.mark.soak
def test_more_queries(spark: Any, folder: Path, trusted: None) -> None:
    check(spark, folder, MORE, [*CUTS, ONE_BY_ONE])
    check(spark, folder, QUERIES, [ONE_BY_ONE])


def test_chosen_policies_give_the_reference_answer(spark: Any, folder: Path, trusted: None) -> None:
    check_policies(spark, folder, CHOSEN[::3])  # each way to cut operators into units takes seconds to plan


@pytest.mark.nightly
def test_every_policy_gives_the_reference_answer(spark: Any, folder: Path, trusted: None) -> None:
    # Each way to cut operators into units is planned anew, which takes seconds; the random queries draw from all.
    offered = [list(choices(name)) for name in POLICIES]
    check_policies(spark, folder, [ways[number % len(ways)] for number, ways in enumerate(offered)])


def check_policies(spark: Any, folder: Path, policies: Sequence[PolicySettings]) -> None:
    sizes = (1, 5, 1000)
    cuts = [
        Cut(size=sizes[number % 3], slots=1 + number % 4, calls=None if number % 2 else 6, policy=policy)
        for number, policy in enumerate(policies)
    ]
    for part in (0, 1):  # every policy meets half of the queries; the random queries draw from all
        check(spark, folder, dict(list(SMALL.items())[2 * part : 2 * part + 2]), cuts[part::2])


def test_the_partitioned_way_gives_the_reference_answer(spark: Any, folder: Path) -> None:
    # Planned for each call, which takes seconds: one query, few calls.
    check(spark, folder, {"recent": QUERIES["recent"]}, [Cut(size=12, policy=FIFO)], **WAYS["partitioned"])


def test_references_give_the_reference_answer(spark: Any, folder: Path) -> None:
    # Each call is planned, which takes seconds: few queries, few calls; one with panes and one with a join.
    queries = {name: QUERIES[name] for name in ("panes", "pairs_any")}
    check(spark, folder, queries, [Cut(size=15, policy=PolicySettings("fifo", {"unit": "query"}))], referred=True)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_references_give_the_reference_answer_for_all_queries(spark: Any, folder: Path, part: int) -> None:
    queries = dict([*QUERIES.items(), *MORE.items()][part::4])
    needed = {"sums": QUERIES["sums"], "came": QUERIES["came"], "few": MORE["few"]}  # others read them
    check(spark, folder, {**needed, **queries}, [Cut(size=11, policy=FIFO)], referred=True)


@pytest.mark.parametrize("way", ["direct", "prepared"])
def test_both_ways_in_one_partition_give_the_reference_answer(
    spark: Any, folder: Path, trusted: None, way: str
) -> None:
    queries = ("panes", "without_all", "three")
    check(spark, folder, {name: QUERIES[name] for name in queries}, [Cut(size=7, policy=FIFO)], **WAYS[way])


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_all_ways_give_the_reference_answer_for_all_queries(spark: Any, folder: Path, trusted: None, way: str) -> None:
    check(spark, folder, QUERIES, [Cut(size=7, policy=FIFO)], **WAYS[way])


@pytest.mark.parametrize("options", [{"rules": ()}, {"shared": True}], ids=["as written", "shared"])
def test_rewriting_and_sharing_change_nothing(spark: Any, folder: Path, trusted: None, options: dict[str, Any]) -> None:
    names = ("slide", "pairs_any", "came", "with_query")
    check(spark, folder, {name: QUERIES[name] for name in names}, [Cut(size=7, policy=FIFO)], **options)


def test_a_boundary_after_the_last_event_gives_nothing(spark: Any, folder: Path, trusted: None) -> None:
    queries = {
        "pairs": "SELECT a.k, v, w FROM s [RANGE UNBOUNDED SLIDE 4] AS a, r WHERE a.k = r.k",
        "grown": "SELECT k, v FROM s [RANGE UNBOUNDED SLIDE 4]",
    }
    data = Data({"s": [(1, 1, 1), (1, 2, 9), (1, 3, 2)], "r": [(1, 7, 2), (1, 8, 3)]})
    check(spark, folder, queries, [Cut(policy=FIFO), Cut(size=1, policy=FIFO)], data)


def test_results_do_not_depend_on_who_else_reads_them(spark: Any, folder: Path, trusted: None) -> None:
    queries = {"some": "SELECT k, v FROM s", "of_some": "SELECT DISTINCT v FROM some [RANGE 3]"}
    check(spark, folder, queries, [Cut(policy=FIFO)], Data({"s": [(1, 1, 9), (1, 2, 1)]}))


def test_rstream_of_a_query_with_a_sliding_rows_window() -> None:
    plan_of({"a": "SELECT k, v FROM s [ROWS 6 SLIDE 6]", "b": "RSTREAM(SELECT k FROM a)"})


def _random(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, draws: st.DataObject) -> None:
    queries, data = draws.draw(applications()), draws.draw(any_data())
    policy = draws.draw(st.sampled_from(ALL))
    cut = Cut(
        size=draws.draw(st.sampled_from([1, 3, 1000])),
        slots=draws.draw(st.integers(1, 4)),
        policy=policy,
        calls=draws.draw(st.sampled_from([None, 0, 2, 7])),
        order=draws.draw(st.permutations(["s", "r", "c"])),
        one_by_one=draws.draw(st.booleans()),
    )
    with trusting(monkeypatch):
        check(spark, folder, queries, [cut], data)


CALM: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "phases": (Phase.explicit, Phase.generate),  # shrinking takes an hour: a run takes seconds
    "suppress_health_check": list(HealthCheck),
}


@settings(max_examples=examples(2, 3), **CALM)
@given(draws=st.data())
def test_random_queries(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, draws: st.DataObject) -> None:
    _random(spark, folder, monkeypatch, draws)


@pytest.mark.soak
@settings(max_examples=60, **CALM)
@given(draws=st.data())
def test_many_random_queries(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, draws: st.DataObject) -> None:
    _random(spark, folder, monkeypatch, draws)
