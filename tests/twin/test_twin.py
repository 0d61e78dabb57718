"""The twin: what a run would do, from a snapshot on."""

from dataclasses import replace

import pytest

from headgate.plan.model import PolicySettings
from headgate.policies.registry import POLICIES
from headgate.twin.twin import Twin, WhatIf
from tests.applications import application
from tests.twin.measured import FIXED_S, copied, snapshot_of

QUERIES = {"a": "SELECT k FROM s WHERE k > 1", "b": "SELECT k FROM t WHERE k > 1"}
COUNTED = "RSTREAM(SELECT k, count(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k)"


def plan_of(queries=QUERIES, **settings):
    app = application({"s": "k INT, name STRING", "t": "k INT"}, {}, **settings)
    app.add_class("vital", priority=10)
    app.add_class("bulk", priority=1)
    for name, cql in queries.items():
        app.query(name, cql, in_class="bulk" if name == "b" else "vital", linger=0)
    return app.checked().plan


def test_all_that_comes_is_processed_and_operators_pass_what_they_passed():
    plan = plan_of()
    snapshot = snapshot_of(plan, {"s": 400.0, "t": 200.0}, {"a/where": 0.25}, slots=2)
    report = Twin(snapshot, WhatIf()).run(10.0)
    assert report["queries"]["a"]["inputs"] == pytest.approx(4000, abs=25)
    assert report["queries"]["a"]["outputs"] == pytest.approx(1000, abs=10)
    assert report["queries"]["b"]["outputs"] == pytest.approx(2000, abs=15)
    assert report["seconds"] == 10.0


def test_latencies_are_those_of_rounds_and_calls():
    """Nothing competes: a tuple waits half a round, then for its call."""
    snapshot = snapshot_of(plan_of({"a": QUERIES["a"]}), {"s": 20.0}, round_s=0.010)
    mean = Twin(snapshot, WhatIf()).run(20.0)["classes"]["vital"]["latency"]["mean"]
    operators = len(snapshot.settings.plan.operators)
    assert mean == pytest.approx(0.005 + FIXED_S + 0.0001 * operators, abs=0.0015)


def test_what_waits_is_processed_first():
    snapshot = snapshot_of(plan_of(), {}, waiting={"s": 3000}, slots=1)
    report = Twin(snapshot, WhatIf()).run(5.0)
    assert report["queries"]["a"]["outputs"] == 3000
    assert report["classes"]["vital"]["latency"]["mean"] > 0.1
    assert report["memory"]["max"] >= 3000 * 20


def test_an_important_class_is_forecast_to_answer_sooner_under_a_policy_that_knows_it():
    snapshot = snapshot_of(plan_of(), {"s": 1000.0, "t": 15000.0}, slots=1, tuple_s=0.00007)
    by_age = Twin(copied(snapshot), WhatIf(PolicySettings("fifo", {"unit": "query"}))).run(10.0)["classes"]
    ranked = Twin(copied(snapshot), WhatIf(PolicySettings("mbd"))).run(10.0)["classes"]
    assert ranked["vital"]["latency"]["mean"] < by_age["vital"]["latency"]["mean"] / 2


def test_the_same_snapshot_gives_the_same_forecast():
    snapshot = snapshot_of(plan_of({**QUERIES, "c": COUNTED}), {"s": 500.0, "t": 500.0}, {"a/where": 0.3}, slots=2)
    first, second = (Twin(copied(snapshot), WhatIf(PolicySettings("mbd"))).run(5.0) for _ in range(2))
    assert first["classes"] == second["classes"]
    assert first["memory"] == second["memory"]


def test_windows_give_their_results_at_boundaries():
    plan = plan_of({"c": COUNTED})
    rows = dict.fromkeys(plan.operators, 20.0)
    ages = {"c": [50_000.0]}  # each result comes from a tuple that is 50 ms older than its boundary
    snapshot = snapshot_of(plan, {"s": 500.0}, boundary_rows=rows, ages=ages)
    report = Twin(snapshot, WhatIf()).run(10.0)
    assert report["queries"]["c"]["outputs"] == pytest.approx(200, abs=20)
    assert report["classes"]["vital"]["latency"]["mean"] == pytest.approx(0.05 + 0.06, abs=0.03)


def test_lingering_is_part_of_it():
    snapshot = snapshot_of(plan_of({"a": QUERIES["a"]}), {"s": 40.0}, fixed_s=0.01, tuple_s=1e-6)
    at_once = Twin(copied(snapshot), WhatIf(linger_s=0.0))
    patient = Twin(copied(snapshot), WhatIf(linger_s=0.2))
    first, second = (twin.run(10.0)["classes"]["vital"]["latency"]["mean"] for twin in (at_once, patient))
    assert second > first + 0.05
    assert patient.calls < at_once.calls / 2


def test_more_load_and_other_policies_of_queries():
    snapshot = snapshot_of(plan_of(), {"s": 100.0, "t": 100.0})
    report = Twin(copied(snapshot), WhatIf(load=2.0, queries={"a": PolicySettings("chain")})).run(5.0)
    assert report["queries"]["a"]["inputs"] == pytest.approx(1000, abs=15)
    assert Twin(copied(snapshot), WhatIf(queries={"a": PolicySettings("chain")})).core.board.policy.name == "master"


def test_what_is_dropped_now_is_dropped_in_the_forecast():
    app = application({"s": "k INT"}, {})
    app.query("q", "SELECT k FROM s WHERE k > 1", tolerance=0.5)
    plan = app.checked().plan
    snapshot = snapshot_of(plan, {"s": 400.0})
    edge = next(iter(plan.edges))
    report = Twin(replace(snapshot, shed={edge: 64}), WhatIf()).run(5.0)
    assert report["queries"]["q"]["shed"] == pytest.approx(1000, abs=20)


def test_streams_that_have_ended_give_no_more():
    snapshot = snapshot_of(plan_of(), {"s": 400.0, "t": 400.0})
    streams = {**snapshot.streams, "t": replace(snapshot.streams["t"], open=False)}
    report = Twin(replace(snapshot, streams=streams), WhatIf()).run(5.0)
    assert report["queries"]["b"]["inputs"] == 0
    assert report["queries"]["a"]["inputs"] > 1900


def test_promises_are_scored():
    app = application({"s": "k INT"}, {})
    points = [[0, 1.0], [60, 1.0]]
    app.query("q", "SELECT k FROM s", qos={"latency": {"priority": "must", "points": points}})
    report = Twin(snapshot_of(app.checked().plan, {"s": 50.0}), WhatIf()).run(10.0)
    assert report["qos"]["q"]["score"] == 1.0
    late = Twin(snapshot_of(app.checked().plan, {"s": 50.0}, fixed_s=3.0), WhatIf()).run(10.0)
    assert late["qos"]["q"]["score"] < 0.9


@pytest.mark.parametrize("policy", sorted(POLICIES.own - {"master"}))
def test_every_policy_can_be_forecast(policy):
    snapshot = snapshot_of(plan_of({**QUERIES, "c": COUNTED}), {"s": 300.0, "t": 300.0}, {"a/where": 0.5}, slots=2)
    report = Twin(snapshot, WhatIf(PolicySettings(policy))).run(3.0)
    assert report["queries"]["a"]["outputs"] == pytest.approx(450, abs=60)
    assert report["policy"] == policy
