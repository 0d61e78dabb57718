"""A promised latency sets how long its query lingers."""

from dataclasses import replace

import pytest

from headgate.application.checked import RunLimits
from headgate.plan.model import Query
from headgate.plan.operators import Port
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.monitoring import Monitoring
from headgate.qos.patience import Patience
from headgate.qos.settings import OptimizerSettings
from headgate.runtime.simulated import simulate
from tests.conformance.plans import feeder, make_app, make_plan, select

FLAT = QosGraph(((0.0, 0.4), (100.0, 0.4)))


def query(priority="must", name="latency"):
    return Query("q", "normal", Port("q/a"), ("q/a",), qos=(QosMeasure(name, priority, FLAT),))


def test_with_room_the_wait_doubles_up_to_a_quarter_of_the_promise():
    patience = Patience(query(), 0.005)
    waits = [patience.adjusted(0.01, 0.0) for _ in range(6)]
    assert waits == [0.01, 0.02, 0.04, 0.08, 0.1, None]


def test_close_to_the_promise_it_shrinks_and_beyond_it_there_is_none():
    patience = Patience(query(), 0.08)
    assert patience.adjusted(0.3, 0.0) is None
    assert patience.adjusted(0.35, 0.0) == 0.04
    assert patience.adjusted(0.5, 0.0) == 0.0
    assert patience.adjusted(0.35, 0.0) is None
    assert patience.adjusted(0.1, 0.0) == 0.002
    assert patience.adjusted(0.35, 0.0) == 0.0


def test_only_a_must_latency_that_is_known_counts():
    assert Patience(query(priority="best-effort"), 0.005).adjusted(0.01, 0.0) is None
    assert Patience(query(name="memory"), 0.005).adjusted(0.01, 0.0) is None
    assert Patience(query(), 0.005).adjusted(None, 0.0) is None


def simulated(linger, latency_s=0.4):
    plan = make_plan({"s": feeder(100.0, None)}, [select("q/a", "s", 0.0005, 1.0)], {"q": "q/a"})
    measure = QosMeasure("latency", "must", QosGraph(((0.0, latency_s), (100.0, latency_s))))
    plan = replace(plan, queries={"q": replace(plan.queries["q"], qos=(measure,))})
    often = OptimizerSettings("none", monitoring=Monitoring(10, 0.5, 0.5), linger=linger)
    app = make_app(plan, "fifo", {"unit": "query"}, optimizer=often, simulator={"call_s": 0.005})
    return simulate(app, RunLimits(seconds=30.0), trace=True)


def test_a_patient_query_has_fewer_calls_and_keeps_its_promise():
    hasty, patient = simulated(False), simulated(True)
    assert len(patient.trace.calls) < 0.6 * len(hasty.trace.calls)
    assert patient.report["classes"]["normal"]["latency"]["mean"] < 0.4
    assert len(patient.trace.results) == pytest.approx(len(hasty.trace.results), rel=0.005)


def test_without_room_nobody_waits():
    assert len(simulated(True, 0.006).trace.calls) >= 0.95 * len(simulated(False, 0.006).trace.calls)
