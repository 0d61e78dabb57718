"""Units served in turns of equal length by one slot. Most turns only continue a tuple and need not be simulated.

The order of service is by round, then by unit. While no unit comes or goes, each gets one turn per round, so a tuple
that needs L seconds is finished in the ceil(L / quantum)-th turn of its unit from now. Its round is known when it is
begun; units that come or go later change only the length of the rounds. So the simulation jumps from one turn in which
a tuple is finished to the next, over any number of turns in between, and stops where a unit gets input.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from headgate.policies.predictable_order import EqualTurns
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.bookkeeping import Bookkeeper
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.selectivity import Item
from headgate.runtime.simulated.single_tuple import SingleTupleUnit, SingleTupleUnits
from headgate.scheduling.board import Board, FedUnits
from headgate.scheduling.policy import TOLERANCE


def serve_round_robin(
    board: Board,
    admission: Admission,
    singles: SingleTupleUnits,
    bookkeeper: Bookkeeper,
    memory: QueueMemory,
    end: float,
) -> bool:
    """Serve all arrivals up to `end` if this fast path applies; otherwise leave the run to the event loop.

    Returns whether the end cut off arrivals or work.
    """
    policy = board.policy
    quantum = policy.equal_turn_s if isinstance(policy, EqualTurns) else None
    served = None if quantum is None else _served(board, admission, singles)
    if quantum is None or served is None:
        return False
    server = RoundRobinServer(served, quantum, memory, end)
    for times, items, streams in admission.blocks():
        for time, item, stream in zip(times, items, streams, strict=True):
            server.admit(time, item, admission.outlets[stream].queues)
        bookkeeper.settle(server.clock, min(server.clock, times[-1]), Counter(), 0)
    server.advance(math.nextafter(end, math.inf))
    board.now = server.clock
    return server.busy


def _served(board: Board, admission: Admission, singles: SingleTupleUnits) -> list[SingleTupleUnit] | None:
    """The units; None if turns depend on more than the time of their tuples."""
    if board.slots > 1 or not admission.is_plain:
        return None
    served = [
        single for unit in board.units if unit.alone and (single := singles[unit]) is not None and not single.set_up
    ]
    return served if len(served) == len(board.units) else None


class _RotatingUnit:
    """A unit that takes part in the rotation while it has input."""

    __slots__ = ("begun", "index", "left", "merges", "single", "skipped", "waiting")

    def __init__(self, index: int, single: SingleTupleUnit) -> None:
        self.index = index
        self.single = single
        self.merges = single.node.joint is not None
        self.waiting = 0  # tuples
        self.left = single.cost  # seconds that its first tuple needed when its next event was planned
        self.begun = False  # was time spent on that tuple before?
        self.skipped = 0  # turns that only continue it, before that event


class RoundRobinServer:
    """Whose turn it is, and when the next event comes: a turn in which a tuple is finished or chosen.

    `_round` and `_next` are the position of the rotation at `clock`, a moment between two turns: members from `_next`
    on have their turn in this round, those before it in the next.
    """

    def __init__(self, singles: Sequence[SingleTupleUnit], quantum: float, memory: QueueMemory, end: float) -> None:
        self.clock = 0.0
        self._members = [_RotatingUnit(index, single) for index, single in enumerate(singles)]
        self._by_fed_units = {
            queue.fed_units: member for member in self._members for queue in member.single.node.queues
        }
        self._quantum = quantum
        self._slack = quantum * TOLERANCE
        self._memory = memory
        self._end = end
        self._round = 0
        self._next = 0
        self._present: list[int] = []  # members with input, in order
        self._events: list[tuple[int, int]] = []  # a heap of (round, member), one entry per member with input
        self._ahead = 0  # turns before the first event
        self._start = math.inf  # when the first event begins

    @property
    def busy(self) -> bool:
        """Does any tuple wait?"""
        return bool(self._present)

    def admit(self, time: float, item: Item, queues: Iterable[SimulatedQueue]) -> None:
        """Admit a tuple, after running all events that begin before it enters."""
        if self._start < time:
            self.advance(time)
        if not self._present:
            self.clock = max(self.clock, time)
        for queue in queues:
            queue.append(item)
            member = self._by_fed_units[queue.fed_units]
            if member.waiting:
                member.waiting += 1
            else:
                self._skip_to(time)
                self._wake(queue.fed_units)
                self._look_ahead()

    def advance(self, until: float) -> None:
        """Run the events that begin before a time."""
        while self._start < until:
            self._run_event()
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Find the next event. Until then all members with input have their turns, one after another."""
        if not self._events:
            self._start = math.inf
            return
        present, (at, index) = self._present, self._events[0]
        places = bisect_left(present, index) - bisect_left(present, self._next)
        self._ahead = (at - self._round) * len(present) + places
        self._start = self.clock + self._ahead * self._quantum

    def _skip_to(self, time: float) -> None:
        """Skip turns up to the end of the one that runs at a time; no event comes before it."""
        turns = min(math.ceil((time - self.clock) / self._quantum), self._ahead) if self._present else 0
        if turns > 0:
            rounds, place = divmod(bisect_left(self._present, self._next) + turns - 1, len(self._present))
            self._round += rounds
            self._next = self._present[place] + 1
            self.clock += turns * self._quantum

    def _run_event(self) -> None:
        """Run a turn in which a tuple is finished, or begun by a unit that must choose among its inputs."""
        self._round, index = heappop(self._events)
        self._next = index + 1
        member, quantum, slack, end = self._members[index], self._quantum, self._slack, self._end
        single, clock = member.single, self._start
        limit = clock + quantum
        left, begun = member.left - member.skipped * quantum, member.begun
        for _ in range(member.waiting):  # tuples that arrive during a turn wait for the next one
            queue = single.queue if begun or not member.merges else single.find_oldest()
            finish = clock + left
            begun = finish > limit + slack or finish > end
            if begun:
                clock, left = limit, finish - limit
                break
            clock, left = finish, single.cost
            single.end(queue.popleft(), finish, self._wake, self._memory)
            member.waiting -= 1
            if clock >= limit - slack:
                break
        self.clock = clock
        member.left, member.begun = left, begun
        if member.waiting:
            self._plan(member)
        else:
            self._present.remove(index)

    def _wake(self, fed_units: FedUnits) -> None:
        """Count one more tuple behind a fed_units."""
        member = self._by_fed_units[fed_units]
        member.waiting += 1
        if member.waiting == 1:
            insort(self._present, member.index)
            self._plan(member)

    def _plan(self, member: _RotatingUnit) -> None:
        """Schedule the next event of a member: the turn in which its first tuple will be finished. For a unit that
        chooses among several inputs, the turn in which it begins a tuple is an event as well."""
        member.skipped = 0
        if member.begun or not member.merges:
            member.skipped = max(0, math.ceil((member.left - self._slack) / self._quantum) - 1)
        next_round = member.index < self._next
        heappush(self._events, (self._round + next_round + member.skipped, member.index))
