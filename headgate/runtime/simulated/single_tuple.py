"""Single-tuple units: units for which a call with one tuple needs no planning."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from headgate.application.checked import SimulatorSettings
from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.network import Network, NetworkNode, Outlet
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.selectivity import Item
from headgate.scheduling.board import Board, FedUnits
from headgate.scheduling.units import Unit


class SingleTupleUnit:
    """A unit of one operator whose cost is known in advance and the same for each of its inputs.

    A call with one tuple then takes the tuple, waits, and hands out the outputs. A planned call does the same, but also
    keeps lists for many tuples, several operators and stops. If `direct`, the tuple itself is the result, and the
    engine only records when it was finished.
    """

    __slots__ = (
        "cost",
        "direct",
        "ends",
        "latencies",
        "node",
        "outlets",
        "queue",
        "results",
        "set_up",
        "take",
        "taps",
    )

    def __init__(self, node: NetworkNode, outlets: tuple[Outlet, ...], set_up: float) -> None:
        self.node = node
        self.queue = node.queues[0]  # the source of the tuple in progress
        self.outlets = outlets
        self.set_up = set_up  # seconds
        self.cost = node.cost
        self.take: Callable[[], Item] = self.queue.popleft if node.joint is None else self._take_oldest
        self.direct = node.passes_all and not node.synchronized_readers and not outlets[0].queues and node.joint is None
        self.taps = outlets[0].taps if self.direct else ()
        self.results = len(self.taps)
        self.ends: list[float] = []  # if direct: of the tuples that the counters do not include yet
        self.latencies: list[float] = []

    def finish(self, item: Item, now: float, wake: Callable[[FedUnits], None], memory: QueueMemory) -> int:
        """Hand out the outputs of a tuple and wake the readers of their queues; returns the number of results."""
        node, results = self.node, 0
        node.processed += 1
        for queue in node.synchronized_readers:
            queue.reach(item[0])
        memory.times.append(now)
        memory.changes.append(-self.queue.item_bytes)
        if node.passes_all:
            return self._hand_out(self.outlets[0], item, now, wake, memory)
        for outlet, (_, outputs) in zip(self.outlets, node.draw([now], [item]), strict=True):
            for output in outputs:
                results += self._hand_out(outlet, output, now, wake, memory)
        return results

    def end(self, item: Item, now: float, wake: Callable[[FedUnits], None], memory: QueueMemory) -> int:
        """Finish a tuple; returns the number of results. The engine's loop does the same inline."""
        if not self.direct:
            return self.finish(item, now, wake, memory)
        self.ends.append(now)
        self.latencies.append(now - item[0])
        return self.results

    def stop(self, item: Item, spent: float, left: float, board: Board) -> None:
        """Stop the call for an arrival: its tuple goes back to the head of the queue and keeps the time spent on it."""
        queue, node = self.queue, self.node
        queue.appendleft(item)
        if spent > 0.0:
            node.partial, node.left, node.spent = queue, left, spent
            board.spend(queue.edge, spent)

    def resume(self, board: Board) -> tuple[Item, float, float]:
        """Resume a stopped tuple: returns the tuple, the seconds that it still needs, and those spent on it."""
        node, spent = self.node, self.node.spent
        assert node.partial is not None
        self.queue, node.partial, node.spent = node.partial, None, 0.0
        board.spend(self.queue.edge, 0.0)
        return self.queue.popleft(), node.left, spent

    def find_oldest(self) -> SimulatedQueue:
        """Choose the input whose first tuple is the oldest as the source of the tuple in progress."""
        assert self.node.joint is not None
        first = self.node.joint.first
        assert first is not None
        self.queue = first
        return first

    def _take_oldest(self) -> Item:
        return self.find_oldest().popleft()

    def _hand_out(
        self, outlet: Outlet, item: Item, now: float, wake: Callable[[FedUnits], None], memory: QueueMemory
    ) -> int:
        self.node.out += 1
        if outlet.queues:
            memory.times.append(now)
            memory.changes.append(outlet.queued_bytes)
        for queue in outlet.queues:
            queue.node.entered += 1
            queue.append(item)
            if queue:  # empty if it holds everything back for now
                wake(queue.fed_units)
        for tap in outlet.taps:
            tap.times.append(now)
            tap.latencies.append(now - item[0])
        return len(outlet.taps)

    def flush(self, monitor: Monitor, memory: QueueMemory) -> None:
        """Add the tuples that went through directly since the last time to the counters."""
        done = len(self.ends)
        if done:
            self.node.processed += done
            self.node.out += done
            memory.add_block(self.ends, np.full(done, -self.queue.item_bytes))
            for tap in self.taps:
                monitor.results(tap.query, self.ends, self.latencies)
            self.ends.clear()
            self.latencies.clear()


class SingleTupleUnits(dict[Unit, SingleTupleUnit | None]):
    """The single-tuple form of each unit, or None; looked up when a unit first runs. None for all unless `wanted`."""

    def __init__(self, network: Network, settings: SimulatorSettings, wanted: bool) -> None:
        super().__init__()
        self._network = network
        self._settings = settings
        self._wanted = wanted and not settings.noise and not settings.fluid

    def __missing__(self, unit: Unit) -> SingleTupleUnit | None:
        single = self.of_operator(unit.operators[0]) if len(unit.operators) == 1 else None
        self[unit] = single
        return single

    def of_operator(self, name: str) -> SingleTupleUnit | None:
        """A new single-tuple unit of an operator alone, or None."""
        node = self._network.nodes[name]
        if not self._wanted or node.side_costs is not None or node.sided_draw is not None:
            return None
        outlets = tuple(self._network.outlets[port] for port in node.ports)
        return SingleTupleUnit(node, outlets, self._settings.switch_s + node.fixed)

    def flush(self, monitor: Monitor, memory: QueueMemory) -> None:
        for single in self.values():
            if single is not None:
                single.flush(monitor, memory)

    def forget(self, running: Collection[Unit], monitor: Monitor, memory: QueueMemory) -> None:
        """The units are others now. Those that run still need their single-tuple form."""
        self.flush(monitor, memory)
        for unit in [unit for unit in self if unit not in running]:
            del self[unit]
