"""The fast path for units served in turns gives the same report as the event loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.checked import RunLimits
from headgate.plan.model import Plan
from headgate.policies.rr import RoundRobin
from headgate.runtime.simulated import SimulationResult, simulate
from tests.conformance.closeness import assert_close
from tests.conformance.plans import feeder, make_app, make_plan, project, select, union
from tests.tiers import examples

IDLE = RunLimits(until_idle=True)
# Sums of these are exact, so turns, tuples and arrivals do end or come at equal times, and both ways agree exactly.
EXACT_COSTS = [0.0, 0.125, 0.25, 0.375, 1.0, 2.5]
EXACT_QUANTA = [0.0625, 0.125, 0.5, 1.0, 4.0]
COSTS = [0.0, 0.07, 0.1, 0.31, 1.0, 1.7]
QUANTA = [0.013, 0.1, 0.3, 1.0, 5.0]


@st.composite
def trees(draw: st.DrawFn, costs: list[float], arrivals: str, rates: list[float]) -> Plan:
    """One to five leaves. A union reads one to three of them, and another operator reads it; the others are alone."""
    count = draw(st.integers(1, 5))
    streams = {
        f"s{at}": feeder(draw(st.sampled_from(rates)), draw(st.integers(0, 12)), seed=at, bytes=8 * (at + 1))
        | {"arrivals": arrivals}
        for at in range(count)
    }
    cost = st.sampled_from(costs)
    made = [select(f"q/o{at}", f"s{at}", draw(cost), draw(st.sampled_from([0.5, 1.0, 2.0]))) for at in range(count)]
    merged = draw(st.integers(1, min(3, count)))
    made.append(union("q/u", *(f"q/o{at}" for at in range(merged)), cost=draw(cost)))
    made.append(project("q/top", "q/u", draw(cost)))
    if draw(st.booleans()):
        made.append(project("q/too", "s0", draw(cost)))  # a second reader of a stream
    read = {str(port) for operator in made for port in operator.inputs}
    ends = [operator.id for operator in made if operator.id not in read]
    return make_plan(streams, made, {f"q{at}": end for at, end in enumerate(ends)})


def both_ways(plan: Plan, quantum: float, limits: RunLimits) -> tuple[SimulationResult, SimulationResult]:
    app = make_app(plan, "rr", {"quantum": quantum})
    return simulate(app, limits), simulate(app, limits, fast_paths=False)


LIMITS = st.sampled_from([IDLE, RunLimits(seconds=4.0), RunLimits(seconds=20.5, until_idle=True)])


@settings(max_examples=examples(40, 150), deadline=None)
@given(
    plan=trees(EXACT_COSTS, "constant", [0.5, 1.0, 4.0]),
    quantum=st.sampled_from(EXACT_QUANTA),
    limits=LIMITS,
)
def test_same_report_when_all_is_exact(plan: Plan, quantum: float, limits: RunLimits) -> None:
    """Many events coincide, and every tie is broken in the same way."""
    fast, slow = both_ways(plan, quantum, limits)
    assert fast.operators == slow.operators
    assert_close(fast.report, slow.report, 1e-15)  # not 0: latencies are added up in a different order


@settings(max_examples=examples(20, 60), deadline=None)
@given(plan=trees(COSTS, "poisson", [0.4, 1.3, 5.0]), quantum=st.sampled_from(QUANTA), limits=LIMITS)
def test_same_report_but_for_rounding(plan: Plan, quantum: float, limits: RunLimits) -> None:
    fast, slow = both_ways(plan, quantum, limits)
    assert fast.operators == slow.operators
    assert_close(fast.report, slow.report, 1e-9)


def test_a_long_tuple_takes_many_turns() -> None:
    """A tuple on each of two streams at 1 s, quantum 1 ms: the short one is done after 2 s, the other after 10."""
    made = [project("a/x", "s", 1.0), project("b/x", "t", 9.0)]
    plan = make_plan({"s": feeder(1.0, 1), "t": feeder(1.0, 1)}, made, {"a": "a/x", "b": "b/x"})
    queries = simulate(make_app(plan, "rr", {"quantum": 0.001}), IDLE).report["queries"]
    assert queries["a"]["latency"]["mean"] == pytest.approx(2.0, abs=0.002)
    assert queries["b"]["latency"]["mean"] == pytest.approx(10.0)


def test_the_fast_path_is_used_only_where_it_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [project("q/o", "s", 0.1), project("q/p", "q/o", 0.1)]
    plan = make_plan({"s": feeder(5.0, 50)}, made, {"q": "q/p"})
    choices: list[int] = []
    choose = RoundRobin.choose
    monkeypatch.setattr(RoundRobin, "choose", lambda self, slot: choices.append(slot) or choose(self, slot))
    simulate(make_app(plan, "rr"), IDLE)
    assert choices == []
    for other in (
        make_app(plan, "rr", slots=2),
        make_app(plan, "rr", {"unit": "path"}),
        make_app(plan, "rr", {"quantum": None}),
        make_app(plan, "wrr"),
        *(
            make_app(plan, "rr", simulator={setting: 0.01})
            for setting in ("decision_s", "inspect_s", "switch_s", "preempt_s", "noise")
        ),
    ):
        choices.clear()
        simulate(other, IDLE)
        assert choices
