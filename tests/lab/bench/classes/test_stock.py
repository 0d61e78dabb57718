"""How stock's progress reports are read, and its pools. Nothing is run."""

from xml.etree import ElementTree

import numpy as np
import pytest

from headgate_lab.bench.classes.pusher import REHEARSALS, make_lines
from headgate_lab.bench.classes.stock import (
    BEFORE_TRIGGER_S,
    LEAD_S,
    MOST_QUERIES,
    VARIANTS,
    MicroBatch,
    allocations,
    arrivals_of_results,
    query_results,
    read_batch,
    start_time,
)
from headgate_lab.bench.classes.workload import BenchQuery, Tuples, Workload

EPOCH = 1_700_000_000.0  # 2023-11-14T22:13:20Z


def report(*sources):
    return {
        "timestamp": "2023-11-14T22:13:21.500Z",
        "durationMs": {
            "latestOffset": 1, "walCommit": 2, "getBatch": 3, "queryPlanning": 4, "addBatch": 90,
            "commitOffsets": 50, "triggerExecution": 160,
        },
        "sources": [
            {"description": f"TextSocketV2[host: 127.0.0.1, port: {port}]", "startOffset": first, "endOffset": last}
            for port, first, last in sources
        ],
    }  # fmt: skip


def query(kind, *streams):
    return BenchQuery("q", "class1", kind, streams or ("s",))


def came(arrivals, k=None, v=None):
    count = len(arrivals)
    return Tuples(
        np.array(arrivals, dtype=float),
        np.zeros(count, dtype=np.int32) if k is None else np.array(k, dtype=np.int32),
        np.ones(count) if v is None else np.array(v, dtype=float),
    )


def test_results_are_handed_over_when_addbatch_ends():
    batch = read_batch(report((5001, "9", "12")), {5001: "s"}, EPOCH)
    assert batch.began == pytest.approx(1.5)
    assert batch.handed == pytest.approx(1.6)
    assert batch.seconds == pytest.approx(0.16)
    assert batch.lines == {"s": (10, 13)}
    assert batch.ends == {"s": 13}


def test_first_batch_and_idle_sources():
    batch = read_batch(report((5001, None, 0), (5002, 4, 4)), {5001: "a", 5002: "b"}, EPOCH)
    assert batch.lines == {"a": (0, 1)}
    assert batch.ends == {"a": 1, "b": 5}


def test_arrivals_of_results():
    part = came([1.1, 1.2, 1.9, 2.1], k=[1, 2, 1, 1], v=[0.4, 0.6, 0.5, 0.9])
    assert arrivals_of_results(query("filter"), {"s": part}).tolist() == [1.2, 2.1]
    assert sorted(arrivals_of_results(query("count"), {"s": part})) == [1.2, 1.9, 2.1]
    both = {"a": part, "b": came([1.5])}
    assert sorted(arrivals_of_results(query("join", "a", "b"), both)) == [1.1, 1.2, 1.5, 1.9, 2.1]


def test_results_count_after_the_warm_up_and_before_the_end():
    found = came([0.5, 1.5, 2.5, 3.5])  # one line each
    lines = make_lines(found)
    first = REHEARSALS * lines.rehearsal
    spans = [(0.0, first - 2, first), (1.7, first, first + 2), (2.8, first + 2, first + 3), (4.2, first + 3, first + 4)]
    batches = [MicroBatch(handed - 0.1, handed, 0.2, {"s": (a, b)}, {"s": b}) for handed, a, b in spans]
    workload = Workload("w", 1, 1.0, seconds=4.0, warm_s=1.0)
    measured = query_results(query("filter"), batches, {"s": lines}, {"s": found}, workload)
    assert measured.completed == 3
    assert measured.latencies.tolist() == pytest.approx([0.2, 0.3])


def test_every_pool_is_allocated_and_the_first_class_sorts_first():
    pools = {pool.get("name"): pool for pool in ElementTree.fromstring(allocations())}
    members = Workload("w", MOST_QUERIES, 1.0, 1.0).members()
    for variant in VARIANTS.values():
        names = {one: variant.pool(one) for one in members}
        assert set(names.values()) <= set(pools)
        by_name = sorted(members, key=lambda one: names[one])
        assert [one.class_name for one in by_name] == sorted(one.class_name for one in members)
    weights = {name: (pool.findtext("weight"), pool.findtext("minShare")) for name, pool in pools.items()}
    assert weights["minshare-class1"] == ("6", "2")
    assert weights["weights-class2"] == ("3", "0")
    assert weights["query-class3-q002_filter"] == ("1", "0")


def test_triggers_depend_on_class_and_kind():
    members = Workload("w", 12, 1.0, 1.0).members()  # each kind once per class
    every = {name: {(q.class_name, q.kind): variant.every(q) for q in members} for name, variant in VARIANTS.items()}
    assert set(every["per-query"].values()) == {None}
    assert every["triggers"]["class1", "count"] is None
    assert every["triggers"]["class3", "count"] == "3 seconds"
    for name in ("windows", "windows per-query"):
        assert {every[name][f"class{n}", kind] for n in (1, 2, 3) for kind in ("count", "average")} == {"1 second"}
        for kind in ("filter", "join"):
            assert [every[name][f"class{n}", kind] for n in (1, 2, 3)] == [None, "1 second", "3 seconds"]
    assert [every["paced"]["class1", kind] for kind in ("filter", "join", "average")] == [
        "100 milliseconds", "200 milliseconds", "1 second",
    ]  # fmt: skip


@pytest.mark.parametrize("now", [EPOCH, EPOCH + 0.5, EPOCH + 0.68, EPOCH + 0.999])
def test_windows_end_just_before_triggers_fire(now):
    begins = start_time(now)
    assert LEAD_S <= begins - now <= LEAD_S + 1.0
    assert (begins + BEFORE_TRIGGER_S) % 1.0 == pytest.approx(0.0, abs=1e-6)
