"""Joins of two windows in the simulator: the answer, the rate, and how much state is kept."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.application.checked import RunLimits
from headgate.plan.operators import Declared, Except, Port, RowWindow, Select, StreamJoin, TimeWindow, Union
from headgate.plan.operators.base import DeclaredSide
from headgate.plan.windows import RowsWindow, parse_window
from headgate.policies.registry import POLICIES, policy_parameters
from headgate.runtime.simulated import simulate
from headgate.runtime.simulated.joins import pair_join
from headgate.runtime.simulated.joins.from_plan import pair_joins
from headgate.runtime.simulated.joins.join_window import ArrivalLog, RowsExtent, TimeExtent
from headgate.runtime.simulated.joins.pair_join import PairJoin
from headgate.runtime.simulated.network import Network
from tests.conformance.plans import feeder, make_app, make_plan, project, select
from tests.runtime.simulated.test_properties import NAMES, OVERHEADS, busy, often_preempting, survivors
from tests.tiers import examples

pytestmark = pytest.mark.slow

IDLE = RunLimits(until_idle=True)
few = settings(max_examples=examples(10, 30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
__all__ = ["often_preempting"]  # the fixture, which registers a policy that stops calls all the time


def rename(name, source, column):
    made = project(name, source)
    return type(made)(id=name, inputs=made.inputs, declared=made.declared, columns={column: "v"})


def join(name, left, right, windows, **declared):
    """A join of two windows, given as texts; a ROWS window becomes an operator in front of the join."""
    made, ports, kept = [], [], []
    for side, source, text in zip("lr", (left, right), windows, strict=True):
        window = parse_window(text) if text else None
        if isinstance(window, RowsWindow):
            made.append(RowWindow(id=f"{name}-{side}", inputs=(Port(source),), window=window))
            ports.append(Port(f"{name}-{side}"))
            kept.append(None)
        else:
            ports.append(Port(source))
            kept.append(window)
    return [
        *made,
        StreamJoin(
            id=name,
            inputs=tuple(ports),
            left={},
            right={},
            all_columns=True,
            left_window=kept[0],
            right_window=kept[1],
            declared=Declared(fixed_s=0.0, **declared),
        ),
    ]


def two(windows, rates=(20.0, 50.0), rows=(60, 150), arrivals="poisson", slots=1, costs=(0.002, 0.001), **declared):
    """s and t (through a select that passes half of it), joined."""
    declared = declared or {"match": 0.2}
    streams = {
        "s": feeder(rates[0], rows[0], arrivals=arrivals),
        "t": feeder(rates[1], rows[1], arrivals=arrivals),
    }
    operators = [
        rename("q/s", "s", "a"),
        select("q/half", "t", 0.001, 0.5),
        rename("q/t", "q/half", "b"),
        *join("q/j", "q/s", "q/t", windows, sides=tuple(map(DeclaredSide, costs)), **declared),
    ]
    return make_plan(streams, operators, {"q": "q/j"})


def granularity(name, unit):
    """The parameter `unit`, if the policy has it."""
    return {"unit": unit} if "unit" in policy_parameters(POLICIES[name]) else {}


WINDOWS = st.sampled_from(
    [
        ("RANGE 500 MS", "RANGE 300 MS"),
        ("RANGE 1 SECOND", "NOW"),
        ("RANGE 1 SECOND SLIDE 200 MS", "RANGE 500 MS"),
        ("ROWS 5", "ROWS 12"),
        ("ROWS 5", "RANGE 300 MS"),
        ("RANGE UNBOUNDED", "RANGE 300 MS"),
    ]
)


@few
@given(
    windows=WINDOWS,
    slots=st.integers(1, 3),
    overheads=st.sampled_from(OVERHEADS),
    unit=st.sampled_from(["operator", "path", "query"]),
    seed=st.integers(0, 3),
    names=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True),
)
def test_no_schedule_changes_the_pairs(windows, slots, overheads, unit, seed, names):
    plan = two(windows)
    assert pair_joins(make_app(plan))
    want = survivors(simulate(make_app(plan, "fifo", seed=seed), IDLE, trace=True))
    for name in names:
        app = make_app(plan, name, granularity(name, unit), slots=slots, seed=seed, simulator=overheads)
        result = simulate(app, IDLE, trace=True)
        assert survivors(result) == want, name
        for counts in result.operators.values():
            assert counts["in"] == counts["processed"]


@few
@given(quantum=st.sampled_from([0.0003, 0.0011, 0.07]), unit=st.sampled_from(["operator", "path", "query"]))
def test_stopped_calls_give_back_what_they_have_not_finished(quantum, unit):
    plan = two(("RANGE 1 SECOND", "RANGE 1 SECOND"))
    whole = simulate(make_app(plan, "rr", {"quantum": None, "unit": unit}), IDLE, trace=True)
    cut = simulate(make_app(plan, "rr", {"quantum": quantum, "unit": unit}), IDLE, trace=True)
    assert survivors(cut) == survivors(whole)
    assert busy(cut) == pytest.approx(busy(whole))


@pytest.mark.parametrize("name", POLICIES)
def test_the_seed_decides_the_simulation(name):
    plan = two(("RANGE 1 SECOND", "ROWS 9"))
    app = make_app(plan, name, simulator={"noise": 0.1})
    assert simulate(app, IDLE) == simulate(app, IDLE)
    other = simulate(make_app(plan, name, seed=1), IDLE, trace=True)
    assert survivors(other) != survivors(simulate(make_app(plan, name), IDLE, trace=True))


@pytest.mark.parametrize("seconds", [0.5, 1.3])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_ends_early_conserves_tuples(seconds, name):
    result = simulate(make_app(two(("RANGE 1 SECOND", "RANGE 1 SECOND")), name), RunLimits(seconds=seconds))
    for counts in result.operators.values():
        assert counts["in"] == counts["processed"] + counts["queued"] + counts["shed"]


def by_hand(arrivals, windows):
    """Pairs that meet, from the definition: both in their windows at some instant. Windows: (since, until)."""
    left, right = arrivals
    return sum(
        max(windows[0](a)[0], windows[1](b)[0]) < min(windows[0](a)[1], windows[1](b)[1]) for a in left for b in right
    )


def lifetime(length, slide=None):
    def of(t):
        if slide is None:
            return t, t + length
        return np.ceil(t / slide) * slide, np.ceil((t + length) / slide) * slide

    return of


@pytest.mark.parametrize(
    ("texts", "windows"),
    [
        (("RANGE 500 MS", "RANGE 250 MS"), (lifetime(0.5), lifetime(0.25))),
        (("RANGE 1 SECOND SLIDE 500 MS", "RANGE 250 MS"), (lifetime(1.0, 0.5), lifetime(0.25))),
        (
            ("RANGE 1 SECOND SLIDE 500 MS", "RANGE 250 MS SLIDE 1 SECOND"),
            (lifetime(1.0, 0.5), lifetime(0.25, 1.0)),
        ),
    ],
)
def test_pairs_are_those_of_the_definition(texts, windows):
    streams = {"s": feeder(10.0, 40), "t": feeder(16.0, 60)}
    operators = [rename("q/s", "s", "a"), rename("q/t", "t", "b"), *join("q/j", "q/s", "q/t", texts, match=1.0)]
    app = make_app(make_plan(streams, operators, {"q": "q/j"}))
    arrivals = ([(i + 1) / 10.0 for i in range(40)], [(i + 1) / 16.0 for i in range(60)])
    assert simulate(app, IDLE).operators["q/j"]["out"] == by_hand(arrivals, windows)


def test_rows_windows_count_arrivals():
    """Each left row meets the last 3 right rows up to its time; each right row meets the last 2 left rows."""
    streams = {"s": feeder(10.0, 40), "t": feeder(16.0, 60)}
    operators = [
        rename("q/s", "s", "a"),
        rename("q/t", "t", "b"),
        *join("q/j", "q/s", "q/t", ("ROWS 2", "ROWS 3"), match=1.0),
    ]
    left, right = ([(i + 1) / 10.0 for i in range(40)], [(i + 1) / 16.0 for i in range(60)])
    want = sum(len([b for b in right if b <= a][-3:]) for a in left)
    want += sum(len([a for a in left if a <= b][-2:]) for b in right)
    want -= len(set(left) & set(right))  # pairs that arrive together are counted from both sides
    result = simulate(make_app(make_plan(streams, operators, {"q": "q/j"})), IDLE)
    assert result.operators["q/j"]["out"] == want


def test_the_rate_follows_the_formula():
    """lambda_L * lambda_R * match * (W_L + W_R), where the select passes half of the right side's tuples."""
    plan = two(("RANGE 2 SECONDS", "RANGE 3 SECONDS"), (40.0, 100.0), (8_000, 20_000), costs=(1e-4, 1e-4), match=0.02)
    result = simulate(make_app(plan), IDLE)
    want = 40 * 50 * 0.02 * (2 + 3) * 200
    assert result.operators["q/j"]["out"] == pytest.approx(want, rel=0.03)


