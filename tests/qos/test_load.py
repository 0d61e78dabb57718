"""The load of queries, and whether there is room for more beside a must-promise."""

import math
from dataclasses import replace

import pytest

import headgate as hg
from headgate.errors import ApplicationError
from headgate.metrics.stats import DeclaredStats
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.load import Room, estimate_load, refusal, room_beside
from headgate.qos.shedding import declared_rates
from tests.conformance.plans import feeder, make_plan, project, select, union


def promised(plan, query, name="latency", value=1.0, priority="must"):
    measure = QosMeasure(name, priority, QosGraph(((0.0, value), (10.0, value))))
    changed = replace(plan.queries[query], qos=(measure,))
    return replace(plan, queries={**plan.queries, query: changed})


def plan_of(rate=100.0):
    operators = [select("a/x", "s", 0.002, 0.5), project("a/y", "a/x", 0.004), project("b/z", "a/x", 0.001)]
    operators += [union("b/u", "b/z", "t", cost=0.003)]
    return make_plan({"s": feeder(rate), "t": feeder(rate / 2)}, operators, {"a": "a/y", "b": "b/u"})


def load_of(plan, slots=2, call_fixed_s=0.0, **rates):
    return estimate_load(plan, DeclaredStats(plan), {**declared_rates(plan), **rates}, slots, call_fixed_s)


def test_the_load_is_what_tuples_cost_and_shared_operators_are_divided():
    load = load_of(plan_of())
    shared = 100 * 0.002 / 2
    assert load.queries == {
        "a": pytest.approx(shared + 50 * 0.004),
        "b": pytest.approx(shared + 50 * 0.001 + (50 + 50) * 0.003),
    }


def test_a_promised_latency_costs_a_call_in_that_time():
    plan = promised(plan_of(), "a", value=0.05)
    extra = load_of(plan, call_fixed_s=0.002).queries["a"] - load_of(plan_of()).queries["a"]
    assert extra == pytest.approx(0.002 / 0.05)


def test_what_is_not_known_is_left_out():
    plan = plan_of()
    assert load_of(plan, t=None).queries["b"] is None
    assert load_of(plan, t=None).total == pytest.approx(0.3)


def test_there_is_always_room_if_nobody_has_a_must_promise():
    plan = plan_of(1000.0)
    assert refusal(load_of(plan), plan, ["b"]) is None
    assert refusal(load_of(plan), promised(plan, "a", priority="best-effort"), ["b"]) is None


def test_a_query_that_leaves_too_little_room_is_refused_with_the_numbers():
    plan = promised(plan_of(300.0), "a")
    said = refusal(load_of(plan), plan, ["b"])
    assert said == (
        "'b' needs 1.35 of 2 slots, and the others 0.90: more than the 1.70 (85%) that may be busy to keep the "
        "must-promise of 'a'"
    )
    assert refusal(load_of(plan, slots=3), plan, ["b"]) is None
    assert refusal(load_of(plan), plan, ["a", "b"]).startswith("the queries need 2.25 of 2 slots")


def test_an_application_with_too_much_declared_load_is_refused_unless_forced():
    app = hg.Application(slots=1)
    app.stream("s", "k INT", source=hg.sources.Feeder(rate=1000))
    declared = {"id": "a", "kind": "select", "input": "s", "where": "k > 0", "cost": "1 ms"}
    app.query("q", operators=[declared], qos={"latency": {"priority": "must", "points": [[0, 1], [9, 1]]}})
    with pytest.raises(ApplicationError, match=r"the queries need 1\.00 of 1 slots"):
        app.run(seconds=1)
    assert not math.isnan(app.simulate(seconds=0.1).seconds)


def test_the_room_of_a_query_is_a_slot_or_what_others_leave_of_it():
    assert room_beside(0.01, 0.4, 2) == Room(0.01, 1.0)
    assert room_beside(0.01, 1.4, 2).slots == pytest.approx(0.6)
    assert room_beside(0.01, 3.0, 2).slots == 0.0


def test_the_load_of_a_room_is_what_is_asked_for_over_what_there_is():
    assert Room(0.01, 1.0).load(130.0) == pytest.approx(1.3)
    assert Room(0.01, 0.5).load(130.0) == pytest.approx(2.6)
    assert Room(0.01, 0.0).load(1.0) == math.inf
    assert Room(0.01, 0.0).load(0.0) == 0.0
    assert Room(None, 1.0).load(130.0) is None
    assert Room(0.01, 1.0).load(None) is None


def test_a_room_holds_what_is_not_dropped():
    room = Room(0.01, 1.0)
    assert room.holds(120.0, 0.3)
    assert not room.holds(120.0, 0.2)
    assert not room.holds(120.0, 0.3, busy=0.7)
    assert Room(None, 1.0).holds(1e9, 0.0)
