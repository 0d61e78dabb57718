"""On Spark, every policy, granularity, batch size and number of slots gives the same result multiset."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.application.checked import PolicySettings, RunLimits
from headgate.connect.sinks.memory import MemorySink
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Plan
from headgate.plan.operators import Port, Project, Select, Split, TableJoin, Union
from headgate.runtime.spark.engine import SparkRuntime
from tests.applications import app_of_plan
from tests.conformance.choices import ALL, SETTINGS, label
from tests.conformance.plans import SCHEMA, feeder, make_plan
from tests.conformance.reference import PLACES, Row, Values, evaluate
from tests.conformance.strategies import TABLE, plans
from tests.tiers import examples

pytestmark = pytest.mark.spark

ROWS = st.lists(st.tuples(st.none() | st.integers(0, 4), st.none() | st.integers(0, 30)), max_size=25)
# Pairs of batch size and slots; policies alternate between the two rows, and random plans draw from more.
SIZES_AND_SLOTS = (((1000, 1), (5, 4)), ((5, 1), (1, 2)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("conformance")
    (path / "places.csv").write_text("\n".join(["k", *map(str, PLACES)]) + "\n")
    return path


def run(
    spark: Any, plan: Plan, policy: PolicySettings, streams: dict[str, list[Row]], size: int, slots: int, folder: Path
) -> dict[str, Counter[Values]]:
    """Deliver the streams in batches of `size`, with a call on every slot after each; then run until idle."""
    runtime = SparkRuntime(app_of_plan(plan, policy, slots=slots, folder=folder), spark)
    runtime.open()
    longest = max((len(rows) for rows in streams.values()), default=0)
    for first in range(0, longest, size):
        for name, rows in streams.items():
            if part := rows[first : first + size]:
                runtime.deliver({name: _table(part)})
        for slot in range(slots):
            runtime.step(slot)
    while sum(runtime.step(slot) for slot in range(slots)):
        pass
    report = runtime.stop()  # checks that every queue conserved its tuples
    assert report["errors"] == {}
    assert not any(runtime.unfinished().values()), "a work-conserving policy left tuples behind"
    return {name: _rows(sink) for name, sink in runtime.sinks.items()}


def _table(rows: list[Row]) -> pa.Table:
    k, v, at = zip(*rows, strict=True)
    schema = arrow_schema(SCHEMA)
    return pa.Table.from_arrays(
        [pa.array(c, f.type) for c, f in zip((k, v, at, at), schema, strict=True)], schema=schema
    )


def _rows(sink: Any) -> Counter[Values]:
    assert isinstance(sink, MemorySink)
    return Counter((r["k"], r["v"]) for t in sink.tables() for r in t.to_pylist())


def _stamped(data: dict[str, list[tuple[int | None, int | None]]]) -> dict[str, list[Row]]:
    return {name: [(k, v, at) for at, (k, v) in enumerate(rows)] for name, rows in data.items()}


@settings(max_examples=examples(4, 8), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_plans_give_the_reference_answer(spark: Any, folder: Path, data: st.DataObject) -> None:
    plan = data.draw(plans(max_operators=4))
    streams = _stamped({name: data.draw(ROWS, label=name) for name in plan.streams})
    policy = data.draw(st.sampled_from(ALL))
    size, slots = data.draw(st.sampled_from([1, 4, 1000])), data.draw(st.integers(1, 4))
    expected = evaluate(plan, streams)
    assert run(spark, plan, policy, streams, size, slots, folder) == expected


FIXED = make_plan(
    {"s0": feeder(), "s1": feeder()},
    [
        Select(id="plan/some", inputs=(Port("s0"),), where="v % 5 <> 0"),
        Split(id="plan/split", inputs=(Port("plan/some"),), conditions={"a": "v % 2 = 0", "b": "v % 3 = 0"}),
        Union(id="plan/all", inputs=(Port("plan/split", "a"), Port("s1"))),
        TableJoin(id="plan/join", inputs=(Port("plan/all"),), table="places", table_schema=TABLE.schema, on={"k": "k"}),
        Project(id="plan/next", inputs=(Port("plan/split", "b"),), columns={"k": "k", "v": "v + 1"}),
    ],
    {"joined": "plan/join", "next": "plan/next", "some": "plan/some"},
    tables={"places": TABLE},
)
DATA = _stamped({"s0": [(i % 5, i) for i in range(24)], "s1": [(None if i % 7 == 0 else i % 4, i) for i in range(17)]})


@pytest.mark.parametrize("policy", SETTINGS, ids=label)
def test_every_policy_batch_size_and_slot_count_gives_the_same_answer(
    spark: Any, folder: Path, policy: PolicySettings
) -> None:
    """A plan with fan-out, a merge and shared operators. A registered policy is included automatically."""
    expected = evaluate(FIXED, DATA)
    assert all(expected.values())
    for size, slots in SIZES_AND_SLOTS[ALL.index(policy) % 2]:
        assert run(spark, FIXED, policy, DATA, size, slots, folder) == expected, (size, slots)


@pytest.mark.parametrize("policy", SETTINGS, ids=label)
def test_concurrent_slots_give_the_same_answer(spark: Any, folder: Path, policy: PolicySettings) -> None:
    """The plan above with real threads: a source thread that replays files, and four slots."""
    rows = {name: given * 40 for name, given in DATA.items()}
    streams = {name: replace(stream, source=_file(folder, name, rows[name])) for name, stream in FIXED.streams.items()}
    app = app_of_plan(replace(FIXED, streams=streams), policy, slots=4, folder=folder)
    runtime = SparkRuntime(app, spark)
    runtime.start()
    runtime.wait(RunLimits(seconds=120, until_idle=True))
    report = runtime.stop()
    assert report["errors"] == {}
    assert report["seconds"] < 120
    assert {name: _rows(sink) for name, sink in runtime.sinks.items()} == evaluate(FIXED, rows)


def _file(folder: Path, name: str, rows: list[Row]) -> dict[str, Any]:
    lines = ["k,v", *(f"{'' if k is None else k},{v}" for k, v, _ in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return {"kind": "csv", "path": f"{name}.csv", "replay": "fast"}
