"""What the administrator changes in a running core: promises, tolerances, classes, streams and tables."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Plan, QueryClass
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.plan.weighing import WEIGHED, weighed
from headgate.scheduling.events import (
    ClassAdded,
    ClassRemoved,
    Event,
    QueryQosChanged,
    QueryToleranceChanged,
    SheddingChanged,
    StreamEnded,
    StreamRemoved,
    TableRemoved,
)
from headgate.sql.schema import EXTRA
from tests.applications import application
from tests.conformance.plans import SCHEMA, feeder, make_plan, project
from tests.scheduling.driven_core import DrivenCore
from tests.scheduling.plain_caller import values_of

PROMISE = (QosMeasure("latency", "must", QosGraph(((0.0, 0.5), (60.0, 0.5)))),)
SUMS = "RSTREAM(SELECT k, sum(v) AS total FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k)"


def pair() -> DrivenCore:
    """Two queries over a stream."""
    operators = [project("a/p", "s"), project("b/p", "s")]
    return DrivenCore(make_plan({"s": feeder()}, operators, {"a": "a/p", "b": "b/p"}, {"one": 1, "two": 2}))


def rows(first: int, count: int) -> pa.Table:
    numbers = list(range(first, first + count))
    schema = arrow_schema(SCHEMA)
    return pa.Table.from_arrays([pa.array(numbers, field.type) for field in schema], schema=schema)


def sums(**settings: object) -> Plan:
    app = application({"s": "k INT, v DOUBLE"}, {"q": {"cql": SUMS, **settings}})
    return weighed(app.checked().plan)


def test_a_tolerance_drops_nothing_by_itself_and_none_at_all_once_it_is_gone() -> None:
    driven = pair()
    driven.handle(QueryToleranceChanged(0.0, "a", 0.5, None))
    (edge,) = driven.core.shedders
    driven.arrive({"s": rows(0, 128)})
    driven.handle(SheddingChanged(0.0, edge, 64))
    driven.arrive({"s": rows(128, 128)})
    driven.handle(QueryToleranceChanged(0.0, "a", None, None))
    assert driven.core.shedders == {}
    driven.handle(SheddingChanged(0.0, edge, 64))  # decided just before: too late
    driven.arrive({"s": rows(256, 128)})
    driven.drain()
    found = {name: [k for k, *_ in values_of(driven.results[name])] for name in ("a", "b")}
    assert found["b"] == list(range(384))
    assert [k for k in found["a"] if not 128 <= k < 256] == [*range(128), *range(256, 384)]
    assert len(found["a"]) == 384 - 64
    assert driven.core.monitor.shed_so_far("a") == 64


def test_a_batch_of_which_everything_is_dropped_makes_nothing_ready() -> None:
    driven = pair()
    driven.handle(QueryToleranceChanged(0.0, "a", 0.99, None))
    (edge,) = driven.core.shedders
    driven.handle(SheddingChanged(0.0, edge, 63 * 64))
    for number in range(70):
        driven.arrive({"s": rows(number, 1)})
        driven.drain()
    assert len(driven.results["b"]) == 70
    assert len(driven.results["a"]) < 10


def test_another_tolerance_begins_anew() -> None:
    driven = pair()
    driven.handle(QueryToleranceChanged(0.0, "a", 0.5, None))
    (edge,) = driven.core.shedders
    driven.handle(SheddingChanged(0.0, edge, 64))
    driven.handle(QueryToleranceChanged(0.0, "a", 0.1, {"attribute": "v", "drop": "lowest"}))
    assert driven.core.shedders[edge].extra == 0
    assert driven.core.plan.queries["a"].shed == {"attribute": "v", "drop": "lowest"}


def test_a_tolerance_may_go_and_come_where_tuples_carry_weights() -> None:
    driven = DrivenCore(sums(tolerance=0.3))
    (edge,) = driven.core.shedders
    assert driven.core.plan.operators[edge.operator].inputs[0].branch == WEIGHED
    driven.handle(QueryToleranceChanged(0.0, "q", None, None))
    schema = arrow_schema(driven.plan.streams["s"].schema)
    driven.arrive({"s": pa.Table.from_arrays([pa.array([1], field.type) for field in schema], schema=schema)})
    (queue,) = [driven.core.queues[one] for one in driven.core.plan.entrances("s")]
    table = queue.take()
    assert table is not None
    assert table.column(EXTRA).to_pylist() == [0], "operators still read the weight"
    driven.handle(QueryToleranceChanged(0.0, "q", 0.2, None))
    assert list(driven.core.shedders) == [edge]


def test_a_tolerance_is_refused_where_results_could_not_count_for_what_is_dropped() -> None:
    driven = DrivenCore(sums())
    with pytest.raises(ValueError, match=r"registered without a tolerance.*; remove it and register it again"):
        driven.handle(QueryToleranceChanged(0.0, "q", 0.2, None))
    assert driven.core.plan.queries["q"].tolerance is None
    driven.handle(QueryToleranceChanged(0.0, "q", None, None))


def test_promises_reach_the_plan_and_the_report() -> None:
    driven = pair()
    driven.handle(QueryQosChanged(0.0, "a", PROMISE))
    assert driven.core.plan.queries["a"].qos == driven.core.monitor.plan.queries["a"].qos == PROMISE
    assert driven.core.board.plan is driven.core.plan
    for event in (QueryQosChanged(0.0, "x", ()), QueryToleranceChanged(0.0, "x", None, None)):
        with pytest.raises(ValueError, match="there is no query 'x'"):
            driven.handle(event)


def test_classes_come_and_go() -> None:
    driven = pair()
    driven.handle(ClassAdded(0.0, QueryClass("three", 3)))
    assert driven.core.board.priorities["three"] == 3
    assert driven.core.monitor.report("spark", "fifo", 1, 1.0)["classes"].keys() == {"one", "two", "three"}
    for event, problem in (
        (ClassAdded(0.0, QueryClass("three", 3)), "already a class 'three'"),
        (ClassRemoved(0.0, "one"), "it is the class of a, b"),
        (ClassRemoved(0.0, "four"), "there is no class 'four'"),
    ):
        with pytest.raises(ValueError, match=problem):
            driven.handle(event)
    driven.stop(["a", "b"])
    with pytest.raises(ValueError, match="it is the class of a, b"):
        driven.handle(ClassRemoved(0.0, "one"))
    for query in ("a", "b"):
        driven.remove(query)
    for name in ("one", "two", "three"):
        driven.handle(ClassRemoved(0.0, name))
    assert driven.core.monitor.report("spark", "fifo", 1, 1.0)["classes"] == {}


@pytest.mark.parametrize("ended", [False, True])
def test_the_name_of_a_removed_stream_is_free(ended: bool) -> None:
    driven = pair()
    refused: list[tuple[Event, str]] = [
        (StreamRemoved(0.0, "s"), "it is read by a, b; remove them first"),
        (StreamRemoved(0.0, "t"), "there is no stream 't'"),
        (TableRemoved(0.0, "t"), "there is no table 't'"),
    ]
    for event, problem in refused:
        with pytest.raises(ValueError, match=problem):
            driven.handle(event)
    driven.arrive({"s": rows(0, 4)}, ["s"])
    driven.drain()
    if ended:
        driven.handle(StreamEnded(0.0, "s"))
    for query in ("a", "b"):
        driven.remove(query)
    driven.handle(StreamRemoved(0.0, "s"))
    assert driven.core.plan.streams == {}
    assert driven.core.rates() == {}
    assert driven.core.stats.summary()["operators"] == {}
    again = make_plan({"s": feeder()}, [project("a/p", "s")], {"a": "a/p"}, {"one": 1, "two": 2})
    slow = replace(again, streams={"s": replace(again.streams["s"], slack_s=7.0)})
    driven.results.clear()
    driven.add(slow)
    assert driven.core.plan.streams["s"].slack_s == 7.0
    driven.arrive({"s": rows(9, 1)}, ["s"])
    driven.drain()
    assert [k for k, *_ in values_of(driven.results["a"])] == [9]


def test_a_query_is_complete_once_its_streams_have_ended_and_nothing_waits() -> None:
    driven = pair()
    driven.arrive({"s": rows(0, 4)})
    driven.handle(StreamEnded(0.0, "s"))
    assert not driven.core.is_complete("a")
    driven.drain()
    assert driven.core.is_complete("a")
    assert driven.core.is_complete("b")
