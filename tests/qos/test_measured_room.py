"""The room of a query, from what calls took between two looks."""

import pytest

from headgate.qos.load import Room
from headgate.qos.measured_room import MeasuredRoom
from headgate.scheduling.call_work import Spent


class Work:
    """What was spent so far, as the test says."""

    def __init__(self):
        self.now, self.so_far = 0.0, Spent(0.0, 0.0, 0.0)

    def spent(self, query, now):
        assert (query, now) == ("q", self.now)
        return self.so_far

    def add(self, after, seconds, tuples, others_s=0.0):
        self.now += after
        self.so_far = Spent(*(a + b for a, b in zip(self.so_far, (seconds, tuples, others_s), strict=True)))


def room_of(work, slots=2):
    return MeasuredRoom(work, "q", slots, lambda: work.now)


def test_only_the_time_since_the_last_look_counts():
    work = Work()
    room = room_of(work)
    assert room() == Room(None, 1.0)
    work.add(3.0, 2.0, 100.0)
    assert room().work_s == pytest.approx(0.02)
    work.add(3.0, 3.0, 300.0)
    assert room().work_s == pytest.approx(0.01)
    assert room().work_s == pytest.approx(0.01)  # asked for again at the same look


def test_others_leave_it_less_than_a_slot_if_they_need_more_than_the_rest():
    work = Work()
    room = room_of(work)
    work.add(2.0, 1.0, 100.0, others_s=3.0)
    assert room().slots == pytest.approx(0.5)
    work.add(2.0, 1.0, 100.0, others_s=1.0)
    assert room().slots == 1.0


def test_while_no_call_ends_a_tuple_costs_what_it_did():
    work = Work()
    room = room_of(work)
    work.add(3.0, 3.0, 300.0)
    room()
    work.add(3.0, 0.0, 0.0)
    assert room().work_s == pytest.approx(0.01)


def test_a_query_that_keeps_up_is_not_overloaded_however_small_its_calls():
    """Busy all the time with calls of a tuple or two, and yet nothing waits: larger calls would carry more."""
    work = Work()
    room = room_of(work)
    work.add(3.0, 2.25, 450.0)
    assert room().load(150.0) == pytest.approx(0.75)
    work.add(3.0, 3.0, 900.0)  # twice as many come: calls take two tuples each
    assert room().load(300.0) == pytest.approx(1.0)
