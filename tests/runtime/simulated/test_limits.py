"""How long a run lasts that has both limits."""

import pytest

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import simulate
from tests.conformance.plans import feeder, make_app, make_plan, project


def report_of(limits, rows=2, cost=0.01, **more):
    """The report of a run with one tuple per second, from 1 s on."""
    plan = make_plan({"s": feeder(1.0, rows)}, [project("q/a", "s", cost)], {"q": "q/a"})
    return simulate(make_app(plan, **more), limits).report


@pytest.fixture
def whole():
    return report_of(RunLimits(until_idle=True))


@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_a_run_that_is_idle_sooner_ends_then(whole, policy):
    report = report_of(RunLimits(10.0, until_idle=True), policy=policy)
    assert report["seconds"] == whole["seconds"] < 3
    assert report["throughput"] == whole["throughput"]
    assert report["memory"]["mean"] == pytest.approx(whole["memory"]["mean"])


def test_without_until_idle_a_run_lasts_its_full_time():
    assert report_of(RunLimits(10.0))["seconds"] == 10.0


@pytest.mark.parametrize("rows", [20, None])
def test_with_arrivals_left_a_run_lasts_its_full_time(rows):
    assert report_of(RunLimits(10.5, until_idle=True), rows)["seconds"] == 10.5


def test_with_a_call_in_flight_a_run_lasts_its_full_time():
    assert report_of(RunLimits(10.5, until_idle=True), cost=20.0)["seconds"] == 10.5
