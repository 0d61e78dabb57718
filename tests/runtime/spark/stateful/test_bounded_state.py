"""The state of every kind of operator is bounded by its live rows, however many changes there were."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.plan.arrow_types import arrow_schema
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.stateful import state
from headgate.sql.schema import parse_schema
from tests.applications import application
from tests.tiers import examples

pytestmark = pytest.mark.spark

SCHEMA = "k INT, v INT, t BIGINT"
WINDOW = 10  # ticks
MAX_LIVE = 12  # rows of the relation at a time
MAX_EXTRA_ROWS = 40  # rows that a log may have beyond twice what it needs; thousands in a real run
MAX_CHANGES = 60  # changes that arrive in one call
QUERIES = {
    "plain": "SELECT k + 1 AS k1, v FROM c",
    "most": "SELECT max(v) AS x FROM c",
    "most_by": "SELECT k, max(v) AS x, count(*) AS n FROM c GROUP BY k",
    "kinds_by": "SELECT k, count(DISTINCT v) AS x FROM c GROUP BY k",
    "all_of_it": "SELECT sort_array(collect_list(v)) AS x FROM c",
    "sums": "SELECT k, sum(v) AS x FROM c GROUP BY k HAVING count(*) > 1",
    "kinds": "SELECT DISTINCT v FROM c",
    "without": "SELECT k FROM c EXCEPT SELECT v FROM c",
    "common": "SELECT k, v FROM c INTERSECT ALL SELECT v, k FROM c",
    "pairs": "SELECT a.k, b.v FROM c AS a, c AS b WHERE a.k = b.v",
    "outside": "SELECT s.k, c.v FROM s [RANGE 10], c WHERE s.k = c.k",
    "whole": "RSTREAM(SELECT k, v FROM c)",
    "whole_groups": "RSTREAM(SELECT k, max(v) AS x FROM c GROUP BY k)",
    "most_lately": "SELECT k, max(v) AS x FROM s [RANGE 10] GROUP BY k",
    "panes": "SELECT k, max(v) AS x FROM s [RANGE 10 SLIDE 5] GROUP BY k",
    "one_pane": "SELECT sum(v) AS x FROM s [RANGE 10 SLIDE 5]",
    "ever": "SELECT k, max(v) AS x FROM s GROUP BY k",
    "last": "SELECT max(v) AS x FROM s [ROWS 5]",
    "last_by": "SELECT k, v FROM s [PARTITION BY k ROWS 2]",
}
FEW = ("most", "kinds_by", "kinds", "pairs", "last_by")  # the others run in `make soak` and `make nightly`
STREAMS: dict[str, dict[str, Any]] = {
    "c": {"schema": SCHEMA, "time": "t", "relation": True, "source": {"kind": "csv", "path": "c.csv"}},
    "s": {"schema": SCHEMA, "time": "t"},
}


class ContinuedRun:
    """A run that continues from example to example: the rows that are live, and how many rows have been sent."""

    def __init__(self, runtime: SparkRuntime) -> None:
        self.runtime = runtime
        self.live: list[tuple[int, int]] = []
        self.time = self.sent = 0

    def change(self, rng: random.Random, live: int, count: int) -> None:
        """Let `count` instants pass; at each, a row is added or removed, and a tuple arrives."""
        changes: list[tuple[int, ...]] = []
        tuples: list[tuple[int, ...]] = []
        for _ in range(count):
            self.time += 1
            if len(self.live) >= live:
                changes.append((*self.live.pop(rng.randrange(len(self.live))), self.time, -1))
            else:
                self.live.append((rng.randrange(4), rng.randrange(6)))
                changes.append((*self.live[-1], self.time, 1))
            tuples.append((rng.randrange(4), rng.randrange(6), self.time))
        for stream, rows in (("c", changes), ("s", tuples)):
            self.runtime.deliver({stream: self._table(stream, rows)})
        while self.runtime.step(0):
            pass
        self.sent += 2 * count

    def _table(self, stream: str, rows: list[tuple[int, ...]]) -> pa.Table:
        stamps = [(0, self.sent + n) for n in range(len(rows))]
        columns = zip(*[(*row[:3], *stamp, *row[3:]) for row, stamp in zip(rows, stamps, strict=True)], strict=True)
        fields = [*arrow_schema(parse_schema(SCHEMA, "test"))]
        if stream == "c":
            fields.append(pa.field("_change", pa.int64(), nullable=False))
        arrays = [pa.array(values, f.type) for values, f in zip(columns, fields, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@pytest.fixture(scope="module", params=[FEW, pytest.param(tuple(QUERIES), marks=pytest.mark.soak)], ids=["few", "all"])
def continued_run(request: Any, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContinuedRun]:
    folder: Path = tmp_path_factory.mktemp("bounded")
    (folder / "c.csv").touch()  # nothing is read from it: the test delivers the rows
    queries = {name: {"cql": QUERIES[name], "sink": {"kind": "none"}} for name in request.param}
    policy = {"name": "rr", "unit": "query", "quantum": None}
    app = application(STREAMS, queries, policy=policy, folder=folder).checked()
    patch = pytest.MonkeyPatch()
    patch.setattr(state, "COMPACT_ROWS", MAX_EXTRA_ROWS)
    runtime = SparkRuntime(app, spark)
    runtime.open()
    yield ContinuedRun(runtime)
    report = runtime.stop()
    patch.undo()
    assert report["errors"] == {}


@settings(max_examples=examples(2, 3), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 10**6), live=st.integers(1, MAX_LIVE), count=st.integers(MAX_CHANGES // 2, MAX_CHANGES))
def test_state_is_bounded_by_live_rows(continued_run: ContinuedRun, seed: int, live: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(2):
        continued_run.change(rng, live, count)
    sizes = {name: size["rows"] for name, size in continued_run.runtime.report()["state"].items()}
    most = 2 * (2 * MAX_LIVE + WINDOW) + MAX_EXTRA_ROWS + MAX_CHANGES
    assert {name: rows for name, rows in sizes.items() if rows > most} == {}, continued_run.sent
