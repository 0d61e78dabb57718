"""How long calls of a twin take."""

import pyarrow as pa
import pytest

from headgate.scheduling.call_profile import TimedCall
from headgate.scheduling.calls import Call
from headgate.twin.call_times import CallTimes, fitted
from headgate.twin.twin import Twin, WhatIf
from tests.applications import application
from tests.twin.measured import calls, snapshot_of


def call_of(view, rows):
    unit = view.units[0]
    table = pa.table({"k": pa.array([0] * rows)})
    return Call(0, unit, unit.operators, view.plan, {unit.edges[0]: table}, {}, 0)


def view_of(stats_s=0.0001):
    app = application({"s": "k INT"}, {"q": "SELECT k FROM s WHERE k > 1"}, policy={"name": "rr", "unit": "query"})
    twin = Twin(snapshot_of(app.checked().plan, {"s": 100.0}, tuple_s=stats_s), WhatIf())
    return twin.core.board


def test_a_line_through_calls_of_many_sizes():
    assert fitted(calls(0.003, 0.00002), 0.00002).fixed_s == pytest.approx(0.003)
    spread = calls(0.003, 0.00002, (1, 1000))
    assert fitted(spread, 0.0).seconds(500) == pytest.approx(0.013, rel=0.02)


def test_where_calls_are_of_one_size_the_learned_cost_of_a_tuple_counts():
    fit = fitted([TimedCall(10, 0.005)] * 9, 0.0002)
    assert fit.tuple_s == pytest.approx(0.0002)
    assert fit.fixed_s == pytest.approx(0.003)
    assert fit.seconds(10) == pytest.approx(0.005)


def test_a_line_never_begins_below_zero():
    fit = fitted([TimedCall(10, 0.001), TimedCall(20, 0.004)], 0.1)
    assert fit.fixed_s == 0.0
    assert fit.seconds(15) == pytest.approx(0.0025)


def test_calls_vary_as_they_did():
    view = view_of()
    unit = view.units[0]
    mixed = [TimedCall(10, 0.001 if number % 2 else 0.003) for number in range(20)]
    times = CallTimes({unit.operators: mixed}, seed=1)
    drawn = {round(times.seconds(call_of(view, 10), view, 0), 6) for _ in range(50)}
    assert drawn == {0.001, 0.003}


def test_calls_beside_others_take_what_such_calls_took():
    view = view_of()
    unit = view.units[0]
    alone = [TimedCall(10, 0.001) for _ in range(10)]
    beside = [TimedCall(10, 0.003, others=1) for _ in range(10)]
    times = CallTimes({unit.operators: [*alone, *beside]}, seed=1)
    assert times.seconds(call_of(view, 10), view, 0) == pytest.approx(0.001)
    assert times.seconds(call_of(view, 10), view, 1) == pytest.approx(0.003)
    drawn = {round(times.seconds(call_of(view, 10), view, 2), 6) for _ in range(50)}  # there never were so many
    assert drawn == {0.001, 0.003}


def test_what_was_never_called_together_costs_what_others_do_and_its_operators():
    view = view_of(stats_s=0.0001)
    unit = view.units[0]
    times = CallTimes({("other",): list(calls(0.004, 0.00001, (1, 10, 100, 1000, 2000)))}, seed=1)
    expected = 0.004 + 0.0001 * len(unit.operators) * 30
    assert times.seconds(call_of(view, 30), view, 0) == pytest.approx(expected, rel=0.05)
    nothing = CallTimes({}, seed=1)
    assert nothing.seconds(call_of(view, 0), view, 0) == pytest.approx(view.call_fixed_s)
