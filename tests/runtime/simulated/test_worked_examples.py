"""The papers' worked examples, to the digit."""

import pytest

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import simulate
from tests.conformance.plans import make_app, make_plan, project, recorded, select, union

IDLE = RunLimits(until_idle=True)


def departures(trace):
    return [(event.time, event.arrival) for event in trace.results]


def prb_figure_2(folder, order, **arrivals):
    """Sharaf et al., figure 2: Stream1 -> O1 -> O2 -> O3, Stream2 -> O4 -> O2 -> O3; costs 10, 10, 10, 40."""
    streams = {name: recorded(folder, name, arrivals.get(name, 0)) for name in order}
    operators = [
        project("q/O1", "s1", 10.0),
        project("q/O4", "s2", 40.0),
        union("q/O2", "q/O1", "q/O4", cost=10.0),
        project("q/O3", "q/O2", 10.0),
    ]
    return make_plan(streams, operators, {"q": "q/O3"})


@pytest.mark.parametrize(("order", "times", "mean"), [(("s1", "s2"), [30, 90], 60), (("s2", "s1"), [60, 90], 75)])
def test_fifo_runs_one_tuple_through_its_whole_path(tmp_path, order, times, mean):
    app = make_app(prb_figure_2(tmp_path, order), "fifo", folder=tmp_path)
    result = simulate(app, IDLE, trace=True)
    assert [time for time, _ in departures(result.trace)] == times
    assert result.report["queries"]["q"]["latency"]["mean"] == mean
    assert result.report["seconds"] == 90


@pytest.mark.parametrize(("order", "times"), [(("s1", "s2"), [80, 90]), (("s2", "s1"), [80, 90])])
def test_round_robin_with_a_long_quantum_goes_operator_by_operator(tmp_path, order, times):
    """O1 0-10, O4 10-50 (plan order), O2 50-70 for both, O3 70-80-90."""
    app = make_app(prb_figure_2(tmp_path, order), "rr", {"quantum": 1000}, folder=tmp_path)
    result = simulate(app, IDLE, trace=True)
    assert [time for time, _ in departures(result.trace)] == times
    assert result.report["seconds"] == 90


def test_round_robin_with_the_papers_quantum(tmp_path):
    """Turns of one unit, in the order O1, O4, O2, O3.

    O1 and O4 alternate: O1 has [0,1), [2,3), ..., [18,19). Then O4 [19,20), O2 [20,21), O4, O2, ..., O2's tenth turn is
    [38,39). O3 comes next in the order: [39,40), then O4, O3, ..., its tenth turn is [57,58): first result at 58.
    All work is 90 units and the slot never idles, so the last result is at 90.
    """
    app = make_app(prb_figure_2(tmp_path, ("s1", "s2")), "rr", {"quantum": 1}, folder=tmp_path)
    result = simulate(app, IDLE, trace=True)
    assert [time for time, _ in departures(result.trace)] == [58, 90]


def jiang_figure_1(folder):
    """Jiang and Chakravarthy, table 1: two selects (selectivity 0.2, capacity 1) into a join (0.8, capacity 0.2)."""
    streams = {
        "s1": recorded(folder, "s1", 1, 2, 7) | {"bytes": 1},
        "s2": recorded(folder, "s2", 2, 1) | {"bytes": 1},
    }
    operators = [
        select("q/O1", "s1", 1.0, 0.2),
        select("q/O2", "s2", 1.0, 0.2),
        union("q/O3", "q/O1", "q/O2", cost=5.0, selectivity=0.8),
    ]
    return make_plan(streams, operators, {"q": "q/O3"})


def levels(result, times):
    """Bytes queued at each of the given times, after the events at that time."""
    found = []
    for time in times:
        found.append([level for at, level in result.trace.memory if at <= time][-1])
    return found


QUEUE = {
    "fifo": [1.0, 1.2, 3.0, 2.2, 2.0, 1.2, 1.0, 0.2, 0.0, 1.0],
    "chain": [1.0, 1.2, 2.4, 1.6, 0.8, 0.6, 0.4, 0.2, 0.0, 1.0],
}
LATENCY = {"fifo": {3: 2, 5: 3, 7: 4, 9: 6}, "chain": {6: 5, 7: 5, 8: 5, 9: 6}}
MEANS = {"fifo": (3.75, 3.0, 1.311), "chain": (5.25, 2.4, 0.911)}  # latency, peak queue, mean queue over t = 1..9


