"""Direct calls of planned queries: the same rows as a job, errors as a job raises them, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.plan.operators import Port
from headgate.runtime.spark.caller_setup import make_caller
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.direct import server as server_module
from headgate.runtime.spark.direct.server import CallInterrupted, DirectError, DirectServer, replace
from headgate.runtime.spark.direct.trial import tried_server
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.internals.leaf import Leaf, serialized
from headgate.runtime.spark.launch.session import own_session
from tests.runtime.spark.helpers import app_of, queued_numbers, rows_of, simple_plan

pytestmark = pytest.mark.spark
SCHEMA = pa.schema([pa.field("k", pa.int32()), pa.field("v", pa.float64())])


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    return own_session(spark)


@pytest.fixture
def server(session: Any) -> Iterator[DirectServer]:
    server = tried_server(session)
    yield server
    server.close()


def batch(seed: int, rows: int = 500) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"k": pa.array(rng.integers(0, 9, rows), pa.int32()), "v": rng.random(rows)}, schema=SCHEMA)


def run(server: DirectServer, plan: int, frame: DataFrame, table: pa.Table) -> pa.Table:
    return server.call(plan, [replace(0, serialized(table))], to_arrow_schema(frame.schema, timezone="UTC"))[0]


@pytest.mark.parametrize(
    "query",
    [
        lambda rows: rows.where("v > 0.3").selectExpr("k + 1 AS k", "v * 2 AS w"),
        lambda rows: rows.groupBy("k").agg({"v": "avg"}),
        lambda rows: rows.orderBy("v").limit(7),
        lambda rows: rows.selectExpr("percentile(v, 0.5) AS p", "count(DISTINCT k) AS n"),
    ],
    ids=["select", "group", "sort", "distinct"],
)
def test_rows_equal_those_of_a_job(session: Any, server: DirectServer, query: Any) -> None:
    leaf = Leaf(session, SCHEMA)
    frame, job = query(leaf.frame), query(leaf.frame)
    plan = server.register(frame, [(leaf.array, None)], [])
    for seed, rows in enumerate((500, 1, 0, 4000)):
        direct = run(server, plan, frame, batch(seed, rows))
        assert rows_of(direct) == rows_of(collect(job.select("*"), direct.schema))


def test_an_error_equals_that_of_a_job_and_the_next_call_works(session: Any, server: DirectServer) -> None:
    leaf = Leaf(session, SCHEMA)
    frame = leaf.frame.selectExpr("1 div k AS x")
    plan = server.register(frame, [(leaf.array, None)], [])
    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        run(server, plan, frame, batch(1))
    good = batch(1).filter(pa.compute.greater(batch(1)["k"], 0))
    assert run(server, plan, frame, good).num_rows == good.num_rows


def test_a_call_that_takes_too_long_can_be_interrupted(session: Any, server: DirectServer) -> None:
    """It compares billions of pairs; nobody waits for that once it has been interrupted, and other calls go on."""
    left, right = Leaf(session, SCHEMA), Leaf(session, SCHEMA)
    pairs = left.frame.crossJoin(right.frame.withColumnsRenamed({"k": "l", "v": "w"})).where("v * w > 2 + k - l")
    frame = pairs.coalesce(1).selectExpr("sum(v + w) AS s")
    plan = server.register(frame, [(left.array, None), (right.array, None)], [])
    changes = [replace(place, serialized(batch(place, 60_000))) for place in (0, 1)]
    timer = threading.Timer(1.0, lambda: server.interrupt("the test has seen enough"))
    timer.start()
    started = time.monotonic()
    with pytest.raises(CallInterrupted, match="seen enough"):
        server.call(plan, changes, to_arrow_schema(frame.schema))
    assert time.monotonic() - started < 10, "it waited for the answer"
    timer.join()
    leaf = Leaf(session, SCHEMA)
    after = leaf.frame.selectExpr("k")
    assert run(server, server.register(after, [(leaf.array, None)], []), after, batch(1)).num_rows == 500


def test_a_call_that_runs_out_of_memory_fails_alone(session: Any, server: DirectServer) -> None:
    leaf = Leaf(session, SCHEMA)
    frame = leaf.frame.selectExpr("length(repeat('x', 2147483647 - k)) AS n")  # k is 0: more than the JVM can address
    plan = server.register(frame, [(leaf.array, None)], [])
    with pytest.raises(Exception, match=r"OutOfMemoryError|array size"):
        run(server, plan, frame, batch(1).filter(pa.compute.equal(batch(1)["k"], 0)))
    assert run(server, plan, frame, SCHEMA.empty_table()).num_rows == 0


@pytest.mark.nightly
def test_a_sort_that_spills_gives_the_same_rows_and_leaves_no_file(tmp_path: Path) -> None:
    """In a process of its own, whose Spark spills after a thousand rows."""
    script = f"""
