"""pct, pct-s: a thread for each class."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from headgate.flow.units import Unit
from headgate.policies.base import Decision, Policy, View
from headgate.policies.class_order import ClassOrder
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.rotation import Rotation
from headgate.policies.threads import class_threads


class ThreadPerClass(Policy):
    """Each class has a thread of its own that runs its queries in turn. Priorities decide nothing.

    With enough slots each thread has one and the others idle, so a class gets a core however little or much it needs.
    Else threads wait for a slot in line, and give it up after one pass over their queries.
    """

    name = "pct"
    unit = "query"
    work_conserving = False
    paper = f"{AL_MOAKAR}, chapter 6"
    splits: ClassVar[bool] = False  # may a class have two threads?

    def start(self, view: View) -> None:
        super().start(view)
        order = ClassOrder(view)
        classes = dict(zip(order.names, order.units, strict=True))
        self._threads = [Rotation(thread.queries) for thread in class_threads(classes, view.slots, self.splits)]
        self._thread_of = {unit: thread for thread in self._threads for unit in thread.units}
        self._own = len(self._threads) <= view.slots  # has every thread a slot of its own?
        self._line = deque(self._threads)
        self._holders: list[Rotation | None] = [None] * view.slots

    def became_ready(self, unit: Unit) -> None:
        self._thread_of[unit].add(unit)

    def choose(self, slot: int) -> Decision | None:
        unit = self._of_its_own(slot) if self._own else self._in_line(slot)
        return None if unit is None else Decision(unit)

    def _of_its_own(self, slot: int) -> Unit | None:
        if slot >= len(self._threads):
            return None
        return self._threads[slot].next()

    def _in_line(self, slot: int) -> Unit | None:
        thread = self._holders[slot]
        if thread is not None:
            unit = thread.next(around=False)
            if unit is not None:
                return unit
            self._holders[slot] = None
            self._line.append(thread)
        for _ in range(len(self._line)):
            thread = self._line.popleft()
            unit = thread.next()
            if unit is not None:
                self._holders[slot] = thread
                return unit
            self._line.append(thread)
        return None


class SplitThreads(ThreadPerClass):
    """As pct; with slots to spare, classes have two threads each, the most important first."""

    name = "pct-s"
    splits = True
