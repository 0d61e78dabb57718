"""Calls of units: all three ways give the same answer on all data and after every kind of failure."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge, Plan, Table
from headgate.plan.operators import Function, Port, Project, Select, Split, TableJoin, Union
from headgate.policies.registry import make_policy
from headgate.runtime.spark.caller_setup import make_caller
from headgate.runtime.spark.calls import caller as caller_module
from headgate.runtime.spark.calls.caller import CHECKS, Caller
from headgate.runtime.spark.calls.prepared import PreparedJob
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.internals.leaf import Leaf
from headgate.scheduling.board import Board
from headgate.scheduling.queue import BatchQueue
from headgate.scheduling.units import Unit
from headgate.sql.schema import parse_schema
from tests.runtime.spark.helpers import app_of, batch, plan_of, queued_numbers, rows_of, simple_plan, stream

pytestmark = pytest.mark.spark
IN = Edge("q/select", 0)
ONLY = {"direct": Ways(), "prepared": Ways(direct=False), "partitioned": Ways(partitioned_rows=0)}


def caller_of(session: Any, plan: Plan, ways: Ways | None = None) -> Caller:
    return make_caller(session, app_of(plan), ways)


def gain_trust(caller: Caller, operators: Any, batches: list[dict[Edge, pa.Table]]) -> None:
    """Make as many calls as it takes until the prepared plan is trusted."""
    for inputs in batches[:CHECKS]:
        assert not caller.run(operators, inputs).steady


def callers_of(session: Any, plan: Plan) -> dict[str, Caller]:
    """A caller for each way."""
    return {way: caller_of(session, plan, ways) for way, ways in ONLY.items()}


def test_all_ways_agree_and_count_the_same(session: Any) -> None:
    plan = simple_plan()
    callers = callers_of(session, plan)
    for seed, rows in enumerate((500, 3, 0, 1, 4000)):
        inputs = {IN: queued_numbers(rows, seed)}
        results = {way: caller.run(plan.operators, inputs) for way, caller in callers.items()}
        expected = results["partitioned"]
        selected = expected.rows_out[Port("q/select")]
        assert expected.rows_in == {"q/select": rows, "q/project": selected}
        for result in results.values():
            assert rows_of(result.outputs[Port("q/project")]) == rows_of(expected.outputs[Port("q/project")])
            assert (result.rows_in, result.rows_out) == (expected.rows_in, expected.rows_out)
    assert callers["direct"].calls == {"partitioned": 2, "direct": 3}
    assert callers["prepared"].calls == {"partitioned": 2, "prepared": 3}
    assert callers["partitioned"].calls == {"partitioned": 5}


def test_large_batches_are_partitioned(session: Any) -> None:
    plan = simple_plan()
    caller = caller_of(session, plan, Ways(partitioned_rows=1000))
    for seed, rows in enumerate((10, 20, 30, 60_000)):
        result = caller.run(plan.operators, {IN: queued_numbers(rows, seed)})
        assert (result.way == "direct") == (rows == 30)
        table = queued_numbers(rows, seed).to_pandas()
        assert result.outputs[Port("q/project")].num_rows == int((table.v > 0.5).sum())


@pytest.mark.parametrize(
    ("schema", "columns", "where", "project"),
    [
        (
            "a ARRAY<INT>, m MAP<STRING, INT>",
            {"a": [[1, None], None, []], "m": [[("x", 1)], None, []]},
            "a IS NULL OR size(a) >= 0",
            {"a": "a", "first": "try_element_at(a, 1)", "m": "m"},
        ),
        (
            "s STRUCT<x: INT, y: STRING>",
            {"s": [{"x": 1, "y": None}, None, {"x": None, "y": "ü"}]},
            "s.x IS NULL OR s.x > 0",
            {"s": "s", "y": "s.y"},
        ),
        (
            "t TIMESTAMP, d DATE",
            {
                "t": [datetime(2024, 2, 29, 23, 59, 59, 5, UTC), None, datetime(1969, 1, 1, tzinfo=UTC)],
                "d": [None, None, datetime(2024, 1, 1).date()],
            },
            "true",
            {"day": "date_trunc('DAY', t)", "d": "d"},
        ),
        (
            "c DECIMAL(12,2), b BOOLEAN, x BINARY",
            {
                "c": [Decimal("1.20"), None, Decimal("-9999999999.99")],
                "b": [True, None, False],
                "x": [b"\0\xff", None, b""],
            },
            "b IS NULL OR b OR c < 0",
            {"c": "c * 2", "b": "NOT b", "x": "x"},
        ),
        ("n STRING", {"n": ["", None, "a'b\"c\n"]}, "n IS NOT NULL", {"n": "upper(n)"}),
    ],
    ids=["arrays and maps", "structs", "times", "decimals", "strings"],
)
def test_all_types_pass_through(session: Any, schema: str, columns: Any, where: str, project: dict[str, str]) -> None:
    plan = simple_plan(where, project, schema)
    declared = parse_schema(schema, "s")
    callers = callers_of(session, plan)
    for turn in range(CHECKS + 1):
        table = batch(declared, {name: values[turn:] + values for name, values in columns.items()}, first=turn)
        direct, prepared, partitioned = (
            rows_of(caller.run(plan.operators, {IN: table}).outputs[Port("q/project")]) for caller in callers.values()
        )
        assert direct == prepared == partitioned
    assert not any(caller.fallbacks for caller in callers.values())
    assert (callers["direct"].calls["direct"], callers["prepared"].calls["prepared"]) == (1, 1)


@pytest.mark.parametrize("ways", [ONLY["direct"], ONLY["prepared"]], ids=["direct", "prepared"])
def test_first_calls_are_compared(session: Any, monkeypatch: pytest.MonkeyPatch, ways: Ways) -> None:
    """A prepared job is planned with the data of the first call, so there is nothing to compare the first answer with.
    What runs directly is compared from the first call on."""
    plan, compared = simple_plan(), []
    run_replanned = PreparedJob.run_replanned
    monkeypatch.setattr(PreparedJob, "run_replanned", lambda job: (compared.append(job), run_replanned(job))[1])
    caller = caller_of(session, plan, ways)
    for seed in range(CHECKS + 1):
        caller.run(plan.operators, {IN: queued_numbers(20, seed)})
        assert len(compared) == min(seed + ways.direct, CHECKS - (not ways.direct))


def test_queries_that_differ_only_in_names_are_compared_once(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand queries of a few shapes took minutes to rehearse: each plan was compared with two new ones."""
    selects = [
        Select(id=f"{name}/select", inputs=(Port("s"),), where=where)
        for name, where in (("a", "v > 0.5"), ("b", "v > 0.5"), ("other", "v > 0.25"))
    ]
    plan = plan_of(selects, {select.id[:-7]: Port(select.id) for select in selects})
    compared = []
    run_replanned = PreparedJob.run_replanned
    monkeypatch.setattr(PreparedJob, "run_replanned", lambda job: (compared.append(job), run_replanned(job))[1])
    caller = caller_of(session, plan)
    inputs = [queued_numbers(20, seed) for seed in range(CHECKS)]
    gain_trust(caller, ["a/select"], [{Edge("a/select", 0): table} for table in inputs])
    assert len(compared) == CHECKS
    first = caller.run(["b/select"], {Edge("b/select", 0): inputs[0]})
    assert (first.way, first.steady, len(compared)) == ("direct", False, CHECKS)  # its time includes planning
    assert rows_of(first.outputs[Port("b/select")]) == rows_of(
        caller.run(["a/select"], {Edge("a/select", 0): inputs[0]}).outputs[Port("a/select")]
    )
    assert caller.run(["b/select"], {Edge("b/select", 0): inputs[1]}).steady
    caller.run(["other/select"], {Edge("other/select", 0): inputs[0]})
    assert len(compared) == CHECKS + 1


