"""Calls computed by hand: budgets, stops in mid-tuple, several slots, overheads, noise, source slots."""

import pytest

from headgate.application.checked import RunLimits
from headgate.errors import ApplicationError
from headgate.policies.registry import POLICIES
from headgate.runtime.simulated import simulate
from headgate.scheduling.policy import Decision, Policy, PolicyError
from tests.conformance.plans import feeder, make_app, make_plan, project, recorded, select, union

IDLE = RunLimits(until_idle=True)


def one_operator(folder, *gaps, cost=1.0):
    return make_plan({"s": recorded(folder, "s", *gaps)}, [project("q/p", "s", cost)], {"q": "q/p"})


def run(plan, folder, policy="fifo", parameters=None, limits=IDLE, **more):
    return simulate(make_app(plan, policy, parameters, folder=folder, **more), limits, trace=True)


def times(result):
    return [event.time for event in result.trace.results]


def calls(result):
    return [(c.unit, c.start, c.end, c.tuples, c.preempted) for c in result.trace.calls]


def test_a_quantum_stops_in_mid_tuple_and_resumes_there(tmp_path):
    """Two operators, costs 5 and 3, quantum 2: A 0-2, B 2-4, A 4-6, B 6-7 (done), A 7-8 (done)."""
    streams = {"a": recorded(tmp_path, "a", 0), "b": recorded(tmp_path, "b", 0)}
    plan = make_plan(streams, [project("x/A", "a", 5.0), project("y/B", "b", 3.0)], {"x": "x/A", "y": "y/B"})
    result = run(plan, tmp_path, "rr", {"quantum": 2})
    assert calls(result) == [
        ("x/A", 0, 2, 0, True),
        ("y/B", 2, 4, 0, True),
        ("x/A", 4, 6, 0, True),
        ("y/B", 6, 7, 1, False),
        ("x/A", 7, 8, 1, False),
    ]
    assert [(e.query, e.time) for e in result.trace.results] == [("y", 7), ("x", 8)]


def test_what_is_left_of_a_quantum_goes_to_the_next_tuple(tmp_path):
    """Cost 3, quantum 5, three tuples: the first call ends 2 into the second tuple, the next finishes both."""
    result = run(one_operator(tmp_path, 0, 0, 0, cost=3.0), tmp_path, "rr", {"quantum": 5})
    assert times(result) == [3, 6, 9]
    assert calls(result) == [("q/p", 0, 5, 1, True), ("q/p", 5, 9, 2, False)]


def test_a_quantum_that_ends_with_a_tuple_stops_nothing_in_the_middle(tmp_path):
    """0.1 + 0.1 + 0.1 is a little more than 0.3, yet three tuples fit into a quantum."""
    result = run(one_operator(tmp_path, *[0] * 6, cost=0.1), tmp_path, "rr", {"quantum": 0.3})
    assert [(tuples, preempted) for _, _, _, tuples, preempted in calls(result)] == [(3, True), (3, False)]


def test_a_path_stopped_inside_resumes_with_the_started_tuple(tmp_path):
    """Path of two operators, 2 s each, two tuples, quantum 5: A A B(1 of 2) | B(rest) B."""
    plan = make_plan(
        {"s": recorded(tmp_path, "s", 0, 0, 5)},
        [project("q/A", "s", 2.0), project("q/B", "q/A", 2.0)],
        {"q": "q/B"},
    )
    result = run(plan, tmp_path, "rr", {"quantum": 5, "unit": "path"})
    # The tuple that arrives at 5 waits at A, but the started tuple at B goes first: B 5-6, A 6-8, and B 8-10 for the
    # second tuple of the burst, which just fits into the 5 s of the call. A new call finishes the third tuple.
    assert times(result) == [6, 10, 12]


def test_arrivals_during_a_call_wait_for_the_next_call(tmp_path):
    plan = one_operator(tmp_path, 0, 0, 1, cost=2.0)
    result = run(plan, tmp_path, "rr", {"quantum": None})
    assert calls(result) == [("q/p", 0, 4, 2, False), ("q/p", 4, 6, 1, False)]


def test_outputs_leave_a_unit_when_the_call_ends_but_results_at_once(tmp_path):
    plan = make_plan(
        {"s": recorded(tmp_path, "s", 0, 0)},
        [project("q/A", "s", 1.0), project("q/B", "q/A", 1.0), project("r/C", "q/A", 1.0)],
        {"q": "q/B", "r": "r/C", "a": "q/A"},
    )
    result = run(plan, tmp_path, "rr", {"quantum": None}, slots=2)
    assert sorted((e.query, e.time) for e in result.trace.results) == [
        ("a", 1), ("a", 2), ("q", 3), ("q", 4), ("r", 3), ("r", 4),
    ]  # fmt: skip


