"""CQC's slices and credit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policies.class_credit import ClassCredit, slices


def test_slices():
    assert slices([6, 3, 1], 20) == [12, 6, 2]
    assert slices([6, 3, 1], 1000) == [600, 300, 100]
    assert [round(time, 2) for time in slices([3, 2, 1], 1000)] == [500, 333.33, 166.67]
    assert slices([], 20) == []
    with pytest.raises(ValueError, match="priority is 0"):
        slices([6, 0], 20)
    with pytest.raises(ValueError, match="period is 0"):
        slices([6, 3], 0)


def turn(credit, i, time):
    assert credit.may_run(i)
    credit.used(i, time)
    return credit.left(i)


def test_an_overrun_is_deducted_and_unused_time_is_lost():
    credit = ClassCredit([12, 6, 2])
    assert credit.left(0) == 12
    assert [turn(credit, 0, 15), turn(credit, 0, 10), turn(credit, 0, 5)] == [9, 11, 12]


def test_an_overrun_can_pay_by_the_formula_as_printed():
    credit = ClassCredit([12, 6, 2], literal=True)
    assert [turn(credit, 0, 15), turn(credit, 0, 10)] == [9, 14]
    assert turn(credit, 0, 14) == 12


def test_a_class_in_debt_loses_turns():
    credit = ClassCredit([12, 6, 2])
    assert turn(credit, 2, 7) == -3
    turns = [(credit.may_run(2), credit.left(2)) for _ in range(3)]
    assert turns == [(False, -1), (False, 1), (True, 1)]
    assert [credit.left(0), credit.left(1)] == [12, 6]


def test_a_slice_used_up_exactly_loses_the_next_turn():
    credit = ClassCredit([4])
    assert turn(credit, 0, 8) == 0
    assert not credit.may_run(0)
    assert credit.left(0) == 4


@settings(deadline=None)
@given(times=st.lists(st.integers(0, 50), max_size=40))
def test_a_class_gets_no_more_than_a_slice_per_turn(times):
    """A class uses at most a slice for each turn it had, run or lost, plus the last overrun."""
    credit, used, turns = ClassCredit([7]), 0, 0
    for time in times:
        while not credit.may_run(0):
            turns += 1
        turns += 1
        used += time
        credit.used(0, time)
        assert credit.left(0) <= 7
        assert used <= 7 * turns + max(0, 7 - credit.left(0))
