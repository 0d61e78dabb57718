"""What a query needs and may have, by the calls of a run."""

from __future__ import annotations

from collections.abc import Callable

from headgate.qos.load import Room, room_beside
from headgate.scheduling.call_work import CallWork


class MeasuredRoom:
    """The room of a query, measured from one look of the optimizer to the next.

    The rate of the tuples is measured over the same time. So a query that keeps up is never overloaded, even if its
    calls are small and mostly fixed cost, and would carry far more in larger ones.
    """

    def __init__(self, work: CallWork, query: str, slots: int, now: Callable[[], float]) -> None:
        self._work = work
        self._query = query
        self._slots = slots
        self._now = now
        self._at = now()
        self._before = work.spent(query, self._at)
        self._room = Room(None, 1.0)

    def __call__(self) -> Room:
        """The room between the last two times at which it was asked for. While no call has ended, a tuple costs as much
        as it did before."""
        now = self._now()
        if now > self._at:
            spent = self._work.spent(self._query, now)
            seconds, tuples = spent.seconds - self._before.seconds, spent.tuples - self._before.tuples
            others = (spent.others_s - self._before.others_s) / (now - self._at)
            self._room = room_beside(seconds / tuples if tuples else self._room.work_s, others, self._slots)
            self._at, self._before = now, spent
        return self._room
