"""pct, pct-s: a thread for each class."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import ClassVar

from headgate.policies.class_order import ClassOrder
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.rotation import Rotation
from headgate.policies.threads import class_threads
from headgate.scheduling.policy import Decision, Policy, View
from headgate.scheduling.units import Unit


class ThreadPerClass(Policy):
    """Each class has a thread of its own that runs its queries in turn. Priorities have no effect.

    With enough slots, each thread has one and the rest stay idle, so every class gets one core, however little or much
    it needs. Otherwise threads wait in line for a slot and give it up after one pass over their queries. A query that
    is moved to another class moves to the thread of that class.
    """

    name = "pct"
    unit = "query"
    work_conserving = False
    paper = f"{AL_MOAKAR}, chapter 6"
    splits: ClassVar[bool] = False  # may a class have two threads?

    def start(self, view: View) -> None:
        super().start(view)
        self._classes_version = view.classes_version
        self._ran: list[Unit | None] = [None] * view.slots  # slot -> the unit it ran last
        self._use({queries: Rotation(queries) for queries in self._dealt()})

    def became_ready(self, unit: Unit) -> None:
        self._thread_of[unit].add(unit)

    def choose(self, slot: int) -> Decision | None:
        if self._classes_version != self.view.classes_version:
            self._follow_classes()
        if slot >= len(self.thread_of_slot):
            return None
        decision = self._from_own_thread(slot) if self._own else self._from_line(slot)
        if decision is not None:
            self._ran[slot] = decision.unit
        return decision

    def _from_own_thread(self, slot: int) -> Decision | None:
        thread = self.thread_of_slot[slot]
        unit = None if thread is None else thread.next()
        return None if thread is None or unit is None else Decision(unit, inspected=thread.passed_over)

    def _from_line(self, slot: int) -> Decision | None:
        thread, passed = self.thread_of_slot[slot], 0
        if thread is not None:
            unit = thread.next(around=False)
            passed = thread.passed_over
            if unit is not None:
                return Decision(unit, inspected=passed)
            self.thread_of_slot[slot] = None
            self._line.append(thread)
        for _ in range(len(self._line)):
            thread = self._line.popleft()
            unit = thread.next()
            if unit is not None:
                self.thread_of_slot[slot] = thread
                return Decision(unit, inspected=passed + thread.passed_over)
            self._line.append(thread)
        return None

    # Threads -----------------------------------------------------------------------------------------------------

    def _dealt(self) -> list[tuple[Unit, ...]]:
        """The queries of each thread, as the classes are now."""
        order = ClassOrder(self.view)
        classes = dict(zip(order.names, order.units, strict=True))
        return [thread.queries for thread in class_threads(classes, self.view.slots, self.splits)]

    def _use(self, threads: Mapping[tuple[Unit, ...], Rotation]) -> None:
        """Install threads. A slot that runs a unit keeps its thread, so that no thread is in two slots."""
        self._threads: Mapping[tuple[Unit, ...], Rotation] = threads
        self._thread_of = {unit: thread for queries, thread in threads.items() for unit in queries}
        self._own = len(threads) <= self.view.slots  # does every thread have a slot of its own?
        self.thread_of_slot: list[Rotation | None] = [None] * self.view.slots
        self._line = deque(threads.values())
        for slot, unit in enumerate(self._ran):
            if unit is not None and unit.running and self._thread_of[unit] in self._line:
                self.thread_of_slot[slot] = self._thread_of[unit]
                self._line.remove(self._thread_of[unit])
        for slot, held in enumerate(self.thread_of_slot):
            if self._own and held is None and self._line:
                self.thread_of_slot[slot] = self._line.popleft()

    def _follow_classes(self) -> None:
        """Take up changed classes. Threads whose queries are the same resume where they stopped."""
        self._classes_version = self.view.classes_version
        dealt, known = self._dealt(), self._threads
        if set(dealt) == set(known):
            return
        self._use({queries: known.get(queries) or Rotation(queries) for queries in dealt})
        for unit in self.view.ready():
            self.became_ready(unit)


class SplitThreads(ThreadPerClass):
    """As pct; with slots to spare, classes get a second thread, the currently most important ones first."""

    name = "pct-s"
    splits = True