@pytest.mark.parametrize(
    ("policy", "columns"),
    [
        ("fifo", "fifo"),
        ("chain", "chain"),
        ("pcs", "fifo"),  # equal capacities, so the oldest first
        ("threshold", "fifo"),  # memory suffices
        ("segment", "chain"),  # {O1}, {O2}, {O3}, each a piece of the envelope
        ("simplified-segment", "chain"),
    ],
)
def test_table_2_of_jiang_and_chakravarthy(tmp_path, policy, columns):
    app = make_app(jiang_figure_1(tmp_path), policy, folder=tmp_path, simulator={"fluid": True})
    result = simulate(app, RunLimits(seconds=10), trace=True)
    queue = levels(result, range(1, 11))
    assert queue == pytest.approx(QUEUE[columns])
    assert {event.time: event.time - event.arrival for event in result.trace.results} == LATENCY[columns]
    assert [event.weight for event in result.trace.results] == pytest.approx([0.16] * 4)
    latency, peak, mean = MEANS[columns]
    report = result.report["queries"]["q"]
    assert report["latency"]["mean"] == pytest.approx(latency)
    assert report["outputs"] == pytest.approx(0.64)
    assert result.report["memory"]["max"] == pytest.approx(peak)
    assert sum(queue[:9]) / 9 == pytest.approx(mean, abs=5e-4)
    # Between the integers the level is constant, so the time-weighted mean over [1, 10] is that of t = 1..9.
    assert result.report["memory"]["mean"] * 10 / 9 == pytest.approx(mean, abs=5e-4)


@pytest.mark.parametrize(("policy", "want"), [("fifo", [1, 1.2, 2.0, 2.2, 3.0]), ("chain", [1, 1.2, 1.4, 1.6, 1.8])])
def test_chain_example(tmp_path, policy, want):
    """path_segment T3: one stream, O1 0.2 in 1 unit, O2 empties 0.2 in 1 unit; a tuple at t = 0..4."""
    plan = make_plan(
        {"s": recorded(tmp_path, "s", 0, 1, 1, 1, 1) | {"bytes": 1}},
        [select("q/O1", "s", 1.0, 0.2), project("q/O2", "q/O1", 5.0)],
        {"q": "q/O2"},
    )
    app = make_app(plan, policy, folder=tmp_path, simulator={"fluid": True})
    assert levels(simulate(app, RunLimits(seconds=4), trace=True), range(5)) == pytest.approx(want)


@pytest.mark.parametrize("policy", ["rb", "prb", "train", "hr", "pcs"])
@pytest.mark.parametrize("order", [("s1", "s2"), ("s2", "s1")])
def test_t1_the_faster_path_goes_first_in_any_plan_order(tmp_path, policy, order):
    app = make_app(prb_figure_2(tmp_path, order), policy, folder=tmp_path)
    assert simulate(app, IDLE).report["queries"]["q"]["latency"]["mean"] == 60


@pytest.mark.parametrize(
    ("policy", "at", "departures", "mean"),
    [
        ("prb", 15, [(45, 15), (90, 0)], 60),  # 1/45 < 1/30: stopped, and resumed at 45 with 25 left
        ("rb", 15, [(60, 0), (90, 15)], 67.5),
        ("prb", 30, [(60, 0), (90, 30)], 60),  # equal: not stopped
        ("prb", 35, [(60, 0), (90, 35)], 57.5),  # 1/25 > 1/30
    ],
)
def test_t2_preemption_threshold(tmp_path, policy, at, departures, mean):
    app = make_app(prb_figure_2(tmp_path, ("s1", "s2"), s1=at), policy, folder=tmp_path)
    result = simulate(app, IDLE, trace=True)
    assert [(event.time, event.arrival) for event in result.trace.results] == departures
    single = simulate(app, IDLE).report
    assert single["queries"]["q"]["latency"]["mean"] == result.report["queries"]["q"]["latency"]["mean"] == mean


def test_t2_burst_is_an_upper_bound_for_chain(tmp_path):
    """1,000 tuples at once on a path that processes 10 per second: 100 s of work. Chain first does the leaf's 50 s for
    all of them, so its first result comes after 50 s; pcs gives its first after 0.1 s."""
    plan = make_plan(
        {"s": recorded(tmp_path, "s", *[0] * 1000) | {"bytes": 1}},
        [select("q/O1", "s", 0.05, 0.5), project("q/O2", "q/O1", 0.1)],
        {"q": "q/O2"},
    )
    first = {}
    for policy in ("chain", "pcs"):
        app = make_app(plan, policy, folder=tmp_path, simulator={"fluid": True})
        result = simulate(app, IDLE, trace=True)
        assert result.report["seconds"] == pytest.approx(100)
        first[policy] = result.trace.results[0].time
    assert first == pytest.approx({"chain": 50.05, "pcs": 0.1})


def t7(folder):
    """A: cost 1, selectivity 0.01; B: cost 2, selectivity 1; one tuple each."""
    streams = {"a": recorded(folder, "a", 0), "b": recorded(folder, "b", 0)}
    operators = [select("a/A", "a", 1.0, 0.01), project("b/B", "b", 2.0)]
    return make_plan(streams, operators, {"a": "a/A", "b": "b/B"})


@pytest.mark.parametrize(("policy", "mean"), [("pcs", 2.980), ("rb", 2.010)])
def test_t7_pcs_counts_input_tuples_rb_results(tmp_path, policy, mean):
    app = make_app(t7(tmp_path), policy, folder=tmp_path, simulator={"fluid": True})
    report = simulate(app, IDLE).report["queries"]
    outputs = sum(query["outputs"] for query in report.values())
    total = sum(query["latency"]["mean"] * query["outputs"] for query in report.values())
    assert total / outputs == pytest.approx(mean, abs=5e-4)
