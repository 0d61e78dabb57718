"""CQL on Spark against the reference: whatever the cut, policy, rules or sharing, the same changes at each instant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.plan.application import PolicySettings
from tests.conformance.cql_runs import PLACES, Cut, Data, differences, expected, plan_of, run, trusting

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

QUERIES = {
    # select, project
    "some": "SELECT k, v + 1 AS w FROM s WHERE v > 2",
    "all_rows": "SELECT * FROM s",
    "range_": "SELECT k, v FROM s [RANGE 5] WHERE v % 2 = 0",
    "now_": "SELECT k, v, t FROM s [NOW]",
    "slide": "SELECT k, v FROM s [RANGE 6 SLIDE 4]",
    "sparse": "SELECT k, v FROM s [RANGE 2 SLIDE 5]",
    "rows_": "SELECT k, v FROM s [ROWS 3]",
    "rows_slide": "SELECT k, v FROM s [ROWS 3 SLIDE 2]",
    "partition": "SELECT k, v FROM s [PARTITION BY k ROWS 2] WHERE v > 1",
    # groups
    "sums": "SELECT k, count(*) AS n, count(v) AS m, sum(v) AS total, min(v) AS low, max(v) AS high FROM s GROUP BY k",
    "panes": "SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean FROM s [RANGE 8 SLIDE 4] GROUP BY k",
    "recent": "SELECT k, sum(v) AS total, count(DISTINCT v) AS kinds FROM s [RANGE 6] GROUP BY k HAVING count(*) > 1",
    "of_rows": "SELECT v % 2 AS odd, count(*) AS n FROM s [ROWS 4] GROUP BY v % 2",
    "one_row": "SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 3] WHERE v > 4",
    "one_pane": "SELECT count(*) AS n, max(v) AS high FROM s [RANGE 2 SLIDE 2]",
    "forever": "SELECT count(*) AS n, sum(v) AS total FROM s",
    # sets
    "kinds": "SELECT DISTINCT k FROM s",
    "kinds_now": "SELECT DISTINCT k FROM s [RANGE 4]",
    "both": "SELECT k FROM s [RANGE 4] UNION SELECT k FROM r [RANGE 4]",
    "both_all": "SELECT k, v FROM s [RANGE 4] UNION ALL SELECT k, w FROM r [ROWS 2]",
    "without": "SELECT k FROM s [RANGE 8] EXCEPT SELECT k FROM r [RANGE 4]",
    "without_all": "SELECT k FROM s [RANGE 8] EXCEPT ALL SELECT k FROM r",
    "common": "SELECT k FROM s INTERSECT SELECT k FROM r [RANGE 6 SLIDE 3]",
    "common_all": "SELECT k FROM s [ROWS 5] INTERSECT ALL SELECT k FROM r [RANGE 9]",
    # joins
    "pairs": "SELECT s.k, v, w FROM s, r WHERE s.k = r.k",
    "pairs_now": "SELECT s.k, s.v, r.w FROM s [NOW], r [RANGE 7] WHERE s.k = r.k",
    "pairs_any": "SELECT a.v, b.w FROM s [RANGE 4] AS a, r [RANGE 3 SLIDE 3] AS b WHERE a.v < b.w AND a.v + b.w > 8",
    "pairs_rows": "SELECT a.k, a.v, b.w FROM s [ROWS 2] AS a JOIN r [PARTITION BY k ROWS 1] AS b ON a.k = b.k",
    "three": "SELECT a.k, b.w, x.p FROM s [RANGE 6] AS a, r [RANGE 6] AS b, c AS x WHERE a.k = b.k AND b.k = x.k",
    "per_pair": "SELECT r.k, count(*) AS n, sum(s.v) AS total FROM s [RANGE 9], r [RANGE 9] WHERE s.k = r.k GROUP BY r.k",
    "floors": "SELECT s.k, v, floor FROM s, places AS p WHERE s.k = p.k AND v > 1",
    "floors_left": "SELECT s.k, v, p.floor FROM s [RANGE 5] LEFT JOIN places AS p ON s.k = p.k AND p.floor > 11",
    # streams again
    "came": "ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k)",
    "went": "DSTREAM(SELECT k, v FROM s [ROWS 2] WHERE v > 1)",
    "whole": "RSTREAM(SELECT k, sum(v) AS total FROM s [RANGE 6] GROUP BY k)",
    "whole_slide": "RSTREAM(SELECT k, v FROM s [RANGE 7 SLIDE 5])",
    "whole_rows": "RSTREAM(SELECT k, v FROM s [ROWS 2 SLIDE 3])",
    "whole_pairs": "RSTREAM(SELECT s.k, w FROM s [NOW], r [RANGE 4] WHERE s.k = r.k)",
    # one query over another
    "nested": "SELECT n, count(*) AS groups FROM (SELECT k, count(*) AS n FROM s [RANGE 8] GROUP BY k) AS g GROUP BY n",
    "views": "WITH x AS (SELECT k, sum(v) AS total FROM s [RANGE 6] GROUP BY k) "
    "SELECT a.k, b.k AS other FROM x AS a, x AS b WHERE a.total < b.total",
    "windowed": "WITH i AS (ISTREAM(SELECT k, max(v) AS high FROM s [RANGE 5] GROUP BY k)) "
    "SELECT k, count(*) AS n FROM i [RANGE 4] GROUP BY k",
    "of_query": "SELECT total, count(*) AS n FROM sums GROUP BY total",
    "of_stream": "SELECT w, count(*) AS n FROM some [RANGE 5] GROUP BY w",
    "with_query": "SELECT came.k, n, w FROM came [RANGE 3], r [RANGE 5] WHERE came.k = r.k",
    # a relation as input
    "relation": "SELECT k, p FROM c WHERE p < 5",
    "relation_sum": "SELECT k, count(*) AS n, sum(p) AS total FROM c GROUP BY k",
    "relation_join": "SELECT c.k, v FROM s [RANGE 3], c WHERE s.k = c.k",
}


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


CUTS = [
    Cut(policy=PolicySettings("rr", {"unit": "operator"})),
]


def test_every_cut_gives_the_reference_answer(spark: Any, folder: Path, trusted: None) -> None:
    plan, wanted = plan_of(QUERIES), expected(QUERIES, DATA)
    for cut in CUTS:
        got = run(spark, plan, DATA, cut, folder)
        assert not differences(got, wanted), f"{cut}\n{differences(got, wanted)}"