def test_current_time_is_never_frozen(session: Any) -> None:
    plan = simple_plan("v >= 0", {"t": "current_timestamp()"})
    caller = caller_of(session, plan)
    times = [
        caller.run(plan.operators, {IN: queued_numbers(5, seed)}).outputs[Port("q/project")]["t"][0].as_py()
        for seed in range(4)
    ]
    assert times == sorted(set(times))
    assert "current time" in caller.fallbacks["q/select + q/project"]


def test_all_operators_in_one_job(session: Any, tmp_path: Any) -> None:
    (tmp_path / "names.csv").write_text("k,name\n1,one\n2,two\n2,zwei\n")
    names = Table(
        "names", parse_schema("k INT, name STRING", "t"), {"kind": "csv", "path": "names.csv", "header": True}
    )
    operators = [
        Select(id="q/select", inputs=(Port("s"),), where="v > 0.2"),
        Split(id="q/split", inputs=(Port("q/select"),), conditions={"low": "k < 5", "some": "k < 9"}),
        Project(id="q/project", inputs=(Port("q/split", "some"),), columns={"k": "k - 5", "v": "v"}),
        Union(id="q/union", inputs=(Port("q/split", "low"), Port("q/project"))),
        TableJoin(
            id="q/join", inputs=(Port("q/union"),), table="names", table_schema=names.schema, on={"k": "k"}, how="left"
        ),
        Function(
            id="q/fun",
            inputs=(Port("q/join"),),
            target="tests.runtime.spark.user_functions:doubled",
            schema=parse_schema("k INT, w DOUBLE", "f"),
        ),
    ]
    plan = plan_of(operators, {"q": Port("q/fun")}, [stream("s")], [names])
    app = app_of(plan)
    from dataclasses import replace

    caller = make_caller(session, replace(app, folder=tmp_path))
    for seed in range(CHECKS + 2):
        table = queued_numbers(400, seed)
        result = caller.run(plan.operators, {IN: table})
        frame = table.to_pandas()
        kept = frame[(frame.v > 0.2) & (frame.k < 9)]
        shifted = kept.k.where(kept.k < 5, kept.k - 5)
        expected = int((shifted != 2).sum() + 2 * (shifted == 2).sum())
        assert result.outputs[Port("q/fun")].num_rows == expected
        assert result.rows_out[Port("q/split", "low")] == int((kept.k < 5).sum())
        assert result.rows_in["q/join"] == len(kept)
    assert caller.calls["prepared"] == 2  # a Python worker runs the function, so the calls are jobs