import pyarrow as pa
from pathlib import Path
from pyspark.sql.pandas.types import to_arrow_schema
from headgate.runtime.spark.direct.server import replace
from headgate.runtime.spark.direct.trial import tried_server
from headgate.runtime.spark.internals.leaf import Leaf, serialized
from headgate.runtime.spark.launch.session import own_session, start_spark
settings = {{"master": "local[1]", "spark.local.dir": {str(tmp_path)!r}}}
session = own_session(start_spark({{**settings, "spark.shuffle.spill.numElementsForceSpillThreshold": "1000"}}))
schema = pa.schema([pa.field("a", pa.int64())])
leaf = Leaf(session, schema)
frame = leaf.frame.sortWithinPartitions("a")
server = tried_server(session)
plan = server.register(frame, [(leaf.array, None)], [])
table = pa.table({{"a": [(7919 * n) % 50021 for n in range(50021)]}}, schema=schema)
for _ in range(3):
    rows, _ = server.call(plan, [replace(0, serialized(table))], to_arrow_schema(frame.schema))
    assert rows.column(0).to_pylist() == list(range(50021))
print(sum(path.is_file() for path in Path({str(tmp_path)!r}).rglob("temp_local*")), "left")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines()[-1:] == ["0 left"], done.stderr


def test_a_plan_that_was_forgotten_is_refused(session: Any, server: DirectServer) -> None:
    leaf = Leaf(session, SCHEMA)
    frame = leaf.frame.selectExpr("k")
    plan = server.register(frame, [(leaf.array, None)], [])
    server.forget(plan)
    with pytest.raises(Exception, match="no such plan"):
        run(server, plan, frame, batch(1))


def test_closing_leaves_no_folder(session: Any) -> None:
    server = tried_server(session)
    folder = Path(server.path).parent
    assert folder.stat().st_mode & 0o777 == 0o700, "only this user may enter it"
    server.close()
    assert not folder.exists()


def test_a_long_path_for_temporary_files_is_no_obstacle(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a Unix socket has at most 104 bytes on some systems, 108 on others."""
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    server = tried_server(session)
    assert Path(server.path).parent.parent == Path("/tmp")
    server.close()
    assert not Path(server.path).parent.exists()
    assert not list(long.iterdir())
    monkeypatch.setattr(server_module, "SHORT_FOLDERS", ())
    with pytest.raises(DirectError, match="too long"):
        tried_server(session)


def test_units_are_called_directly_and_count_the_same(session: Any) -> None:
    plan = simple_plan()
    direct = make_caller(session, app_of(plan))
    partitioned = make_caller(session, app_of(plan), Ways(partitioned_rows=0))
    for seed, rows in enumerate((500, 3, 0, 1, 4000)):
        inputs = {plan.consumers[Port("s")][0]: queued_numbers(rows, seed)}
        results = [caller.run(plan.operators, inputs) for caller in (direct, partitioned)]
        assert rows_of(results[0].outputs[Port("q/project")]) == rows_of(results[1].outputs[Port("q/project")])
        assert results[0].rows_out == results[1].rows_out
        assert results[0].rows_in == results[1].rows_in
    assert direct.calls["direct"] == 3  # after two that were compared with newly planned jobs
    assert not direct.fallbacks
    direct.close()
