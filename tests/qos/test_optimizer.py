"""The optimizer in the simulator: it switches policies for the promises of single queries, and changes no result."""

from dataclasses import replace

import pytest

from headgate.application.checked import RunLimits
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.monitoring import Monitoring
from headgate.qos.settings import OptimizerSettings
from headgate.runtime.simulated import simulate
from tests.conformance.plans import feeder, make_app, make_plan, project, select

IDLE = RunLimits(until_idle=True)
OFTEN = Monitoring(checks=10, shortest_s=0.5, longest_s=0.5)


def flat(name, priority, value):
    return QosMeasure(name, priority, QosGraph(((0.0, value), (100.0, value))))


def app_with(*promises, policy="segment", selection="table", rate=120.0, rows=2400, **more):
    """A path of three operators, two of which are cheap and drop much, in front of an expensive one."""
    operators = [select("q/a", "s", 0.001, 0.5), project("q/b", "q/a", 0.006), project("q/c", "q/b", 0.004)]
    operators += [select("r/a", "t", 0.001, 0.5)]
    plan = make_plan({"s": feeder(rate, rows), "t": feeder(10.0, 200)}, operators, {"q": "q/c", "r": "r/a"})
    promised = replace(plan.queries["q"], qos=promises)
    plan = replace(plan, queries={**plan.queries, "q": promised})
    return make_app(plan, policy, optimizer=OptimizerSettings(selection, monitoring=OFTEN), **more)


def test_a_broken_promise_gets_another_policy_and_the_report_says_why():
    report = simulate(app_with(flat("latency", "must", 0.001)), IDLE).report
    (switch,) = report["switches"]
    assert (switch["query"], switch["from"], switch["to"]) == ("q", "segment", "pcs")
    assert "expected 1 ms" in switch["reason"]
    (decision,) = report["decisions"]
    assert decision["kind"] == "switch"
    assert decision["violated"] == ["latency"]
    assert decision["measured"]["latency"] > decision["expected"]["latency"] == 0.001
    assert max(decision["scores"], key=decision["scores"].get) == "pcs"


def test_kept_promises_and_queries_without_any_are_left_alone():
    report = simulate(app_with(flat("latency", "must", 1e6)), IDLE).report
    assert report["switches"] == report["decisions"] == []
    assert simulate(app_with(), IDLE).report["decisions"] == []


def test_the_learned_table_chooses_before_anything_goes_wrong():
    report = simulate(app_with(flat("memory", "must", 100.0), policy="pcs", selection="learned"), IDLE).report
    first = report["decisions"][0]
    assert (first["at"], first["from"], first["violated"]) == (0.0, "pcs", [])
    assert first["scores"][first["to"]] == max(first["scores"].values()) > first["scores"]["pcs"]
    assert "forecast to be the best" in first["reason"]


def test_without_a_selection_only_watched():
    assert simulate(app_with(flat("latency", "must", 0.001), selection="none"), IDLE).report["switches"] == []


@pytest.mark.parametrize("selection", ["table", "roulette", "learned"])
@pytest.mark.parametrize("slots", [1, 2])
def test_switching_changes_no_result(selection, slots):
    promises = (flat("latency", "must", 0.001), flat("memory", "must", 1.0))
    switching = app_with(*promises, selection=selection, slots=slots)
    found = simulate(switching, IDLE, trace=True)
    still = simulate(app_with(slots=slots), IDLE, trace=True)
    assert len(found.report["switches"]) >= {"table": 1, "roulette": 5, "learned": 0}[selection]
    assert sorted(map(_result, found.trace.results)) == sorted(map(_result, still.trace.results))


def _result(event):
    return event.query, event.arrival, event.key


def test_the_same_seed_gives_the_same_decisions():
    first, second = (simulate(app_with(flat("latency", "must", 0.001), selection="roulette"), IDLE) for _ in range(2))
    assert first.report == second.report


def test_a_query_is_looked_at_at_its_own_pace():
    slow = Monitoring(checks=10, shortest_s=3.0, longest_s=30.0)
    latency = flat("latency", "must", 1.0)
    assert slow.period_s([latency], 0.0) == 10.0
    short = QosMeasure("memory", "must", QosGraph(((0.0, 1.0), (40.0, 1.0), (40.0, 2.0), (1000.0, 2.0))))
    assert [slow.period_s([latency, short], at) for at in (0.0, 41.0)] == [4.0, 10.0]
    assert slow.period_s([short], 500.0) == 30.0
    assert slow.look_ahead_s(9.0) == pytest.approx(3.0)