def test_operators_one_by_one_give_the_same_as_the_whole_unit(session: Any) -> None:
    operators = [
        Select(id="q/select", inputs=(Port("s"),), where="v > 0.2"),
        Split(id="q/split", inputs=(Port("q/select"),), conditions={"low": "k < 5", "odd": "k % 2 = 1"}, match="all"),
        Union(id="q/union", inputs=(Port("q/split", "low"), Port("q/split", "odd"))),
    ]
    plan = plan_of(operators, {"q": Port("q/union")})
    caller = caller_of(session, plan)
    for seed in range(CHECKS + 1):
        whole = caller.run(plan.operators, {IN: queued_numbers(300, seed)}).outputs[Port("q/union")]
        selected = caller.run(["q/select"], {IN: queued_numbers(300, seed)}).outputs[Port("q/select")]
        split = caller.run(["q/split"], {Edge("q/split", 0): selected}).outputs
        united = caller.run(
            ["q/union"], {Edge("q/union", i): split[Port("q/split", b)] for i, b in enumerate(("low", "odd"))}
        )
        assert rows_of(united.outputs[Port("q/union")]) == rows_of(whole)


def test_a_failing_job_leaves_no_old_data_behind(session: Any) -> None:
    plan = simple_plan("100 / k > 0", {"k": "k", "x": "100 / k"})
    caller = caller_of(session, plan)
    schema = plan.streams["s"].schema

    def good(first: int) -> pa.Table:
        return batch(schema, {"k": [first + 1, first + 2], "v": [0.0, 0.0]}, first)

    gain_trust(caller, plan.operators, [{IN: good(0)}, {IN: good(10)}])
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        caller.run(plan.operators, {IN: batch(schema, {"k": [1, 0], "v": [0.0, 0.0]}, 20)})
    result = caller.run(plan.operators, {IN: good(30)})
    assert result.outputs[Port("q/project")]["k"].to_pylist() == [31, 32]


def test_a_call_that_is_canceled_while_it_runs(session: Any) -> None:
    """Cancel a running prepared job: later calls must not see its data, and it must not see theirs."""
    slow = Function(
        id="q/select",
        inputs=(Port("s"),),
        target="tests.runtime.spark.user_functions:slow_if_negative",
        schema=parse_schema("k INT", "f"),
    )
    plan = plan_of([slow], {"q": Port("q/select")})
    caller = caller_of(session, plan)
    schema = plan.streams["s"].schema
    gain_trust(caller, plan.operators, [{IN: queued_numbers(5, seed)} for seed in range(CHECKS)])
    context = session.sparkContext
    context.setJobGroup("cut-off", "a test", True)
    timer = threading.Timer(1.0, lambda: context.cancelJobGroup("cut-off"))
    timer.start()
    try:
        with pytest.raises(Exception, match=r"(?i)cancel"):
            caller.run(plan.operators, {IN: batch(schema, {"k": [-1], "v": [0.0]})})
    finally:
        timer.join()
        context.setJobGroup("after", "a test", False)
    for seed in range(CHECKS + 1):
        table = queued_numbers(50, 100 + seed)
        result = caller.run(plan.operators, {IN: table})
        assert result.outputs[Port("q/select")]["k"].to_pylist() == table["k"].to_pylist()


