"""The papers' worked examples, to the digit."""

import pytest

from headgate.plan.application import RunLimits
from headgate.runtime.simulated import simulate
from tests.conformance.plans import make_app, make_plan, project, recorded, select, union

IDLE = RunLimits(until_idle=True)


def departures(trace):
    return [(event.time, event.arrival) for event in trace.results]


def prb_figure_2(folder, order):
    """Sharaf et al., figure 2: Stream1 -> O1 -> O2 -> O3, Stream2 -> O4 -> O2 -> O3; costs 10, 10, 10, 40."""
    streams = {name: recorded(folder, name, 0) for name in order}
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


def test_table_2_of_jiang_and_chakravarthy_fifo_columns(tmp_path):
    app = make_app(jiang_figure_1(tmp_path), "fifo", folder=tmp_path, simulator={"fluid": True})
    result = simulate(app, RunLimits(seconds=10), trace=True)
    queue, level = [], dict(result.trace.memory)
    current = 0.0
    for t in range(1, 11):
        current = level.get(float(t), current)
        queue.append(current)
    assert queue == pytest.approx([1.0, 1.2, 3.0, 2.2, 2.0, 1.2, 1.0, 0.2, 0.0, 1.0])
    outputs = {event.time: (event.time - event.arrival, event.weight) for event in result.trace.results}
    assert set(outputs) == {3.0, 5.0, 7.0, 9.0}
    assert {t: latency for t, (latency, _) in outputs.items()} == {3.0: 2, 5.0: 3, 7.0: 4, 9.0: 6}
    assert [weight for _, weight in outputs.values()] == pytest.approx([0.16] * 4)
    report = result.report["queries"]["q"]
    assert report["latency"]["mean"] == pytest.approx(3.75)
    assert report["outputs"] == pytest.approx(0.64)
    assert result.report["memory"]["max"] == pytest.approx(3.0)
    assert sum(queue[:9]) / 9 == pytest.approx(1.311, abs=5e-4)
    # Between the integers the level is constant, so the time-weighted mean over [1, 10] is that of t = 1..9.
    assert result.report["memory"]["mean"] * 10 / 9 == pytest.approx(1.311, abs=5e-4)


def test_chain_example_fifo_column(tmp_path):
    """path_segment T3: one stream, O1 0.2 in 1 unit, O2 empties 0.2 in 1 unit; a tuple at t = 0..4."""
    plan = make_plan(
        {"s": recorded(tmp_path, "s", 0, 1, 1, 1, 1) | {"bytes": 1}},
        [select("q/O1", "s", 1.0, 0.2), project("q/O2", "q/O1", 5.0)],
        {"q": "q/O2"},
    )
    app = make_app(plan, "fifo", folder=tmp_path, simulator={"fluid": True})
    level = dict(simulate(app, RunLimits(seconds=4), trace=True).trace.memory)
    assert [level[float(t)] for t in range(5)] == pytest.approx([1, 1.2, 2.0, 2.2, 3.0])
