"""Tuples served by rank by one slot: no decision is open, so none is asked for.

The policy says what a tuple is worth where it waits (`Policy.ranks`), and the best one runs. Where worths grow along
the way of a tuple, one that has set out is overtaken only by a new arrival, and nobody else gets to the operator where
it waits until it has gone on. So the queues are one heap of tuples, and a tuple goes from operator to operator without
passing through it. Every latency is what the event loop gives, to the last digit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from headgate.flow.board import Board
from headgate.flow.units import Unit
from headgate.policies.worth import Rank, ratio
from headgate.runtime.simulated.accounts import Accounts
from headgate.runtime.simulated.draws import Item
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.light import LightUnit, LightUnits
from headgate.runtime.simulated.network import Node, SimulatedQueue


class _Step:
    """An operator on the way of tuples, for one unit that runs it."""

    __slots__ = (
        "change",
        "cost",
        "done",
        "draw",
        "following",
        "held",
        "node",
        "passed",
        "place",
        "queue",
        "rests",
        "taps",
        "urgency",
        "worth",
    )

    def __init__(self, light: LightUnit, queue: SimulatedQueue, rank: Rank) -> None:
        node, outlet = light.node, light.outlets[0]
        self.node = node
        self.queue = queue  # where a tuple waits for it
        self.cost = light.cost
        self.draw = None if node.passes_all else node.draw
        self.held = outlet.held_bytes
        self.change = outlet.held_bytes - queue.item_bytes  # of queued memory, when a tuple passes
        self.taps = outlet.taps
        self.worth = rank.worth
        self.urgency = -rank.worth.per_second()  # the smallest runs first
        self.place = rank.place
        self.following: _Step | None = None
        self.rests = False  # may another tuple run before this one goes on to the following step?
        self.done = 0  # tuples, since the counters were told
        self.passed = 0

    def tell(self) -> None:
        """Bring the counters up to date."""
        done, passed = self.done, self.done if self.draw is None else self.passed
        self.node.processed += done
        self.node.out += passed
        if self.following is not None:
            self.following.node.entered += passed
        self.done = self.passed = 0


# A tuple that waits: minus its worth, arrival, place of the unit, number; the step, the tuple, and the seconds that it
# needs there still and was given already.
_Waiting = tuple[float, float, int, int, _Step, Item, float, float]
_NO_ITEM: Item = (0.0, 0, 0.0)


def serve_in_rank(
    board: Board, entrance: Entrance, lights: LightUnits, accounts: Accounts, ledger: Ledger, end: float
) -> bool:
    """Serve all arrivals up to `end`, where that is all there is to it; else leave everything to the event loop.

    Returns whether the end cut something off.
    """
    entries = _entries_by_stream(board, entrance, lights)
    if entries is None:
        return False
    server = _Server(entries, board.policy.preemptive, ledger)
    for times, items, streams in entrance.blocks():
        server.serve(times, items, streams)
        flying = server.tell()
        accounts.settle(times[-1], times[-1], flying, 0)
    server.finish(end)
    server.tell()
    board.now = server.clock
    return server.leave()


class _Server:
    """The slot: the tuple in progress, if there is one, and those that wait."""

    def __init__(self, entries: Sequence[Sequence[_Step]], preemptive: bool, ledger: Ledger) -> None:
        self.clock = 0.0  # when the slot became free
        self._entries = entries
        self._steps = _all_steps(entries)
        self._preemptive = preemptive
        self._ledger = ledger
        self._waiting: list[_Waiting] = []  # a heap
        self._number = 0
        self._step: _Step | None = None  # that runs
        self._item = _NO_ITEM  # which it processes,
        self._begun = 0.0  # since then,
        self._before = 0.0  # after so many seconds by stopped calls,
        self._due = math.inf  # until then
        self._gives_way = math.inf  # when an arrival worth more has come

    def serve(self, times: Sequence[float], items: Sequence[Item], streams: Sequence[int]) -> None:
        """Tuples enter, one after another."""
        entries, waiting, preemptive = self._entries, self._waiting, self._preemptive
        for time, item, stream in zip(times, items, streams, strict=True):
            if self._gives_way < time:
                self._give_way()
            if self._due <= time or self._step is None:
                self._advance(time)
                if self._step is None and not waiting:
                    self.clock = time
            for step in entries[stream]:
                self._number = number = self._number + 1
                heappush(waiting, (step.urgency, item[0], step.place, number, step, item, step.cost, 0.0))
                if preemptive and self._step is not None and step.urgency < self._urgency_at(time):
                    self._gives_way = time  # when all that come at this time are here

    def finish(self, end: float) -> None:
        """No more tuples enter: serve what is left."""
        if self._gives_way < end:
            self._give_way()
        self._advance(end)

    def tell(self) -> Counter[Node]:
        """Bring the counters up to date; returns the tuples that wait or run, by operator."""
        for step in self._steps:
            step.tell()
        found = Counter(waiting[4].node for waiting in self._waiting)
        if self._step is not None:
            found[self._step.node] += 1
        return found

    def leave(self) -> bool:
        """Put what is left back into the queues; returns whether there was any."""
        left = [(waiting[3], waiting[4], waiting[5]) for waiting in self._waiting]
        if self._step is not None:
            left.append((0, self._step, self._item))
        for _, step, item in sorted(left, key=lambda waiting: waiting[0]):
            step.queue.append(item)
        return bool(left)

    def _advance(self, until: float) -> None:
        """Serve up to a time. What is to be decided at that very time waits for who enters then."""
        waiting, ledger = self._waiting, self._ledger
        step, item, due = self._step, self._item, self._due
        while True:
            if step is None:
                if not waiting or self.clock >= until:
                    break
                _, _, _, _, step, item, left, self._before = heappop(waiting)
                self._begun, due = self.clock, self.clock + left
            if due > until:
                break
            step.done += 1
            following, change = step.following, step.change
            if step.draw is not None:
                ((_, outputs),) = step.draw([due], [item])
                if outputs:
                    step.passed += 1
                else:
                    following, change = None, change - step.held
            if change:
                ledger.times.append(due)
                ledger.changes.append(change)
            if step.taps and (step.draw is None or outputs):
                for tap in step.taps:
                    tap.times.append(due)
                    tap.latencies.append(due - item[0])
            if following is None:
                step, self.clock = None, due
            elif not step.rests or (due < until and (not waiting or waiting[0][0] > following.urgency)):
                step, self._begun, self._before, due = following, due, 0.0, due + following.cost
            else:
                self._wait(following, item)
                step, self.clock = None, due
        self._step, self._item, self._due = step, item, due if step is not None else math.inf

    def _wait(self, step: _Step, item: Item) -> None:
        self._number = number = self._number + 1
        heappush(self._waiting, (step.urgency, item[0], step.place, number, step, item, step.cost, 0.0))

    def _urgency_at(self, time: float) -> float:
        """Of the tuple in progress: the less it still needs, the more it is worth."""
        assert self._step is not None
        worth = self._step.worth
        return -ratio(worth.gain, worth.cost_s - self._spent_at(time))

    def _spent_at(self, time: float) -> float:
        return max(0.0, time - self._begun) + self._before

    def _give_way(self) -> None:
        """Stop the tuple in progress; it keeps what it was given. The best one that waits takes its place."""
        step, time = self._step, self._gives_way
        assert step is not None
        spent = self._spent_at(time)
        left = self._due - time if spent > 0.0 else step.cost
        entry = (self._urgency_at(time), self._item[0], step.place, 0, step, self._item, left, spent)
        heappush(self._waiting, entry)
        self._step, self._due, self.clock, self._gives_way = None, math.inf, time, math.inf


# Is it all there is to it? ----------------------------------------------------------------------------------------


def _entries_by_stream(board: Board, entrance: Entrance, lights: LightUnits) -> list[list[_Step]] | None:
    """Where the tuples of each stream wait first; None when there is more to a decision than their rank."""
    ranks = board.policy.ranks
    if ranks is None or board.slots > 1 or not entrance.is_plain:
        return None
    made: dict[Unit, list[_Step]] = {}
    found = [[_first_step(queue, ranks, lights, made) for queue in outlet.queues] for outlet in entrance.outlets]
    entries = [[step for step in steps if step is not None] for steps in found]
    if [len(steps) for steps in entries] != [len(steps) for steps in found]:
        return None
    operators = {step.node.id for step in _all_steps(entries)}
    whole = operators == set(board.plan.operators) and set(made) == set(board.units)
    stops = board.policy.preemptive and any(len(unit.operators) > 1 for unit in board.units)
    return entries if whole and not stops else None


def _first_step(
    queue: SimulatedQueue, ranks: Sequence[Rank], lights: LightUnits, made: dict[Unit, list[_Step]]
) -> _Step | None:
    """The step at which what enters by a queue waits, with all that follow it; None if it is no straight way, or if a
    tuple that waits on it could be overtaken by others than arrivals."""
    if len(queue.gate.units) != 1:
        return None
    (unit,) = queue.gate.units
    steps: list[_Step] = []
    following: tuple[SimulatedQueue, ...] = (queue,)
    for name in unit.operators:
        light = lights.of_operator(name)
        if [queue.node.id for queue in following] != [name] or light is None or not _is_plain(light):
            return None
        steps.append(_Step(light, following[0], ranks[unit.index]))
        following = light.outlets[0].queues
    made[unit] = steps
    for step, after in pairwise(steps):
        step.following = after
    if following:
        onward = _first_step(following[0], ranks, lights, made) if len(following) == 1 else None
        if onward is None or not onward.urgency < steps[-1].urgency:
            return None
        steps[-1].following, steps[-1].rests = onward, True
    return steps[0]


def _is_plain(light: LightUnit) -> bool:
    """Does a tuple take the same time at the operator always, and leave as one tuple or not at all?"""
    return light.cost > 0.0 and not light.set_up and not light.node.multiplies


def _all_steps(entries: Sequence[Sequence[_Step]]) -> list[_Step]:
    found: dict[_Step, None] = {}
    for steps in entries:
        for first in steps:
            step: _Step | None = first
            while step is not None:
                found[step] = None
                step = step.following
    return list(found)
