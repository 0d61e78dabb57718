"""Operators with several inputs that consume tuples in the order of their time stamps."""

import pytest

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import simulate
from tests.conformance.plans import make_app, make_plan, project, recorded, select, union

IDLE = RunLimits(until_idle=True)


def results(folder, lefts, rights, limits=IDLE, between=(), **simulator):
    streams = {
        name: recorded(folder, name, *(b - a for a, b in zip([0.0, *times], times, strict=False)))
        for name, times in (("l", lefts), ("r", rights))
    }
    operators = [*between, union("q/u", "l", "q/s" if between else "r", cost=0.125)]
    app = make_app(
        make_plan(streams, operators, {"q": "q/u"}), "mrr", folder=folder, simulator={"in_step": True, **simulator}
    )
    found = simulate(app, limits, trace=True)
    return [(event.arrival, event.time) for event in found.trace.results], found


def test_a_tuple_waits_until_no_earlier_one_can_come(tmp_path):
    """1 may go when 3 arrives, 3 when 4 arrives; 4 waits for a right tuple that is no earlier."""
    found, _ = results(tmp_path, [1.0, 4.0], [3.0, 6.0])
    assert found == [(1.0, 3.125), (3.0, 4.125), (4.0, 6.125), (6.0, 6.25)]


def test_no_tuple_waits_for_a_stream_that_has_ended(tmp_path):
    found, _ = results(tmp_path, [1.0, 4.0, 5.0, 9.0], [3.0])
    assert found == [(1.0, 3.125), (3.0, 4.125), (4.0, 4.25), (5.0, 5.125), (9.0, 9.125)]


def test_waiting_tuples_count_as_queued(tmp_path):
    found, run = results(tmp_path, [1.0, 4.0], [3.0, 6.0], RunLimits(seconds=5.0))
    assert [arrival for arrival, _ in found] == [1.0, 3.0]
    assert run.operators["q/u"] == {"in": 3, "processed": 2, "queued": 1, "shed": 0, "out": 2}


def test_tuples_of_equal_time_go_together(tmp_path):
    found, _ = results(tmp_path, [1.0, 1.0], [1.0, 1.0])
    assert [arrival for arrival, _ in found] == [1.0] * 4
    assert found[0][1] == 1.125


@pytest.mark.parametrize("policy", ["mrr", "morr"])
def test_a_select_in_front_reports_its_progress(tmp_path, policy):
    """The select passes nothing, yet no left tuple waits once the select has processed a later right one."""
    nothing = select("q/s", "r", 0.25, 0.0)
    streams = {name: recorded(tmp_path, name, *gaps) for name, gaps in (("l", [1.0, 3.0]), ("r", [2.0, 3.0]))}
    plan = make_plan(streams, [nothing, union("q/u", "l", "q/s", cost=0.125)], {"q": "q/u"})
    run = simulate(make_app(plan, policy, folder=tmp_path, simulator={"in_step": True}), IDLE, trace=True)
    assert [event.time for event in run.trace.results] == [2.375, 5.375]


def test_without_in_step_no_tuple_waits(tmp_path):
    found, _ = results(tmp_path, [1.0, 4.0], [3.0, 6.0], in_step=False)
    assert [time - arrival for arrival, time in found] == [0.125] * 4


def test_operators_with_one_input_do_not_wait(tmp_path):
    plan = make_plan({"s": recorded(tmp_path, "s", 1.0, 1.0)}, [project("q/p", "s", 0.125)], {"q": "q/p"})
    run = simulate(make_app(plan, "mrr", folder=tmp_path, simulator={"in_step": True}), IDLE, trace=True)
    assert [event.time for event in run.trace.results] == [1.125, 2.125]


# Inside a unit -------------------------------------------------------------------------------------------------------


def behind_selects(folder, policy, lefts, rights, passed=1.0):
    """Both inputs of a union go through selects; under mrr all three are one unit."""
    streams = {
        name: recorded(folder, name, *(b - a for a, b in zip([0.0, *times], times, strict=False)))
        for name, times in (("l", lefts), ("r", rights))
    }
    operators = [
        select("q/l", "l", 0.0, passed),
        select("q/r", "r", 0.0, passed),
        union("q/u", "q/l", "q/r", cost=0.125),
    ]
    app = make_app(make_plan(streams, operators, {"q": "q/u"}), policy, folder=folder, simulator={"in_step": True})
    found = simulate(app, IDLE, trace=True)
    return [(event.arrival, event.time) for event in found.trace.results], found


@pytest.mark.parametrize("policy", ["mrr", "morr"])
def test_a_tuple_waits_inside_a_unit_too(tmp_path, policy):
    """As without selects: 1 may go when 3 arrives, 3 when 4 arrives. When all else is done, 7 does not wait."""
    found, run = behind_selects(tmp_path, policy, [1.0, 4.0, 6.5], [3.0, 6.0, 7.0])
    assert found == [(1.0, 3.125), (3.0, 4.125), (4.0, 6.125), (6.0, 6.625), (6.5, 7.125), (7.0, 7.25)]
    assert run.operators["q/u"] == {"in": 6, "processed": 6, "queued": 0, "shed": 0, "out": 6}


def test_what_waits_inside_is_processed_in_the_order_of_time(tmp_path):
    """All others arrive while the slot is busy with the first: left and right alternate, not one side first."""
    found, _ = behind_selects(tmp_path, "mrr", [1.0, 1.05, 1.07], [1.0, 1.06, 1.08])
    assert [arrival for arrival, _ in found] == [1.0, 1.0, 1.05, 1.06, 1.07, 1.08]


def test_selects_that_pass_nothing_still_report_their_progress(tmp_path):
    found, run = behind_selects(tmp_path, "mrr", [1.0, 2.0], [1.5, 3.0], passed=0.0)
    assert (found, run.operators["q/u"]["queued"]) == ([], 0)
