"""Broadcast disks: the worked examples, then counts and spacing."""

import hashlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policies.broadcast import broadcast_schedule

VARIANTS = ["disjoint", "coincident", "staggered"]


def letters(*priorities, variant="disjoint"):
    return "".join(broadcast_schedule(zip("ABCDE", priorities, strict=False), variant))


def slots_between(schedule, item):
    """For each slot of an item, the slots up to its next one; the last list wraps around the end of the round."""
    first, *rest = [i for i, other in enumerate(schedule) if other == item]
    twice = [*schedule, *schedule]
    return [twice[i + 1 : j] for i, j in zip([first, *rest], [*rest, first + len(schedule)], strict=True)]


def widest_gaps(schedule):
    return [max(map(len, slots_between(schedule, item))) for item in sorted(set(schedule))]


@pytest.mark.parametrize(
    ("priorities", "schedule", "widest"),
    [
        ((5, 4, 3, 2, 1), "ABCDABACEABCDAB", [3, 4, 5, 8, 14]),
        ((3, 2, 1), "ABACAB", [1, 3, 5]),
        ((6, 3, 1), "AABABCAABA", [2, 3, 9]),
        ((2, 1), "ABA", [1, 2]),
        ((7, 1), "AAAABAAA", [1, 7]),
        ((1, 1, 1), "ABC", [2, 2, 2]),
        ((5, 2, 1, 1), "ABAACDABA", [2, 5, 8, 8]),
        ((30, 20, 10), "ABACABABABACABACABACABABABACABABACABABABACABACABACABABABACAB", [1, 3, 7]),
    ],
)
def test_schedules(priorities, schedule, widest):
    assert letters(*priorities) == schedule
    assert widest_gaps(schedule) == widest


@pytest.mark.parametrize(
    ("priorities", "schedule"),
    [((6, 3, 1), "ABAABCAABA"), ((2, 2, 1, 1), "ACBADB"), ((2, 1, 1, 1, 1), "BACDAE"), ((1, 1, 1), "ABC")],
)
def test_staggered_schedules(priorities, schedule):
    assert letters(*priorities, variant="staggered") == schedule


@given(st.lists(st.integers(1, 12), min_size=2, max_size=12))
def test_staggered_slots_are_at_equal_distances(priorities):
    """Between two slots of an item, every other one has its share by priority, to within one; equals alternate."""
    items = list(enumerate(priorities))
    schedule = broadcast_schedule(items, "staggered")
    for item, priority in items:
        for between in slots_between(schedule, item):
            for other, its in items:
                if other != item:
                    assert abs(between.count(other) - its / priority) <= 1.0 + 1e-9
                    assert its != priority or between.count(other) == 1


def test_long_schedules():
    short, long = letters(60, 30, 10), letters(50, 40, 30, 20, 10)
    assert (len(short), len(long)) == (100, 150)
    assert short.startswith("AABAABCAABAABAABAABC")
    assert long.startswith("ABACDABBCEABACDABCDABACDABBCEAB")
    assert hashlib.sha256(long.encode()).hexdigest().startswith("c71d6db94b559ee0")
    assert (widest_gaps(short), widest_gaps(long)) == ([2, 3, 12], [4, 4, 6, 9, 18])


def test_slots_of_others_between_those_of_the_first_item_of_figure_8():
    assert [len(between) for between in slots_between("ABCDABACEABCDAB", "A")] == [3, 1, 2, 3, 1]


def test_the_alternative_reading_of_figure_8():
    schedule = letters(5, 4, 3, 2, 1, variant="coincident")
    assert schedule == "ACECDABABCDABAB"
    assert widest_gaps(schedule)[0] == 4


def test_the_greatest_priority_comes_first_then_the_order_given():
    schedule = broadcast_schedule([("low", 2), ("high", 3), ("as low", 2)])
    assert schedule == ["high", "low", "as low", "high", "high", "low", "as low"]
    assert broadcast_schedule([("z", 1), ("a", 1), ("m", 1)]) == ["z", "a", "m"]


def test_an_empty_schedule_and_refused_priorities():
    assert broadcast_schedule([]) == broadcast_schedule([], "coincident") == []
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="whole number above 0"):
            broadcast_schedule([("a", 2), ("b", bad)])
    with pytest.raises(ValueError, match="disjoint, coincident"):
        broadcast_schedule([("a", 1)], "random")


@settings(deadline=None)
@given(priorities=st.lists(st.integers(1, 300), max_size=8), variant=st.sampled_from(VARIANTS))
def test_every_item_has_exactly_its_slots(priorities, variant):
    schedule = broadcast_schedule(enumerate(priorities), variant)
    assert len(schedule) == sum(priorities)
    assert Counter(schedule) == dict(enumerate(priorities))


@settings(deadline=None)
@given(priorities=st.lists(st.integers(1, 63), max_size=6))
def test_the_slots_of_a_power_are_evenly_spaced_over_the_steps(priorities):
    """An item of priority 2^6 - 1 has every power, so it has a slot at the start of each step and marks the steps."""
    schedule = broadcast_schedule([("step", 63), *enumerate(priorities)])
    step, seen = 0, {number: [] for number in range(len(priorities))}
    for item in schedule:
        if item == "step":
            step += 1
        else:
            seen[item].append(step)
    for number, priority in enumerate(priorities):
        powers = [1 << bit for bit in range(6) if priority >> bit & 1]
        assert seen[number] == sorted(t for power in powers for t in range(32 // power, 64, 64 // power))


@settings(deadline=None)
@given(powers=st.lists(st.integers(0, 6), min_size=1, max_size=6), variant=st.sampled_from(VARIANTS))
def test_powers_of_two_have_the_same_slots_between_all_their_own(powers, variant):
    schedule = broadcast_schedule([(number, 1 << power) for number, power in enumerate(powers)], variant)
    for number, power in enumerate(powers):
        for between in map(Counter, slots_between(schedule, number)):
            for other, others in enumerate(powers):
                if other != number and others >= power:
                    assert between[other] == 1 << others - power
                elif other != number:
                    assert between[other] <= 1