def test_two_slots_share_the_units(tmp_path):
    streams = {name: recorded(tmp_path, name, 0) for name in "abc"}
    plan = make_plan(streams, [project(f"{n}/p", n, 2.0) for n in "abc"], {n: f"{n}/p" for n in "abc"})
    result = run(plan, tmp_path, slots=2)
    assert sorted(times(result)) == [2, 2, 4]
    assert {c.slot for c in result.trace.calls} == {0, 1}


def test_one_unit_never_runs_in_two_slots(tmp_path):
    assert times(run(one_operator(tmp_path, 0, 0, 0), tmp_path, slots=3)) == [1, 2, 3]


def test_overheads_are_charged_for_each_call(tmp_path):
    """fifo, one tuple per call: decision 0.5 + switch 0.25 + cost 1."""
    overheads = {"decision_s": 0.5, "switch_s": 0.25}
    assert times(run(one_operator(tmp_path, 0, 0), tmp_path, simulator=overheads)) == [1.75, 3.5]
    single = simulate(make_app(one_operator(tmp_path, 0, 0), folder=tmp_path, simulator=overheads), IDLE)
    assert single.report["seconds"] == 3.5


def test_a_fixed_cost_is_paid_once_per_call(tmp_path):
    plan = make_plan({"s": recorded(tmp_path, "s", 0, 0, 0)}, [select("q/p", "s", 1.0)], {"q": "q/p"})
    operator = plan.operators["q/p"]
    object.__setattr__(operator, "declared", type(operator.declared)(fixed_s=4.0, cost_s=1.0, selectivity=1.0))
    assert times(run(plan, tmp_path, "rr", {"quantum": None})) == [5, 6, 7]


def test_stopping_a_call_is_charged_to_the_slot(tmp_path):
    """Cost 3, quantum 2, preempt 0.5: 0-2, stopped; the next call begins 0.5 later and needs 1 more."""
    result = run(one_operator(tmp_path, 0, cost=3.0), tmp_path, "rr", {"quantum": 2}, simulator={"preempt_s": 0.5})
    assert times(result) == [3.5]


def test_overheads_do_not_use_up_a_quantum(tmp_path):
    result = run(one_operator(tmp_path, 0, cost=2.0), tmp_path, "rr", {"quantum": 1}, simulator={"decision_s": 5.0})
    assert times(result) == [12]


def test_noise_stays_within_its_bounds_and_averages_out(tmp_path):
    plan = make_plan({"s": feeder(rate=0.1, rows=2000)}, [project("q/p", "s", 1.0)], {"q": "q/p"})
    report = simulate(make_app(plan, simulator={"noise": 0.2}), IDLE).report["queries"]["q"]["latency"]
    assert 0.8 <= report["p10"] < 0.85
    assert 1.15 < report["p90"] <= 1.2
    assert report["max"] <= 1.2
    assert report["mean"] == pytest.approx(1.0, abs=0.01)


def test_source_slots_delay_the_entry(tmp_path):
    """One source slot, 2 s per tuple; arrivals 0, 0, 0, 10: read at 2, 4, 6, 12."""
    plan = one_operator(tmp_path, 0, 0, 0, 10, cost=0.0)
    settings = {"source_slots": 1, "source_cost_s": 2.0}
    assert times(run(plan, tmp_path, simulator=settings)) == [2, 4, 6, 12]
    assert times(run(plan, tmp_path, simulator=settings | {"source_slots": 2})) == [2, 2, 4, 12]


def test_a_run_of_some_seconds_cuts_calls_in_flight(tmp_path):
    result = run(one_operator(tmp_path, 0, 0, 0, 9), tmp_path, limits=RunLimits(seconds=2.5))
    assert result.operators["q/p"] == {"in": 3, "processed": 2, "queued": 1, "shed": 0, "out": 2}
    assert result.report["seconds"] == 2.5
    assert result.report["queries"]["q"]["inputs"] == 3
    single = simulate(make_app(one_operator(tmp_path, 0, 0, 0, 9), folder=tmp_path), RunLimits(seconds=2.5))
    assert single.operators == result.operators


def test_fan_out_union_and_selectivities_above_one(tmp_path):
    plan = make_plan(
        {"s": recorded(tmp_path, "s", *[0] * 100)},
        [
            select("q/twice", "s", selectivity=2.0),
            select("q/some", "s", selectivity=0.3),
            union("q/all", "q/twice", "q/some"),
        ],
        {"q": "q/all"},
    )
    result = run(plan, tmp_path)
    some = result.operators["q/some"]["out"]
    assert result.operators["q/twice"]["out"] == 200
    assert 15 <= some <= 45
    assert result.report["queries"]["q"]["outputs"] == 200 + some
    assert len({event.key for event in result.trace.results}) == 200 + some


