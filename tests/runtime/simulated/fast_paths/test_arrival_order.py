"""The fast path for tuples served in order of arrival gives the same report as the event loop."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.application.checked import RunLimits
from headgate.policies.fifo import Fifo
from headgate.runtime.simulated import simulate
from tests.conformance.closeness import assert_close
from tests.conformance.plans import feeder, make_app, make_plan, project, select, union
from tests.tiers import examples

ARRIVALS = st.sampled_from(["constant", "poisson"])


@st.composite
def apps(draw: st.DrawFn) -> Any:
    """Queries of one operator each; two of them may read one stream, and arrivals may coincide."""
    streams = {
        f"s{i}": feeder(draw(st.sampled_from([1.0, 2.0, 5.0])), draw(st.integers(0, 40)), seed=i)
        | {"arrivals": draw(ARRIVALS)}
        for i in range(draw(st.integers(1, 4)))
    }
    readers = [name for name in streams for _ in range(draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        readers.reverse()  # then the order of units is not that of streams
    made = [project(f"q/o{i}", s, draw(st.sampled_from([0.0, 0.05, 0.1, 0.3]))) for i, s in enumerate(readers)]
    return make_app(make_plan(streams, made, {f"q{i}": f"q/o{i}" for i in range(len(made))}))


@st.composite
def trees(draw: st.DrawFn) -> Any:
    """Paths of two or three operators each that drop or copy tuples; some end in a union."""
    streams = {
        f"s{at}": feeder(2.0, draw(st.integers(0, 40)), seed=at) | {"arrivals": draw(ARRIVALS)}
        for at in range(draw(st.integers(1, 4)))
    }
    cost, passed = st.sampled_from([0.0, 0.05, 0.1]), st.sampled_from([0.0, 0.5, 1.0, 2.0])
    leaves = [select(f"q/a{at}", f"s{at}", draw(cost), draw(passed)) for at in range(len(streams))]
    tops = [select(f"q/b{at}", f"q/a{at}", draw(cost), draw(passed)) for at in range(len(streams))]
    merged = draw(st.integers(0, len(streams)))
    roots = {f"q{at}": f"q/b{at}" for at in range(merged, len(streams))}
    unions = [union("q/u", *(f"q/b{at}" for at in range(merged)), cost=draw(cost))] if merged else []
    return make_app(make_plan(streams, [*leaves, *tops, *unions], roots | ({"q": "q/u"} if merged else {})))


@settings(max_examples=examples(40, 120), deadline=None)
@given(app=st.one_of(apps(), trees()))
def test_same_report_as_the_event_loop(app: Any) -> None:
    fast = simulate(app, RunLimits(until_idle=True))
    slow = simulate(app, RunLimits(until_idle=True), fast_paths=False)
    assert fast.operators == slow.operators
    assert_close(fast.report, slow.report, 1e-13)  # sums for means are added up in different portions


def test_the_fast_path_is_used_only_where_it_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [project("q/o", "s", 0.1)]
    plan = make_plan({"s": feeder(5.0, 50)}, made, {"q": "q/o"})
    choices: list[int] = []
    choose = Fifo.choose
    monkeypatch.setattr(Fifo, "choose", lambda self, slot: choices.append(slot) or choose(self, slot))
    simulate(make_app(plan), RunLimits(until_idle=True))
    way = [*made, project("q/p", "q/o", 0.1), union("q/u", "q/p", cost=0.1)]
    simulate(make_app(make_plan({"s": feeder(5.0, 50)}, way, {"q": "q/u"})), RunLimits(until_idle=True))
    assert choices == []
    for other in (
        make_app(plan, slots=2),
        make_app(plan, simulator={"noise": 0.1}),
        make_app(plan, parameters={"unit": "operator"}),
    ):
        choices.clear()
        simulate(other, RunLimits(until_idle=True))
        assert choices