@pytest.mark.parametrize("windows", [("RANGE 1 SECOND", "RANGE 2 SECONDS"), ("ROWS 40", "ROWS 100")])
def test_declared_selectivities_are_kept(windows):
    """Declared per side: a tuple on the left gives 1.5 results, one on the right 0.4."""
    sides = (DeclaredSide(1e-4, 1.5), DeclaredSide(1e-4, 0.4))
    streams = {"s": feeder(40.0, 6_000, arrivals="poisson"), "t": feeder(50.0, 7_500, arrivals="poisson")}
    operators = [rename("q/s", "s", "a"), rename("q/t", "t", "b"), *join("q/j", "q/s", "q/t", windows, sides=sides)]
    app = make_app(make_plan(streams, operators, {"q": "q/j"}))
    assert pair_joins(app)
    assert simulate(app, IDLE).operators["q/j"]["out"] == pytest.approx(6_000 * 1.5 + 7_500 * 0.4, rel=0.04)


def test_three_streams():
    """A result of the first join stays for as long as both of its rows do."""
    streams = {name: feeder(rate, 50) for name, rate in (("s", 10.0), ("t", 16.0), ("u", 7.0))}
    operators = [
        *(rename(f"q/{name}", name, column) for name, column in zip("stu", "abc", strict=True)),
        *join("q/j", "q/s", "q/t", ("RANGE 500 MS", "RANGE 300 MS"), match=1.0),
        Select(id="q/some", inputs=(Port("q/j"),), where="a > 0"),
        *join("q/all", "q/some", "q/u", ("", "RANGE 400 MS"), match=1.0),
    ]
    plan = make_plan(streams, operators, {"q": "q/all"})
    assert len(pair_joins(make_app(plan))) == 2
    times = [[(i + 1) / rate for i in range(50)] for rate in (10.0, 16.0, 7.0)]
    want = sum(max(a, b, c) < min(a + 0.5, b + 0.3, c + 0.4) for a in times[0] for b in times[1] for c in times[2])
    counts = {name: simulate(make_app(plan, name), IDLE).operators["q/all"]["out"] for name in POLICIES}
    assert counts == dict.fromkeys(POLICIES, want)


