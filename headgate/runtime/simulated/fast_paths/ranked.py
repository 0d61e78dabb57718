"""Units served by rank, one tuple at a time, by one slot, without asking for decisions.

The policy states once how the units rank (`FixedRanks`). A decision is then the first entry of a heap of units with
input, and a tuple that moves on to a unit that would be first anyway skips the heap. Every latency is the same as in
the event loop, to the last digit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush

from headgate.policies.predictable_order import FixedRanks
from headgate.policies.worth import Rank, ratio
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.bookkeeping import Bookkeeper
from headgate.runtime.simulated.network import NetworkNode, Outlet
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.selectivity import Item
from headgate.runtime.simulated.single_tuple import SingleTupleUnit, SingleTupleUnits
from headgate.scheduling.board import Board
from headgate.scheduling.units import Unit

_NO_ITEM: Item = (0.0, 0, 0.0)


def serve_by_rank(
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
    ranks = policy.ranks if isinstance(policy, FixedRanks) else None
    if ranks is None or board.slots > 1 or not admission.is_plain:
        return False
    members = _members(board, ranks, singles)
    if members is None:
        return False
    server = _RankedServer(members, admission.outlets, board.policy.preemptive, memory)
    for times, items, streams in admission.blocks():
        server.serve(times, items, streams)
        bookkeeper.settle(times[-1], times[-1], server.update_counters(), 0)
    server.finish(end)
    board.now = server.clock
    return server.leave()


class _OperatorStep:
    """An operator that a unit runs, for the tuples of one of its inputs."""

    __slots__ = (
        "change",
        "cost",
        "done",
        "draw",
        "following",
        "held",
        "line",
        "member",
        "node",
        "passed",
        "queue",
        "taps",
    )

    def __init__(self, single: SingleTupleUnit, queue: SimulatedQueue, member: _RankedUnit) -> None:
        node, outlet = single.node, single.outlets[0]
        self.node = node
        self.queue = queue
        self.member = member
        self.cost = single.cost
        self.draw = None if node.passes_all else node.draw
        self.held = outlet.queued_bytes
        self.change = outlet.queued_bytes - queue.item_bytes  # of queued memory, when a tuple passes
        self.taps = outlet.taps
        self.following: _OperatorStep | None = None  # in the same unit
        self.line: _SharedQueue | None = None  # or where a tuple waits next
        self.done = 0  # tuples since the counters were last updated
        self.passed = 0

    def update_counters(self) -> None:
        """Bring the counters up to date."""
        done, passed = self.done, self.done if self.draw is None else self.passed
        self.node.processed += done
        self.node.out += passed
        for queue in self.next_queues:
            queue.node.entered += passed
        self.done = self.passed = 0

    @property
    def next_queues(self) -> list[SimulatedQueue]:
        return [place.queue for place in (self.following, self.line) if place is not None]


class _SharedQueue:
    """A queue, and for each unit that serves it the step with which that unit begins there."""

    __slots__ = ("queue", "sole", "steps")

    def __init__(self, queue: SimulatedQueue) -> None:
        self.queue = queue
        self.steps: list[_OperatorStep] = []
        self.sole: _OperatorStep | None = None  # of the only unit


class _RankedUnit:
    """A unit in the ranking. While it has input, it has an entry in the heap: its negated worth, the arrival of its
    oldest tuple, its place, a number that makes the entry unique, and the unit itself."""

    __slots__ = ("entry", "index", "left", "lines", "partial", "place", "spent", "urgency", "worth")

    def __init__(self, unit: Unit, rank: Rank) -> None:
        self.index = unit.index
        self.worth = rank.worth
        self.place = rank.place
        self.urgency = -rank.worth.per_second()  # the smallest runs first
        self.lines: list[_SharedQueue] = []
        self.entry: _Entry | None = None
        self.partial: _SharedQueue | None = None  # where its first tuple was stopped,
        self.spent = 0.0  # the seconds spent on that tuple in all,
        self.left = 0.0  # and the seconds that it still needs

    def first(self) -> _SharedQueue | None:
        """The queue with the oldest first tuple; among equals, the first queue."""
        lines = self.lines
        if len(lines) == 1:  # mostly
            return lines[0] if lines[0].queue else None
        best, oldest = None, math.inf
        for line in lines:
            if line.queue and line.queue[0][0] < oldest:
                best, oldest = line, line.queue[0][0]
        return best


_Entry = tuple[float, float, int, int, _RankedUnit]


class _RankedServer:
    """The slot: the tuple in progress, if there is one, and the units with input."""

    def __init__(
        self, members: Sequence[_RankedUnit], outlets: Sequence[Outlet], preemptive: bool, memory: QueueMemory
    ) -> None:
        self.clock = 0.0  # when the slot became free
        lines = {line.queue: line for member in members for line in member.lines}
        self._entries = [[lines[queue] for queue in outlet.queues] for outlet in outlets]  # by stream
        self._steps = [step for line in lines.values() for step in line.steps]
        used = {line for entries in self._entries for line in entries} | {step.line for step in self._steps}
        for member in members:
            member.lines = [line for line in member.lines if line in used]  # in others nothing ever waits
        self._preemptive = preemptive
        self._memory = memory
        self._heap: list[_Entry] = []  # outdated entries stay in it until they reach the top
        self._number = 0
        self._step: _OperatorStep | None = None  # that runs
        self._item = _NO_ITEM  # the tuple that it processes,
        self._begun = 0.0  # since this time,
        self._before = 0.0  # after this many seconds in stopped calls,
        self._due = math.inf  # until this time
        self._gives_way = math.inf  # when it must stop for an arrival that is worth more

    def serve(self, times: Sequence[float], items: Sequence[Item], streams: Sequence[int]) -> None:
        """Admit tuples one after another, and serve until each enters."""
        entries, heap, preemptive = self._entries, self._heap, self._preemptive
        for time, item, stream in zip(times, items, streams, strict=True):
            if self._gives_way < time:
                self._give_way()
            if self._due <= time or self._step is None:
                self._advance(time)
                if self._step is None and not heap:
                    self.clock = time
            for line in entries[stream]:
                self._put(line, item)
                if preemptive and self._step is not None and self._yields_to(line, time):
                    self._gives_way = time  # once all arrivals at this time are admitted

    def finish(self, end: float) -> None:
        """Serve the remaining tuples after the last arrival. Tuples that take no time are still served at `end`."""
        if self._gives_way < end:
            self._give_way()
        self._advance(math.nextafter(end, math.inf))

    def update_counters(self) -> Counter[NetworkNode]:
        """Bring the counters up to date; returns the operator that has a tuple in progress."""
        for step in self._steps:
            step.update_counters()
        return Counter(() if self._step is None else (self._step.node,))

    def leave(self) -> bool:
        """Put the tuple in progress back; returns whether any tuple waits."""
        self.update_counters()
        if self._step is not None:
            self._step.queue.appendleft(self._item)
        return any(step.queue for step in self._steps)

    def _advance(self, until: float) -> None:
        """Serve up to a time. A decision at exactly that time is deferred until its arrivals are admitted."""
        heap, memory = self._heap, self._memory
        step, item, due = self._step, self._item, self._due
        while True:
            if step is None:
                if self.clock >= until or (step := self._choose()) is None:
                    break
                item, due = self._take(step)
            if due > until:
                break
            step.done += 1
            passes, change = True, step.change
            if step.draw is not None:
                ((_, outputs),) = step.draw([due], [item])
                if outputs:
                    step.passed += 1
                else:
                    passes, change = False, change - step.held
            if change:
                memory.times.append(due)
                memory.changes.append(change)
            if passes:
                for tap in step.taps:
                    tap.times.append(due)
                    tap.latencies.append(due - item[0])
                following, line = step.following, step.line
                if line is not None:
                    following = line.sole
                    if (
                        following is None
                        or following.member.entry is not None
                        or due >= until
                        or (heap and heap[0][0] <= following.member.urgency)
                    ):
                        self._put(line, item)
                        following = None
                if following is not None:
                    step, self._begun, self._before, due = following, due, 0.0, due + following.cost
                    continue
            step, self.clock = None, due
        self._step, self._item, self._due = step, item, math.inf if step is None else due

    def _put(self, line: _SharedQueue, item: Item) -> None:
        queue = line.queue
        queue.append(item)
        if len(queue) == 1:  # else the first tuple stays the same
            for step in line.steps:
                self._announce(step.member)

    def _announce(self, member: _RankedUnit) -> None:
        """Enter a unit with input into the heap, unless its entry there is up to date."""
        first = member.first()
        if first is None:
            return
        urgency, oldest = member.urgency, first.queue[0][0]
        if member.spent:
            urgency = -ratio(member.worth.gain, member.worth.cost_s - member.spent)
        was = member.entry
        if was is None or was[0] != urgency or was[1] != oldest:
            self._number = number = self._number + 1
            member.entry = entry = (urgency, oldest, member.place, number, member)
            heappush(self._heap, entry)

    def _choose(self) -> _OperatorStep | None:
        """The first step of the unit that ranks first; None if no tuple waits."""
        heap = self._heap
        while heap:
            entry = heappop(heap)
            member = entry[4]
            if member.entry is not entry:
                continue
            member.entry = None
            first = member.partial or member.first()
            if first is None:
                continue
            if not member.spent and first.queue[0][0] != entry[1]:  # another unit took its first tuple
                self._announce(member)
                continue
            return first.sole or next(step for step in first.steps if step.member is member)
        return None

    def _take(self, step: _OperatorStep) -> tuple[Item, float]:
        """Begin the first tuple of a queue; returns the tuple and when it will be finished."""
        member, needs = step.member, step.cost
        item = step.queue.popleft()
        self._begun, self._before = self.clock, member.spent
        if member.partial is not None:
            needs, member.partial, member.spent = member.left, None, 0.0
        if step.queue or len(member.lines) > 1:
            self._announce(member)
        return item, self.clock + needs

    def _yields_to(self, line: _SharedQueue, time: float) -> bool:
        """Is a unit that just got input worth more than the tuple in progress? The less time that tuple still needs,
        the more it is worth."""
        assert self._step is not None
        worth = self._step.member.worth
        urgency = -ratio(worth.gain, worth.cost_s - self._spent_at(time))
        return any(step.member.urgency < urgency for step in line.steps)

    def _spent_at(self, time: float) -> float:
        return max(0.0, time - self._begun) + self._before

    def _give_way(self) -> None:
        """Stop the tuple in progress; it keeps the time spent on it."""
        step, time = self._step, self._gives_way
        assert step is not None
        member, spent = step.member, self._spent_at(time)
        step.queue.appendleft(self._item)
        if spent > 0.0:
            member.partial = next(line for line in member.lines if line.queue is step.queue)
            member.spent, member.left = spent, self._due - time
        self._announce(member)
        self._step, self._due, self.clock, self._gives_way = None, math.inf, time, math.inf


# Does the fast path apply? ----------------------------------------------------------------------------------------


def _members(board: Board, ranks: Sequence[Rank], singles: SingleTupleUnits) -> list[_RankedUnit] | None:
    """The units; None if decisions depend on more than their ranks, or calls do more than move one tuple along."""
    operators = {name: singles.of_operator(name) for name in board.plan.operators}
    plain = {name: single for name, single in operators.items() if single is not None and _is_plain(single)}
    if len(plain) < len(operators) or (board.policy.preemptive and not _can_be_stopped(board, plain)):
        return None
    lines: dict[SimulatedQueue, _SharedQueue] = {}
    members = []
    for unit, rank in zip(board.units, ranks, strict=True):
        member = _RankedUnit(unit, rank)
        steps = [
            _OperatorStep(plain[name], queue, member) for name in unit.operators for queue in plain[name].node.queues
        ]
        for step in steps:
            line = lines.setdefault(step.queue, _SharedQueue(step.queue))
            line.steps.append(step)
            member.lines.append(line)
        members.append(member)
        _connect(steps, plain)
    for line in lines.values():
        line.sole = line.steps[0] if len(line.steps) == 1 else None
        for step in line.steps:
            onward = plain[step.node.id].outlets[0].queues
            if step.following is None and onward:
                step.line = lines[onward[0]]
    return members


def _connect(steps: Sequence[_OperatorStep], plain: dict[str, SingleTupleUnit]) -> None:
    """Link each step to the next one in the same unit, which takes its output at once."""
    at = {step.queue: number for number, step in enumerate(steps)}
    for number, step in enumerate(steps):
        for queue in plain[step.node.id].outlets[0].queues:
            if at.get(queue, -1) > number:
                step.following = steps[at[queue]]


def _is_plain(single: SingleTupleUnit) -> bool:
    """Does every tuple take the same time at the operator, and move on as one tuple to at most one queue, if at all?"""
    outlets = single.outlets
    return not single.set_up and not single.node.multiplies and len(outlets) == 1 and len(outlets[0].queues) <= 1


def _can_be_stopped(board: Board, plain: dict[str, SingleTupleUnit]) -> bool:
    """Is every unit a single operator, and does every operator take time?"""
    return all(len(unit.operators) == 1 for unit in board.units) and all(single.cost > 0.0 for single in plain.values())