def test_a_wrong_prepared_answer_is_caught_and_never_used(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a plan keeps the data of its first run, the comparison notices."""
    plan = simple_plan()
    caller = caller_of(session, plan)
    run, first = PreparedJob.run, []

    def frozen(self: PreparedJob, *data: Any, **way: Any) -> Any:
        found = run(self, *data, **way)
        first.append(found)
        return first[0]

    monkeypatch.setattr(PreparedJob, "run", frozen)
    for seed in range(1, 5):
        result = caller.run(plan.operators, {IN: queued_numbers(50, seed)})
        expected = queued_numbers(50, seed).to_pandas()
        assert result.outputs[Port("q/project")].num_rows == int((expected.v > 0.5).sum())
    assert "differs from a newly planned one" in caller.fallbacks["q/select + q/project"]


def test_every_call_is_planned_where_leaves_do_not_work(
    session: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Leaf, "set", lambda self, table: None)  # new data never reaches the leaf
    plan = simple_plan()
    caller = caller_of(session, plan)
    assert "nothing can be prepared" in caplog.text
    result = caller.run(plan.operators, {IN: queued_numbers(50, 1)})
    assert result.way == "partitioned"
    assert result.outputs[Port("q/project")].num_rows == int((queued_numbers(50, 1).to_pandas().v > 0.5).sum())


def units_of(plan: Plan, unit: str) -> tuple[Unit, ...]:
    queues = {edge: BatchQueue() for edge in plan.edges}
    return Board(plan, queues, make_policy("rr", {"unit": unit}), DeclaredStats(plan), 1).units


def test_only_current_units_get_prepared_plans(session: Any) -> None:
    plan = simple_plan()
    caller = caller_of(session, plan)
    whole, single = units_of(plan, "query"), units_of(plan, "operator")
    caller.keep(plan, whole)
    caller.run(["q/select"], {IN: queued_numbers(50, 1)})  # as happens after a failure
    assert not caller.prepared_units
    caller.run(plan.operators, {IN: queued_numbers(50, 1)})
    assert caller.prepared_units == [("q/select", "q/project")]
    caller.keep(plan, single)
    caller.run(["q/select"], {IN: queued_numbers(50, 1)})
    assert caller.prepared_units == [("q/select",), ("q/select", "q/project")]


def test_a_policy_that_comes_back_finds_its_plans_again(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = simple_plan()
    caller = caller_of(session, plan)
    whole, single = units_of(plan, "query"), units_of(plan, "operator")
    caller.keep(plan, whole)
    for seed in range(4):
        caller.run(plan.operators, {IN: queued_numbers(50, seed)})
    assert caller.run(plan.operators, {IN: queued_numbers(50, 9)}).steady
    caller.keep(plan, single)
    caller.keep(plan, whole)
    assert caller.run(plan.operators, {IN: queued_numbers(50, 10)}).steady
    monkeypatch.setattr(caller_module, "SPARED", 0)
    caller.keep(plan, single)
    assert not caller.prepared_units


def test_a_plan_is_not_kept_if_its_unit_is_gone_by_the_time_it_is_ready(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = simple_plan()
    caller = caller_of(session, plan)
    make = PreparedJob.__init__

    def stop_queries_meanwhile(*given: Any) -> None:
        make(*given)
        caller.keep(plan.without(["q"]), ())

    monkeypatch.setattr(PreparedJob, "__init__", stop_queries_meanwhile)
    assert caller.run(plan.operators, {IN: queued_numbers(50, 1)}).outputs
    assert not caller.prepared_units


def test_concurrent_calls_are_all_counted(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowCounter(Counter[str]):
        def __getitem__(self, way: str) -> int:
            found = super().__getitem__(way)
            time.sleep(0.5)
            return found

    operators = [Select(id=f"{name}/select", inputs=(Port("s"),), where="v > 0") for name in "ab"]
    plan = plan_of(operators, {name: Port(f"{name}/select") for name in "ab"})
    caller = caller_of(session, plan, Ways(partitioned_rows=0))
    caller.calls = SlowCounter()
    both_have_run = threading.Barrier(2)
    run = caller_module.run_partitioned

    def run_and_wait(*given: Any) -> Any:
        found = run(*given)
        both_have_run.wait(60)
        return found

    monkeypatch.setattr(caller_module, "run_partitioned", run_and_wait)
    threads = [
        threading.Thread(target=caller.run, args=([o.id], {Edge(o.id, 0): queued_numbers(5, 1)})) for o in operators
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert caller.calls["partitioned"] == 2