@pytest.mark.parametrize("unit", ["operator", "query"])
@pytest.mark.parametrize("windows", [("RANGE 1 SECOND", "RANGE 1 SECOND"), ("ROWS 50", "ROWS 50")])
def test_windows_stay_small(monkeypatch, windows, unit):
    """Rows that can no longer meet anything are dropped: of 12,000, about 100 are in the windows at a time."""
    made = []
    monkeypatch.setattr(Network, "__init__", recording_joins(Network.__init__, made))
    plan = two(windows, (50.0, 100.0), (6_000, 12_000), costs=(1e-4, 1e-4), match=0.01)
    simulate(make_app(plan, "rr", {"unit": unit}), IDLE)
    (one,) = made
    assert one.held < 2_500
    for extent in one.extents:
        if isinstance(extent, RowsExtent):
            assert len(extent.log) < 6_000


@few
@given(
    slots=st.integers(1, 3),
    windows=st.sampled_from([("RANGE 500 MS", "RANGE 300 MS"), ("RANGE 400 MS SLIDE 200 MS", "RANGE 100 MS")]),
    shape=st.sampled_from(["chain", "union", "join"]),
    unit=st.sampled_from(["operator", "path", "query"]),
    names=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True),
)
def test_dropping_rows_never_changes_the_answer(slots, windows, shape, unit, names):
    """Windows drop rows as often as they can, behind operators that put tuples out of order, under overload."""
    streams = {name: feeder(rate, 60, arrivals="poisson") for name, rate in (("s", 40.0), ("t", 30.0), ("u", 20.0))}
    operators = [rename(f"q/{name}", name, column) for name, column in zip("stu", "abc", strict=True)]
    slow = Declared(fixed_s=0.0, cost_s=0.03, selectivity=0.7)
    if shape == "union":
        operators += [Union(id="q/x", inputs=(Port("q/s"), Port("q/t")), declared=slow)]
        operators += join("q/j", "q/x", "q/u", windows, match=0.4, cost_s=0.01)
    elif shape == "join":
        operators += join("q/x", "q/s", "q/t", windows, match=0.4, cost_s=0.02)
        operators += join("q/j", "q/x", "q/u", ("", windows[1]), match=0.4, cost_s=0.01)
    else:
        operators += [Select(id="q/x", inputs=(Port("q/s"),), declared=slow, where="a > 0")]
        operators += [rename("q/y", "t", "d"), Union(id="q/z", inputs=(Port("q/t"), Port("q/u")))]
        operators += join("q/j", "q/x", "q/z", windows, match=0.4, cost_s=0.01)
    roots = {"q": "q/j"} if shape != "chain" else {"q": "q/j", "r": "q/y"}
    plan = make_plan(streams, operators, roots)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_join, "FEWEST", 1 << 40)
        want = survivors(simulate(make_app(plan), IDLE, trace=True))
        patch.setattr(pair_join, "FEWEST", 1)
        for name in names:
            result = simulate(make_app(plan, name, granularity(name, unit), slots=slots), IDLE, trace=True)
            assert survivors(result) == want, name
            single = simulate(make_app(plan, name, granularity(name, unit), slots=slots), IDLE)
            assert single.operators == result.operators


