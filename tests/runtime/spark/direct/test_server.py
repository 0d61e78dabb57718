"""Direct calls of planned queries: the same rows as a job, errors as a job raises them, nothing left behind."""

from __future__ import annotations

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
from headgate.runtime.spark.direct.server import DirectServer, replace
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
