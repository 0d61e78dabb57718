"""What must hold for every plan, policy and number of slots."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.application.checked import RunLimits
from headgate.policies.registry import POLICIES
from headgate.runtime.simulated import simulate
from headgate.scheduling.policy import Decision, Policy
from tests.conformance.plans import feeder, make_app, make_plan, project, recorded
from tests.conformance.strategies import plans
from tests.policies.test_starvation import WITH_RELIEF
from tests.tiers import examples

IDLE = RunLimits(until_idle=True)
OVERHEADS = [
    {},
    {"decision_s": 0.01, "switch_s": 0.005, "preempt_s": 0.002, "inspect_s": 0.001, "noise": 0.2},
    {"call_s": 0.05},
]
NAMES = [*POLICIES, "often-preempting"]
VARIANTS = [
    *((name, {"starvation": kind, "period": 3}) for name in WITH_RELIEF for kind in ("oldest", "dynamic")),
    ("threshold", {"memory": 100.0}),  # so little that it switches back and forth between its modes
    ("train", {"length": 2}),
    ("mtiq", {"batch": 3}),
    ("wrr", {"quantum": 0.02, "leaf": 3.0}),
    ("abd", {"passes": None, "variant": "coincident"}),
    ("mbd", {"selectivity": "s", "sel_gate": False, "variant": "coincident"}),
    ("mprr", {"of": "largest"}),
]
few = settings(max_examples=examples(12, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow])


class OftenPreempting(Policy):
    """Stops calls at many arrivals and bounds calls in every way, which no policy from a paper does all at once."""

    name = "often-preempting"
    preemption = "arrival"
    bounds = ({"tuples": 1}, {"tuples": 3, "seconds": 0.07}, {"seconds": 0.03}, {}, {"tuples": 2})

    def __init__(self, unit="operator"):
        self.unit = unit

    def start(self, view):
        super().start(view)
        self.turn = 0

    def choose(self, slot):
        ready = self.view.ready()
        self.turn += 1
        if not ready:
            return None
        return Decision(ready[self.turn * 7 % len(ready)], **self.bounds[self.turn % 5], inspected=self.turn % 3)

    def preempts(self, running, arrived):
        self.turn += 1
        return running[self.turn % len(running)] if self.turn % 3 > 0 else None


@pytest.fixture(autouse=True, scope="module")
def often_preempting():
    POLICIES["often-preempting"] = OftenPreempting
    yield
    del POLICIES["often-preempting"]


def survivors(result):
    return Counter((event.query, event.key) for event in result.trace.results)


@few
@given(
    plan=plans(),
    slots=st.integers(1, 4),
    overheads=st.sampled_from(OVERHEADS),
    seed=st.integers(0, 3),
    linger_s=st.sampled_from([0.0, 0.3]),
)
def test_no_schedule_changes_the_answer(plan, slots, overheads, seed, linger_s):
    """Conservation, work conservation and the order of time are asserted by the simulator itself."""
    want = survivors(simulate(make_app(plan, "fifo", seed=seed), IDLE, trace=True))
    plan = replace(plan, classes={name: replace(one, linger_s=linger_s) for name, one in plan.classes.items()})
    for name in POLICIES:
        app = make_app(plan, name, slots=slots, seed=seed, simulator=overheads)
        result = simulate(app, IDLE, trace=True)
        assert survivors(result) == want, name
        for counts in result.operators.values():
            assert counts["in"] == counts["processed"]
            assert counts["queued"] == 0


@few
@given(plan=plans(), slots=st.integers(1, 4), overheads=st.sampled_from(OVERHEADS))
def test_waiting_for_other_inputs_loses_nothing(plan, slots, overheads):
    """Operators that consume in the order of time, also inside units and in calls that are stopped anywhere."""
    want = survivors(simulate(make_app(plan, "fifo"), IDLE, trace=True))
    queries = [("often-preempting", {"unit": unit}) for unit in ("operator", "path", "query")]
    for name, parameters in [*((name, {}) for name in POLICIES if name != "often-preempting"), *queries]:
        app = make_app(plan, name, parameters, slots=slots, simulator={"in_step": True, **overheads})
        result = simulate(app, IDLE, trace=True)
        assert survivors(result) == want, name
        assert all(counts["in"] == counts["processed"] for counts in result.operators.values())


@few
@given(plan=plans(), slots=st.integers(1, 4), overheads=st.sampled_from(OVERHEADS), variant=st.sampled_from(VARIANTS))
def test_no_parameter_changes_the_answer(plan, slots, overheads, variant):
    want = survivors(simulate(make_app(plan, "fifo"), IDLE, trace=True))
    app = make_app(plan, *variant, slots=slots, simulator=overheads)
    result, again = simulate(app, IDLE, trace=True), simulate(app, IDLE, trace=True)
    assert survivors(result) == want
    assert result == again


@few
@given(
    plan=plans(),
    slots=st.integers(1, 4),
    unit=st.sampled_from(["operator", "path", "query"]),
    overheads=st.sampled_from(OVERHEADS),
)
def test_stopping_calls_anywhere_loses_nothing(plan, slots, unit, overheads):
    want = simulate(make_app(plan, "fifo"), IDLE, trace=True)
    app = make_app(plan, "often-preempting", {"unit": unit}, slots=slots, simulator=overheads)
    result = simulate(app, IDLE, trace=True)
    assert survivors(result) == survivors(want)
    if not overheads and all(operator.declared.fixed_s == 0.0 for operator in plan.operators.values()):
        assert busy(result) == pytest.approx(busy(want))


@few
@given(
    plan=plans(),
    slots=st.integers(1, 4),
    quantum=st.sampled_from([0.001, 0.01, 0.07, None]),
    unit=st.sampled_from(["operator", "path", "query"]),
)
def test_quanta_change_neither_answer_nor_work(plan, slots, quantum, unit):
    """Stopped calls lose nothing: the same survivors, and, without overheads, the same busy time."""
    whole = simulate(make_app(plan, "rr", {"quantum": None, "unit": unit}, slots=slots), IDLE, trace=True)
    cut = simulate(make_app(plan, "rr", {"quantum": quantum, "unit": unit}, slots=slots), IDLE, trace=True)
    assert survivors(cut) == survivors(whole)
    if all(operator.declared.fixed_s == 0.0 for operator in plan.operators.values()):
        assert busy(cut) == pytest.approx(busy(whole))


def busy(result):
    return sum(call.end - call.start for call in result.trace.calls)


@few
@given(plan=plans(), slots=st.integers(1, 4), seconds=st.floats(0.0, 3.0), name=st.sampled_from(NAMES))
def test_a_run_that_ends_early_conserves_tuples(plan, slots, seconds, name):
    result = simulate(make_app(plan, name, slots=slots), RunLimits(seconds=seconds), trace=True)
    assert result.report["seconds"] == seconds
    for counts in result.operators.values():
        assert counts["in"] == counts["processed"] + counts["queued"] + counts["shed"]
    assert all(event.time <= seconds for event in result.trace.results)


@few
@given(plan=plans(), slots=st.integers(1, 4), name=st.sampled_from(NAMES))
def test_same_seed_same_report_and_tracing_changes_nothing(plan, slots, name):
    app = make_app(plan, name, slots=slots, simulator={"noise": 0.1})
    first, second = simulate(app, IDLE), simulate(app, IDLE)
    assert first == second
    traced = simulate(app, IDLE, trace=True)
    assert traced.operators == first.operators
    assert traced.report["seconds"] == first.report["seconds"]
    assert traced.report["memory"] == pytest.approx(first.report["memory"])
    for query, report in first.report["queries"].items():
        assert traced.report["queries"][query]["latency"]["mean"] == pytest.approx(report["latency"]["mean"])


@few
@given(plan=plans(), slots=st.integers(1, 4), name=st.sampled_from(NAMES))
def test_single_tuple_calls_do_what_planned_calls_do(plan, slots, name):
    """Without noise, calls of a single tuple are used unless a trace needs the full record: the reports must agree."""
    app = make_app(plan, name, slots=slots)
    single, planned = simulate(app, IDLE), simulate(app, IDLE, trace=True)
    assert single.operators == planned.operators
    assert single.report["seconds"] == planned.report["seconds"]
    assert single.report["memory"] == pytest.approx(planned.report["memory"])
    for query, report in single.report["queries"].items():
        assert planned.report["queries"][query]["latency"] == pytest.approx(report["latency"])


@pytest.mark.parametrize("costs", [(0.01, 0.01, 0.0), (0.01, 0.0, 0.0)])
def test_a_single_tuple_call_stopped_at_its_very_end_is_done(costs):
    """A tuple that takes no time is finished before an arrival at the same instant can stop it."""
    operators = [project(f"q{at}/x", "s", cost) for at, cost in enumerate(costs)]
    plan = make_plan({"s": feeder(2.0, 2)}, operators, {f"q{at}": f"q{at}/x" for at in range(3)})
    single, planned = (simulate(make_app(plan, "often-preempting"), IDLE, trace=trace) for trace in (False, True))
    for query, report in single.report["queries"].items():
        assert planned.report["queries"][query]["latency"] == pytest.approx(report["latency"])
    assert single.report["memory"] == pytest.approx(planned.report["memory"])


@few
@given(plan=plans(), slots=st.integers(1, 4), name=st.sampled_from(NAMES))
def test_no_slot_idles_while_a_tuple_waits_and_no_unit_runs_twice(plan, slots, name):
    result = simulate(make_app(plan, name, slots=slots), IDLE, trace=True)
    calls = result.trace.calls
    for number, call in enumerate(calls):
        for other in calls[:number]:
            apart = other.end <= call.start or call.end <= other.start
            assert apart or (call.slot != other.slot and call.unit != other.unit)


@pytest.mark.parametrize("name", WITH_RELIEF)
def test_the_oldest_are_not_starved_under_overload(name, tmp_path):
    """A cheap stream takes up the whole slot for 20 s, and one expensive tuple comes at the start. Without a remedy it
    waits until the end; with `oldest`, one of every `period` rounds goes to the oldest tuple, so it is out soon."""
    streams = {"cheap": feeder(rate=12.0, rows=240, bytes=8), "slow": recorded(tmp_path, "slow", 0.1) | {"bytes": 8}}
    operators = [project("c/x", "cheap", 0.1), project("d/x", "slow", 1.0)]
    plan = make_plan(streams, operators, {"c": "c/x", "d": "d/x"})
    left = {}
    for starvation in (None, "oldest", "dynamic"):
        parameters = {"starvation": starvation, "period": 10} | ({"length": 1} if name == "train" else {})
        result = simulate(make_app(plan, name, parameters, folder=tmp_path), IDLE, trace=True)
        (left[starvation],) = [event.time for event in result.trace.results if event.query == "d"]
    if name not in ("hr", "hnr"):  # these two take whole queues, so they get around to every unit sooner
        assert left[None] > 20.0
    assert left["oldest"] < 3.5
    assert left["dynamic"] <= left[None]
