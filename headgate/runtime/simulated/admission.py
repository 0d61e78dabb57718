"""Admits arrivals, in order of time, into the queues that read their streams."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.monitor import Monitor
from headgate.plan.operators.base import Port
from headgate.runtime.simulated.call_completion import ResultEvent
from headgate.runtime.simulated.network import Network, Outlet
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SynchronizedQueue
from headgate.runtime.simulated.selectivity import Item
from headgate.runtime.simulated.sources import MergedArrivals
from headgate.scheduling.board import Board
from headgate.scheduling.units import Unit


class Admission:
    """Loads arrivals block by block and admits them one by one. Arrivals after `end` are left out."""

    def __init__(
        self,
        network: Network,
        arrivals: MergedArrivals,
        board: Board,
        monitor: Monitor,
        memory: QueueMemory,
        end: float,
        results: list[ResultEvent] | None,
    ) -> None:
        self.outlets = [network.outlets[Port(name)] for name in network.plan.streams]
        self._readers = [network.readers[name] for name in network.plan.streams]
        self._synchronized = {
            at: queues
            for at, outlet in enumerate(self.outlets)
            if (queues := [queue for queue in outlet.queues if isinstance(queue, SynchronizedQueue)])
        }  # by stream
        self._steps = [queue for queue in network.queues.values() if isinstance(queue, SynchronizedQueue)]
        self._ended: set[int] = set()  # streams whose end is known
        self._ends: list[tuple[int, int]] = []  # the last tuples of streams in this block: (position, stream)
        self._held = np.array([outlet.queued_bytes for outlet in self.outlets])
        self._logs = [(log, list(network.plan.streams).index(log.stream)) for log in network.logs]
        self._arrivals = arrivals
        self._board = board
        self._monitor = monitor
        self._memory = memory
        self._end = end
        self._results = results
        self._before = 0  # tuples of the blocks before this one
        self._counted = 0  # tuples of this block that the counters include
        self._next = 0
        self._times: list[float] = [math.inf]
        self._items: list[Item] = []
        self._targets: list[Outlet] = []
        self._streams = np.zeros(0, dtype=np.intp)
        self.next_time = math.inf  # when the next tuple enters
        self.cut_off = False  # did the end of the run keep arrivals out?
        self.fed: list[Unit] | None = None  # the units that got input; kept only for preemptive policies
        self._load()

    def admit(self, before: float) -> None:
        """Put all tuples that enter before a time into their queues, and tell the board which units can now run."""
        board = self._board
        wake, fed, watches = board.wake, self.fed, board.policy.watches_queues
        while True:
            times, items, targets, at = self._times, self._items, self._targets, self._next
            time = times[at]
            while time < before:
                outlet = targets[at]
                for queue in outlet.queues:
                    queue.append(items[at])
                    waiting = len(queue)  # 0 if the tuple is held back; above 1 the readers are awake already
                    if waiting == 1 or (watches and waiting):
                        board.now = time
                        wake(queue.fed_units)
                    if fed is not None:
                        fed += queue.fed_units.units
                if outlet.taps:
                    self._straight_through(outlet, time, items[at])
                at += 1
                time = times[at]
            self._next, self.next_time = at, time
            board.arrived = self._before + at
            while self._ends and self._ends[0][0] < at:
                self._end_inputs(self._synchronized[self._ends.pop(0)[1]])
            if time < math.inf or not self._load():
                return

    @property
    def is_plain(self) -> bool:
        """Do all tuples enter when they arrive, and only into queues?"""
        plain = self._results is None and not self._arrivals.delays and not self._synchronized
        return plain and not any(outlet.taps for outlet in self.outlets)

    def blocks(self) -> Iterator[tuple[list[float], list[Item], list[int]]]:
        """All tuples still to enter, block by block, for a fast path: entry times, tuples, and stream numbers."""
        while True:
            first, last = self._next, len(self._items)
            self._next, self.next_time = last, math.inf
            if last > first:
                yield self._times[first:last], self._items[first:], self._streams[first:].tolist()
            self._board.arrived = self._before + last
            if not self._load():
                self.next_time = math.inf
                return

    @property
    def next_arrival(self) -> float:
        """The arrival of the next tuple to enter; every later one arrived then or afterwards."""
        return self._items[self._next][0] if self._next < len(self._items) else math.inf

    def count(self) -> None:
        """Bring the counters of operators and queries up to date."""
        new = np.bincount(self._streams[self._counted : self._next], minlength=len(self.outlets)).tolist()
        self._counted = self._next
        for outlet, queries, tuples in zip(self.outlets, self._readers, new, strict=True):
            for queue in outlet.queues if tuples else ():
                queue.node.entered += tuples
            for query in queries if tuples else ():
                self._monitor.arrived(query, tuples)

    def _end_inputs(self, queues: Iterable[SynchronizedQueue]) -> None:
        """Mark inputs whose stream has ended, so that no other input waits for them."""
        for queue in queues:
            queue.reach(math.inf)

    def end_all(self) -> bool:
        """All streams have ended and nothing is in flight: release what inputs still hold back. Was there anything?"""
        queues, self._steps = self._steps, []
        waited = not self.cut_off and any(queue.held for queue in queues)
        self._end_inputs(queues if waited else ())
        return waited

    def _note_ends(self, streams: NDArray[np.intp]) -> None:
        """Note the last tuples in this block of the streams that end with it."""
        for stream in sorted(self._arrivals.finished & self._synchronized.keys()) if not self.cut_off else ():
            if stream not in self._ended:
                self._ended.add(stream)
                mine = np.flatnonzero(streams == stream)
                self._ends.append((int(mine[-1]) if len(mine) else -1, stream))
        self._ends.sort()

    def _straight_through(self, outlet: Outlet, time: float, item: Item) -> None:
        """Record the results of queries that read a stream without any operator."""
        for tap in outlet.taps:
            tap.times.append(time)
            tap.latencies.append(time - item[0])
            if self._results is not None:
                self._results.append(ResultEvent(time, tap.query, *item))

    def _load(self) -> bool:
        """Load the next block; False at the end."""
        self.count()
        block = self._arrivals.next()
        if block is None:
            for queues in self._synchronized.values() if not self.cut_off else ():
                self._end_inputs(queues)
            return False
        kept = int(np.searchsorted(block.entries, self._end, side="right"))
        if kept < len(block.entries):
            block = block.first(kept)
            self._arrivals = MergedArrivals([])  # time only grows: nothing that comes after it counts
            self.cut_off = True
        for log, stream in self._logs:
            log.add(block.arrivals[block.streams == stream])
        self._before += self._next
        self._next = self._counted = 0
        self._streams = block.streams
        self._note_ends(block.streams)
        self._times = [*block.entries.tolist(), math.inf]
        self._items = list(zip(block.arrivals.tolist(), block.keys.tolist(), repeat(1.0)))
        self._targets = [self.outlets[stream] for stream in block.streams.tolist()]
        self.next_time = self._times[0]
        held = self._held[block.streams]
        self._memory.add_block(block.entries[held > 0], held[held > 0])
        return kept > 0
