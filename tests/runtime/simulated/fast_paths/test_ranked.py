"""The fast path for tuples served by rank gives the same report as the event loop."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.plan.model import Plan
from headgate.policies.fifo import Fifo
from headgate.policies.ranked import RankedPolicy
from headgate.runtime.simulated import simulate
from tests.conformance.closeness import assert_close
from tests.conformance.plans import feeder, make_app, make_plan, project, select, union
from tests.tiers import examples

IDLE = RunLimits(until_idle=True)
LIMITS = st.sampled_from([IDLE, RunLimits(seconds=4.0), RunLimits(seconds=20.5, until_idle=True)])
# Their sums are exact, so with constant arrivals the ends of calls often coincide with arrivals on several streams.
COSTS = st.sampled_from([0.0, 0.0625, 0.125, 0.25, 0.375, 1.0, 2.5])
PASSED = st.sampled_from([0.0, 0.5, 1.0, 1.0])


@st.composite
def trees(draw: st.DrawFn) -> Plan:
    """Up to six streams, some read by several leaves; some paths meet in a union, which another operator reads."""
    count = draw(st.integers(1, 6))
    arrivals = draw(st.sampled_from(["constant", "poisson"]))
    streams = {
        f"s{at}": feeder(draw(st.sampled_from([0.5, 1.0, 4.0])), draw(st.integers(0, 25)), seed=at, bytes=8 * (at + 1))
        | {"arrivals": arrivals}
        for at in range(count)
    }
    leaves = [*range(count), *draw(st.lists(st.integers(0, count - 1), max_size=2))]
    made = [select(f"q/a{at}", f"s{of}", draw(COSTS), draw(PASSED)) for at, of in enumerate(leaves)]
    made += [select(f"q/b{at}", f"q/a{at}", draw(COSTS), draw(PASSED)) for at in range(draw(st.integers(0, count)))]
    read = {str(port) for operator in made for port in operator.inputs}
    tops = [operator.id for operator in made if operator.id not in read]
    merged = draw(st.integers(0, len(tops)))
    if merged:
        made.append(union("q/u", *tops[:merged], cost=draw(COSTS)))
        made.append(project("q/top", "q/u", draw(COSTS)))
    ends = [*tops[merged:], *(["q/top"] if merged else [])]
    return make_plan(streams, made, {f"q{at}": end for at, end in enumerate(ends)})


def both_ways(app: CheckedApplication, limits: RunLimits) -> tuple[Any, Any]:
    return simulate(app, limits), simulate(app, limits, fast_paths=False)


@settings(max_examples=examples(60, 250), deadline=None)
@given(
    plan=trees(),
    policy=st.sampled_from(["rb", "prb", "pcs", "fifo", "chain", "segment", "simplified-segment"]),
    limits=LIMITS,
)
def test_same_report_as_the_event_loop(plan: Plan, policy: str, limits: RunLimits) -> None:
    fast, slow = both_ways(make_app(plan, policy), limits)
    assert fast.operators == slow.operators
    assert_close(fast.report, slow.report, 1e-13)  # sums for means are added up in different portions


OPERATORS = [select("q/a", "s", 0.1, 0.5), project("q/b", "q/a", 0.1), project("p/a", "t", 0.3)]
STREAMS = {"s": feeder(5.0, 50), "t": feeder(3.0, 50)}
PLAN = make_plan(STREAMS, OPERATORS, {"q": "q/b", "p": "p/a"})
COPIES = make_plan(STREAMS, [select("q/a", "s", 0.1, 2.0), *OPERATORS[1:]], {"q": "q/b", "p": "p/a"})
FREE = make_plan(STREAMS, [*OPERATORS[:2], project("p/a", "t", 0.0)], {"q": "q/b", "p": "p/a"})


def decisions(app: CheckedApplication, monkeypatch: pytest.MonkeyPatch) -> int:
    choices: list[int] = []
    with monkeypatch.context() as patch:
        for kind in (RankedPolicy, Fifo):
            patch.setattr(kind, "choose", lambda self, slot, was=kind.choose: choices.append(slot) or was(self, slot))
        simulate(app, IDLE)
    return len(choices)


@pytest.mark.parametrize("policy", ["rb", "prb", "pcs", "fifo", "chain", "segment", "simplified-segment"])
def test_the_fast_path_is_used_where_it_applies(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert decisions(make_app(PLAN, policy), monkeypatch) == 0


@pytest.mark.parametrize(
    "app",
    [
        make_app(PLAN, "rb", slots=2),
        make_app(PLAN, "rb", {"starvation": "oldest"}),
        make_app(PLAN, "train"),
        make_app(PLAN, "threshold"),
        make_app(COPIES, "prb"),
        make_app(FREE, "prb"),
        make_app(PLAN, "pcs", simulator={"noise": 0.1}),
        make_app(PLAN, "pcs", simulator={"call_s": 0.01}),
        make_app(PLAN, "prb", simulator={"preempt_s": 0.01}),
    ],
    ids=lambda app: app.policy.name,
)
def test_the_fast_path_is_not_used_where_more_than_the_rank_matters(
    app: CheckedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decisions(app, monkeypatch) > 0
