"""MBD's query priorities: the worked examples, then what holds for all costs; queries that share operators."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policies.broadcast import broadcast_schedule
from headgate.policies.query_shares import Share, UnitCosts, share_of, shares, sharing_groups


def single(**costs_by_class):
    """Queries that share nothing: H=[30, 10] gives H1 and H2."""
    return [
        UnitCosts(f"{name}{number}", name, [cost])
        for name, costs in costs_by_class.items()
        for number, cost in enumerate(costs, 1)
    ]


def schedule(found):
    return " ".join(broadcast_schedule([(name, one.slots) for name, one in found.items()]))


def test_multiplier_1():
    found = shares(single(H=[30, 10], L=[20, 20]), {"H": 6, "L": 2})
    assert found == {
        "H1": Share(4.5, 5, 0.5),
        "H2": Share(1.5, 2, 0.5),
        "L1": Share(1.0, 1, 1.0),
        "L2": Share(1.0, 1, 1.0),
    }
    assert schedule(found) == "H1 H2 H1 H1 L1 L2 H1 H2 H1"
    assert [one.slots - 1 + one.gate for one in found.values()] == [4.5, 1.5, 1, 1]


def test_multiplier_above_1():
    units = [UnitCosts(name, "1", [10]) for name in "abc"] + [UnitCosts("d", "2", [5]), UnitCosts("e", "2", [15])]
    found = shares(units, {"1": 3, "2": 1})
    assert [one.priority for one in found.values()] == pytest.approx([4, 4, 4, 1, 3], rel=1e-12)
    assert [one.slots for one in found.values()] == [4, 4, 4, 1, 3]
    assert {one.gate for one in found.values()} == {1.0}
    assert schedule(found) == "a b c e a b c e d a b c e a b c"


@pytest.mark.parametrize(("priority", "slots", "gate"), [(1.7, 2, 0.7), (1.3, 2, 0.3), (1.0, 1, 1.0), (2.0, 2, 1.0)])
def test_gates(priority, slots, gate):
    found = share_of(priority)
    assert (found.priority, found.slots) == (priority, slots)
    assert found.gate == pytest.approx(gate, rel=1e-12)
    assert found.slots - 1 + found.gate == pytest.approx(priority, rel=1e-12)


def test_rounding_adds_no_slot():
    assert share_of(3 + 1e-12)[1:] == share_of(3 - 1e-12)[1:] == (3, 1.0)
    assert share_of(0.25)[1:] == (1, 0.25)
    assert share_of(1e-12)[1:] == (1, 1e-12)


def test_queries_that_share_are_one_unit():
    alone = shares(single(x=[24, 11, 10]), {"x": 9})
    assert [one.priority for one in alone.values()] == pytest.approx([2.4, 1.1, 1])
    found = shares([UnitCosts("both", "x", [24, 11]), UnitCosts("x3", "x", [10])], {"x": 9})
    assert found["both"] == (pytest.approx(3.5), 4, pytest.approx(0.5))
    assert found["x3"] == (1.0, 1, 1.0)


def test_a_query_is_promoted_with_its_cost():
    """The cost of class 1 grows from 50 to 60; the promoted query accounts for 6 * 10 / 60 = 1 of its unit's 3."""
    frequencies = {"1": 6, "2": 3, "3": 1}
    apart = shares([UnitCosts("a", "1", [20]), UnitCosts("c", "1", [30]), *single(**{"3": [10, 10]})], frequencies)
    assert [one.priority for one in apart.values()] == pytest.approx([4.8, 7.2, 1, 1])
    units = [UnitCosts("a+b", "1", [20, 10]), UnitCosts("c", "1", [30]), UnitCosts("d", "3", [10])]
    assert [one.priority for one in shares(units, frequencies).values()] == [3, 3, 1]


def test_a_cheap_query_need_not_stretch_the_round():
    units = single(a=[1000, 1], b=[1])
    assert shares(units, {"a": 2, "b": 1})["a1"].slots == 1000
    found = shares(units, {"a": 2, "b": 1}, at_most=3)
    assert [one.priority for one in found.values()] == pytest.approx([2000 / 1001, 2 / 1001, 1])
    assert [one.slots for one in found.values()] == [2, 1, 1]
    assert shares(units, {"a": 2, "b": 1}, at_most=10**6) == shares(units, {"a": 2, "b": 1})
    with pytest.raises(ValueError, match="at_most is 0"):
        shares(units, {"a": 2, "b": 1}, at_most=0)


def test_shares_of_queries_that_cost_nothing():
    assert shares([], {}) == {}
    found = shares(single(a=[0, 0], b=[0]), {"a": 6, "b": 1})
    assert [one.priority for one in found.values()] == [3, 3, 1]
    found = shares(single(a=[0, 2], b=[1]), {"a": 6, "b": 1})
    assert [one.priority for one in found.values()] == [1, 6, 1]


costs = st.lists(st.floats(0.5, 50), min_size=1, max_size=4)


@settings(deadline=None)
@given(
    units=st.lists(st.tuples(st.sampled_from("abc"), costs), min_size=1, max_size=10),
    frequencies=st.fixed_dictionaries({name: st.integers(1, 60) for name in "abc"}),
)
def test_properties_for_all_costs(units, frequencies):
    queries = [UnitCosts(str(number), name, members) for number, (name, members) in enumerate(units)]
    found = shares(queries, frequencies)
    assert min(one.priority for one in found.values()) == 1.0
    for one in found.values():
        assert 0.0 < one.gate <= 1.0
        assert one.slots - 1 + one.gate == pytest.approx(one.priority, abs=2e-9)
    sums = {name: 0.0 for name, _ in units}
    for unit in queries:
        sums[unit.class_name] += found[unit.name].priority
    first = next(iter(sums))
    for name, total in sums.items():  # the priorities of a class add up to its frequency times mult
        assert math.isclose(total / frequencies[name], sums[first] / frequencies[first], rel_tol=1e-9)
    doubled = shares(queries, {name: 2 * frequency for name, frequency in frequencies.items()})
    assert [one.slots for one in doubled.values()] == [one.slots for one in found.values()]


def test_groups_of_queries_that_share():
    operators = {
        "q1": {"a", "b"},
        "q2": {"c"},
        "q3": {"d"},
        "q4": {"b", "d"},  # joins q1 and q3
        "q5": set(),
        "q6": {"c", "e"},
    }
    assert sharing_groups(operators) == [("q1", "q3", "q4"), ("q2", "q6"), ("q5",)]
    assert sharing_groups({}) == []


@settings(deadline=None)
@given(operators=st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=3), max_size=8))
def test_groups_are_closed_and_no_larger_than_need_be(operators):
    named = {f"q{number}": needed for number, needed in enumerate(operators)}
    groups = sharing_groups(named)
    assert sorted(query for group in groups for query in group) == sorted(named)
    assert groups == sorted(tuple(sorted(group)) for group in groups)
    for group in groups:
        reached, pending = {group[0]}, [group[0]]
        while pending:
            needed = named[pending.pop()]
            more = {query for query in named if named[query] & needed} - reached
            reached |= more
            pending += more
        assert reached == set(group)
