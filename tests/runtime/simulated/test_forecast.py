"""Forecasts: for all queries with promises under the same policy, at a few rates, each simulated once."""

import math
from dataclasses import replace

from headgate.plan.quality import QosGraph, QosMeasure
from headgate.runtime.simulated.forecast import BUSY, Forecasts
from tests.conformance.plans import feeder, make_app, make_plan, select

LATENCY = QosMeasure("latency", "must", QosGraph(((0.0, 1.0), (10.0, 1.0))))


class Simulations:
    """Stands in for the simulator, and keeps what was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, app, limits):
        self.asked.append((app, limits))
        rate = app.plan.streams["s"].source["rate"]
        return {"qos": {name: {"mean": {"latency": rate}} for name in ("q", "r")}}


def app(rate=100.0, **settings):
    operators = [select(f"{name}/a", "s", 0.001, 0.5) for name in ("q", "r", "free")]
    plan = make_plan(
        {"s": feeder(rate, 1000, **settings)}, operators, {name: f"{name}/a" for name in ("q", "r", "free")}
    )
    queries = {name: replace(query, qos=() if name == "free" else (LATENCY,)) for name, query in plan.queries.items()}
    return make_app(replace(plan, queries=queries), "rr")


def test_all_queries_with_promises_have_the_candidate_and_others_are_left_alone():
    simulations = Simulations()
    assert Forecasts(app(), ("pcs", "hr"), simulations)("q", 100.0) == {
        "pcs": {"latency": 100.0},
        "hr": {"latency": 100.0},
    }
    policies = [{name: query.policy for name, query in one.plan.queries.items()} for one, _ in simulations.asked]
    assert [(found["q"].name, found["r"].name, found["free"]) for found in policies] == [
        ("pcs", "pcs", None),
        ("hr", "hr", None),
    ]


def test_one_simulation_of_each_candidate_serves_all_queries_at_similar_rates():
    simulations = Simulations()
    forecasts = Forecasts(app(), ("pcs", "hr"), simulations)
    for query, offered in (("q", 100.0), ("r", 100.0), ("q", 103.0)):
        forecasts(query, offered)
    assert len(simulations.asked) == 2
    forecasts("q", 150.0)
    assert len(simulations.asked) == 4


def test_nothing_of_the_future_is_used():
    simulations = Simulations()
    Forecasts(app(changes=[[5.0, 3.0]], pauses=[[8.0, 1.0]]), ("pcs",), simulations)("q", 100.0)
    ((asked, limits),) = simulations.asked
    source = asked.plan.streams["s"].source
    assert (list(source["changes"]), list(source["pauses"]), asked.optimizer.selection) == ([], [], "none")
    assert math.isfinite(limits.seconds)


def test_a_busy_time_is_assumed_before_anything_is_known():
    assert Forecasts(app(), ("pcs",), Simulations())("q", None) == {"pcs": {"latency": 100.0 * BUSY}}


def test_a_query_that_came_later_has_no_forecast():
    assert Forecasts(app(), ("pcs",), Simulations())("later", 100.0) == {}
