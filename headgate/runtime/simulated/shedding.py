"""Shedding in the simulator: queues of tolerant queries that may drop what comes.

A tuple has no values here, so every shedder is a random one: a hash of the tuple's key decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headgate.metrics.monitor import Monitor
from headgate.plan.model import Edge, Plan, Query
from headgate.plan.weighing import sheddable
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import InputQueue, SimulatedQueue
from headgate.runtime.simulated.selectivity import Item, mixed
from headgate.scheduling.shedder import share_of
from headgate.seeds import derived_seed

_MASK = (1 << 64) - 1


class KeyShedder:
    """What is dropped at one queue. Off until `set`."""

    def __init__(self, query: Query, edge: Edge, seed: int) -> None:
        self.query = query.name
        self.edge = edge
        self.dropped = 0  # that the monitor has not been told of yet
        self._salt = derived_seed(seed, "shed", edge.operator, str(edge.input)) & _MASK
        self._below = 0  # hashes below it are dropped
        self._note: Callable[[Item], None] = _nothing

    def connect(self, note: Callable[[Item], None]) -> None:
        """`note` is told of every tuple that is dropped."""
        self._note = note

    def set(self, extra: int) -> None:
        """As `Shedder.set`."""
        self._below = int(share_of(extra) * (_MASK + 1))

    def drops(self, item: Item) -> bool:
        """Is a tuple that comes now dropped?"""
        if not self._below or mixed(item[1] ^ self._salt) >= self._below:
            return False
        self.dropped += 1
        self._note(item)
        return True


def _nothing(item: Item) -> None:
    """Do nothing: the default before there is a simulation."""


class SheddingQueue(SimulatedQueue):
    """A queue with a shedder."""

    __slots__ = ("shedder",)
    shedder: KeyShedder

    def append(self, item: Item) -> None:
        if not self.shedder.drops(item):
            SimulatedQueue.append(self, item)

    def extend(self, items: Iterable[Item]) -> None:
        SimulatedQueue.extend(self, [item for item in items if not self.shedder.drops(item)])


class SheddingInputQueue(InputQueue):
    """The queue of one of several inputs, with a shedder."""

    __slots__ = ("shedder",)
    shedder: KeyShedder

    def append(self, item: Item) -> None:
        if not self.shedder.drops(item):
            InputQueue.append(self, item)

    def extend(self, items: Iterable[Item]) -> None:
        InputQueue.extend(self, [item for item in items if not self.shedder.drops(item)])


def key_shedders(plan: Plan, seed: int) -> dict[Edge, KeyShedder]:
    """A shedder for every queue of every query that may be shed."""
    return {
        edge: KeyShedder(query, edge, seed)
        for query in plan.queries.values()
        if sheddable(plan, query)
        for edge in plan.edges
        if edge.operator in query.operators
    }


def connect_shedders(
    shedders: Mapping[Edge, KeyShedder],
    queues: Mapping[Edge, SimulatedQueue],
    memory: QueueMemory,
    now: Callable[[], float],
) -> None:
    """Count what the shedders drop: at its operator, and no longer as queued."""

    def dropping_at(queue: SimulatedQueue) -> Callable[[Item], None]:
        def note(item: Item) -> None:
            queue.node.shed += 1
            memory.times.append(max(item[0], now()))
            memory.changes.append(-queue.item_bytes)

        return note

    for edge, shedder in shedders.items():
        shedder.connect(dropping_at(queues[edge]))


def report_dropped(shedders: Iterable[KeyShedder], monitor: Monitor) -> None:
    """Tell the monitor what was dropped since the last time."""
    for shedder in shedders:
        if shedder.dropped:
            monitor.shed(shedder.query, shedder.edge.operator, shedder.dropped)
            shedder.dropped = 0