def recording_joins(original, made):
    def init(self, app, monitor):
        original(self, app, monitor)
        made.extend(node.join for node in self.nodes.values() if node.join is not None)

    return init


def test_joins_of_rows_with_unknown_lifetimes_pass_tuples_by_selectivity():
    """Nobody knows how long the rows of an aggregate, for example, stay; and without a rate there is no probability."""
    sides = (DeclaredSide(0.0, 3.0), DeclaredSide(0.0, 0.0))
    operators = [
        *(rename(f"q/{name}", name, column) for name, column in zip("st", "ab", strict=True)),
        *join("q/j", "q/s", "q/t", ("RANGE 1 SECOND", "RANGE UNBOUNDED"), sides=sides),
    ]
    app = make_app(make_plan({"s": feeder(10.0, 50), "t": feeder(10.0, 70)}, operators, {"q": "q/j"}))
    assert not pair_joins(app)
    result = simulate(app, IDLE)
    assert result.operators["q/j"]["out"] == 150
    assert simulate(make_app(app.plan, "rr", simulator={"fluid": True}), IDLE).operators["q/j"]["out"] == 150


def test_sides_of_other_operators_have_their_own_costs_and_selectivities():
    declared = Declared(fixed_s=0.0, sides=(DeclaredSide(0.01, 1.0), DeclaredSide(0.002, 0.0)))
    operator = Except(id="q/e", inputs=(Port("s"), Port("t")), declared=declared)
    plan = make_plan({"s": feeder(10.0, 30), "t": feeder(20.0, 50)}, [operator], {"q": "q/e"})
    for name in POLICIES:
        result = simulate(make_app(plan, name), IDLE, trace=True)
        assert result.operators["q/e"]["out"] == 30
        assert busy(result) == pytest.approx(30 * 0.01 + 50 * 0.002)


