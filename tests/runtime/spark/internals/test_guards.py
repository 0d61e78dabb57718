"""The guards refuse every plan that would keep old data or a fixed time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.plan.arrow_types import arrow_schema
from headgate.runtime.spark.calls.caller import same_rows
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.internals.guards import why_not_prepared
from headgate.runtime.spark.internals.leaf import Leaf, LeafError
from tests.runtime.spark.helpers import NUMBERS, numbers

pytestmark = pytest.mark.spark

REFUSED = {
    "shuffle": ("SELECT k, count(*) FROM (SELECT /*+ REPARTITION(2, k) */ * FROM a) GROUP BY k", "Exchange"),
    "scalar subquery": ("SELECT k FROM a WHERE v > (SELECT avg(v) FROM b)", "subquery|Exchange|Subquery"),
    "not in": ("SELECT k FROM a WHERE k NOT IN (SELECT k FROM b)", "Exchange|Exec"),
    "rollup": ("SELECT k, v, count(*) AS n FROM a GROUP BY ROLLUP(k, v)", "Exchange"),
    "broadcast join": ("SELECT /*+ BROADCAST(b) */ a.k FROM a JOIN b ON a.k = b.k", "Broadcast"),
    "current_timestamp": ("SELECT k, current_timestamp() AS t FROM a", "current time"),
    "now": ("SELECT k FROM a WHERE now() > timestamp'2020-01-01'", "current time"),
    "current_date": ("SELECT k, current_date() FROM a", "current time"),
    "localtimestamp": ("SELECT k, localtimestamp() FROM a", "current time"),
    "unix_timestamp": ("SELECT k, unix_timestamp() FROM a", "current time"),
    "rand": ("SELECT k, rand() FROM a", "deterministic"),
    "uuid": ("SELECT k, uuid() FROM a", "deterministic"),
    "date word": ("SELECT k FROM a WHERE v > 0 AND date'2020-01-01' < cast('today' AS date)", "date word"),
    "date word in double quotes": (
        "SELECT k FROM a WHERE current_user() <> '' AND cast(\"today\" AS date) > date'2020-01-01'",
        "date word",
    ),
    "date word put together": (
        "SELECT k FROM a WHERE cast(concat('to', 'day') AS date) > date'2020-01-01'",
        "date word",
    ),
    "timestamp word": ("SELECT k, timestamp'now' AS t FROM a", "date word"),
}

PREPARED = {
    "filter": "SELECT k, v FROM a WHERE v > 0.5",
    "group by": "SELECT k, count(*) AS n, sum(v) AS s FROM a GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM a",
    "union": "SELECT /*+ COALESCE(1) */ * FROM (SELECT k FROM a UNION ALL SELECT k FROM b)",
    "hash join": "SELECT /*+ SHUFFLE_HASH(b) */ a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k",
    "merge join": "SELECT /*+ MERGE(b) */ a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k",
    "left join": "SELECT /*+ SHUFFLE_HASH(b) */ a.k, b.v AS w FROM a LEFT JOIN b ON a.k = b.k",
    "exists": "SELECT k, v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k)",
    "not exists": "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k)",
    "in": "SELECT k, v FROM a WHERE k IN (SELECT k FROM b)",
    "except": "SELECT k FROM a EXCEPT SELECT k FROM b",
    "window": "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY _sequence) AS s FROM a",
    "explode": "SELECT k, explode(array(k, k + 1)) AS e FROM a",
    "dates": "SELECT k FROM a WHERE timestamp_seconds(v) < '2024-01-01' AND cast('2020-01-01' AS date) < '2021-01-01'",
    "empty result": "SELECT k FROM a WHERE v > 5",
    "aggregate of nothing": "SELECT count(*) AS n, max(v) AS m FROM a WHERE v > 5",
}


def _view(session: Any, name: str) -> Leaf:
    leaf = Leaf(session, arrow_schema(NUMBERS))
    leaf.frame.createOrReplaceTempView(name)
    return leaf


@pytest.mark.parametrize("name", REFUSED)
def test_refused_plans(session: Any, name: str) -> None:
    text, reason = REFUSED[name]
    leaves = {view: _view(session, view) for view in ("a", "b") if re.search(rf"\b{view}\b", text)}
    found = why_not_prepared(session.sql(text), [text], len(leaves))
    assert found is not None
    assert re.search(reason, found), found


@pytest.mark.parametrize("name", PREPARED)
def test_prepared_plans_see_new_data(session: Any, name: str) -> None:
    text = PREPARED[name]
    leaves = {view: _view(session, view) for view in ("a", "b") if re.search(rf"\b(FROM|JOIN) {view}\b", text)}
    frame = session.sql(text)
    assert why_not_prepared(frame, [text], len(leaves)) is None
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    for seed, rows in enumerate((200, 0, 300, 1)):
        data = {view: numbers(rows, seed * 10 + i) for i, view in enumerate(leaves)}
        for view, leaf in leaves.items():
            leaf.set(data[view])
        got = collect(frame, schema)
        for view, table in data.items():
            session.createDataFrame(table).coalesce(1).createOrReplaceTempView(view)
        assert same_rows(got, session.sql(text).toArrow().cast(schema)), (name, seed)
        for view, leaf in leaves.items():
            leaf.frame.createOrReplaceTempView(view)


def test_refuses_a_cached_input(session: Any) -> None:
    leaf = _view(session, "cached")
    frame = leaf.frame.cache()
    try:
        assert "InMemoryTableScanExec" in str(why_not_prepared(frame.where("v > 0.5"), [], 1))
    finally:
        frame.unpersist()


def test_refuses_an_adaptive_plan(spark: Any) -> None:
    adaptive = spark.newSession()
    adaptive.conf.set("spark.sql.adaptive.enabled", "true")
    adaptive.conf.set("spark.sql.adaptive.forceApply", "true")
    adaptive.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")
    leaf = Leaf(adaptive, arrow_schema(NUMBERS))
    assert "AdaptiveSparkPlanExec" in str(why_not_prepared(leaf.frame.groupBy("k").count(), [], 1))


def test_refuses_a_plan_that_lost_an_input(session: Any) -> None:
    leaf = _view(session, "a")
    assert why_not_prepared(leaf.frame.where("v > 0"), [], 2) == "its plan reads 1 of 2 inputs"


def test_a_spark_that_stores_the_data_of_leaves_elsewhere_is_noticed(spark: Any) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.execution.arrow.localRelationThreshold", "1g")  # data goes into the plan itself
    with pytest.raises(LeafError, match="leaf"):
        Leaf(other, arrow_schema(NUMBERS))