def test_an_endless_source_needs_a_bound(tmp_path):
    plan = make_plan({"s": feeder(rows=None)}, [project("q/p", "s")], {"q": "q/p"})
    for limits in (IDLE, RunLimits()):
        with pytest.raises(ApplicationError, match=r"streams\.s\.source.*--seconds"):
            simulate(make_app(plan), limits)
    assert simulate(make_app(plan), RunLimits(seconds=1)).report["queries"]["q"]["outputs"] == 10


def test_progress_is_reported(tmp_path):
    plan = make_plan({"s": feeder(rate=1e6, rows=300_000)}, [project("q/p", "s")], {"q": "q/p"})
    seen = []
    simulate(make_app(plan), IDLE, progress=lambda now, done: seen.append((now, done)))
    assert len(seen) >= 2
    assert seen == sorted(seen)


class Preempting(Policy):
    """Most important class first, one tuple per call; a more important arrival stops a running call."""

    name = "preempting"
    preemption = "arrival"

    def choose(self, slot):
        ready = sorted(self.view.ready(), key=self._rank)
        return Decision(ready[0], tuples=1) if ready else None

    def preempts(self, running, arrived):
        self.seen += [(self.view.now, unit.id, unit.spent) for unit in running]
        weakest = max(running, key=self._rank)
        return weakest if self._rank(arrived) < self._rank(weakest) else None

    def _rank(self, unit):
        return -self.view.priorities[unit.class_name], unit.index


@pytest.fixture
def preempting(monkeypatch):
    seen = []
    kind = type("Seen", (Preempting,), {"seen": seen})
    monkeypatch.setitem(POLICIES, "preempting", kind)
    return seen


def test_a_preemptive_policy_stops_exactly_at_the_arrival(tmp_path, preempting):
    """Sharaf et al. as in prb.md T2: a 40 s tuple is stopped at 15, resumes at 25 with 25 s left; again at 30."""
    streams = {"slow": recorded(tmp_path, "slow", 0), "fast": recorded(tmp_path, "fast", 15, 15)}
    plan = make_plan(
        streams,
        [project("l/slow", "slow", 40.0), project("h/fast", "fast", 10.0)],
        {"l": "l/slow", "h": "h/fast"},
        {"high": 2, "low": 1},
        {"l": "low", "h": "high"},
    )
    result = run(plan, tmp_path, "preempting")
    assert [(e.query, e.time) for e in result.trace.results] == [("h", 25), ("h", 40), ("l", 60)]
    assert preempting == [(15, "l/slow", 15), (30, "l/slow", 20)]
    charged = run(plan, tmp_path, "preempting", simulator={"preempt_s": 1.0})
    assert [e.time for e in charged.trace.results] == [26, 41, 62]


@pytest.mark.parametrize("trace", [True, False])
def test_the_weakest_of_several_calls_is_stopped(tmp_path, trace):
    """prb, two slots: tuples of 10 s and 20 s run from 0 on. Tuples of 5 s arrive at 1 and at 8. Each takes the slot of
    the longer one, which has 19 s and then 17 s left; it resumes at 10 in the other slot and is done at 27."""
    streams = {name: recorded(tmp_path, name, *gaps) for name, gaps in (("a", (0,)), ("b", (0,)), ("c", (1, 7)))}
    operators = [project(f"{name}/x", name, cost) for name, cost in (("a", 10.0), ("b", 20.0), ("c", 5.0))]
    plan = make_plan(streams, operators, {name: f"{name}/x" for name in "abc"})
    app = make_app(plan, "prb", folder=tmp_path, slots=2)
    result = simulate(app, IDLE, trace=trace)
    means = {name: query["latency"]["mean"] for name, query in result.report["queries"].items()}
    assert means == {"a": 10.0, "b": 27.0, "c": 5.0}


def test_a_policy_that_idles_forever_is_detected(tmp_path, monkeypatch):
    class Lazy(Policy):
        name = "lazy"
        work_conserving = False

        def choose(self, slot):
            return None

    monkeypatch.setitem(POLICIES, "lazy", Lazy)
    with pytest.raises(AssertionError, match="never runs q/p"):
        run(one_operator(tmp_path, 0), tmp_path, "lazy")
    Lazy.work_conserving = True
    with pytest.raises(AssertionError, match="idle while q/p could run"):
        run(one_operator(tmp_path, 0), tmp_path, "lazy")


def test_an_unknown_policy_is_refused(tmp_path):
    with pytest.raises(PolicyError, match="there is no policy 'fofi'"):
        run(one_operator(tmp_path, 0), tmp_path, "fofi")