def test_a_fluid_join_yields_expected_numbers():
    plan = two(("RANGE 2 SECONDS", "RANGE 3 SECONDS"), match=0.02)
    result = simulate(make_app(plan, "rr", simulator={"fluid": True}), IDLE)
    want = 60 * 0.02 * 25 * 3 + 75 * 0.02 * 20 * 2
    assert result.operators["q/j"]["out"] == pytest.approx(want)


def test_an_operator_of_the_plan_is_a_window_too():
    operators = [
        TimeWindow(id="q/w", inputs=(Port("s"),), window=parse_window("RANGE 500 MS")),
        rename("q/s", "q/w", "a"),
        rename("q/t", "t", "b"),
        *join("q/j", "q/s", "q/t", ("", "RANGE 250 MS"), match=1.0),
    ]
    plan = make_plan({"s": feeder(10.0, 40), "t": feeder(16.0, 60)}, operators, {"q": "q/j"})
    arrivals = ([(i + 1) / 10.0 for i in range(40)], [(i + 1) / 16.0 for i in range(60)])
    result = simulate(make_app(plan), IDLE)
    assert result.operators["q/j"]["out"] == by_hand(arrivals, (lifetime(0.5), lifetime(0.25)))


# The state alone


@given(st.data())
def test_any_order_gives_the_same_pairs(data):
    """Rows in any order, some taken back and added again."""
    rows = [
        (float(t) / 4, number * 0x9E3779B97F4A7C15 % 2**64, 1.0)
        for number, t in enumerate(data.draw(st.lists(st.integers(0, 40), max_size=30)))
    ]
    sides = [number % 2 for number in range(len(rows))]
    log = ArrivalLog("s")
    log.add(np.sort([row[0] for row, side in zip(rows, sides, strict=True) if side == 0]))
    extents = data.draw(st.sampled_from([(TimeExtent(2.0), TimeExtent(1.0)), (RowsExtent(log, 3), TimeExtent(1.0))]))

    def results(order, again=()):
        one = PairJoin("j", 1, extents, (0.5, 0.3), carries=False)
        found = Counter()
        for number in order:
            if number in again:
                one.draw([0.0], [rows[number]], [sides[number]])
                one.forget([rows[number]], [sides[number]])
            ((_, made),) = one.draw([0.0], [rows[number]], [sides[number]])
            found.update(made)
        return found

    want = results(range(len(rows)))
    order = data.draw(st.permutations(range(len(rows))))
    assert results(order, again=set(order[::3])) == want


def test_equal_sides_draw_as_an_operator_without_sides():
    declared = Declared(fixed_s=0.0, cost_s=0.0, selectivity=0.5)
    plain = Union(id="q/u", inputs=(Port("s"), Port("t")), declared=declared)
    by_side = Declared(fixed_s=0.0, sides=(DeclaredSide(0.0, 0.5),) * 2)
    sided = Union(id="q/u", inputs=(Port("s"), Port("t")), declared=by_side)
    streams = {"s": feeder(), "t": feeder()}
    one, other = (simulate(make_app(make_plan(streams, [u], {"q": "q/u"})), IDLE, trace=True) for u in (plain, sided))
    assert survivors(one) == survivors(other)
