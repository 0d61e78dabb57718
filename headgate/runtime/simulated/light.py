"""Light units: those for which a call with one tuple needs no planning."""

from __future__ import annotations

import numpy as np

from headgate.control.monitor import Monitor
from headgate.flow.board import Board
from headgate.flow.units import Unit
from headgate.plan.application import SimulatorSettings
from headgate.runtime.simulated.draws import Item
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.network import Network, Node, Outlet


class LightUnit:
    """A unit of one operator with one input, at a cost known beforehand.

    A call with one tuple is then: take it, wait, hand out what comes of it. That is just what a planned call does; only
    the lists for many tuples, several operators and stops are spared. `direct`: the tuple itself is the result, so
    that the engine only notes when it was finished.
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
        "taps",
    )

    def __init__(self, node: Node, outlets: tuple[Outlet, ...], set_up: float) -> None:
        self.node = node
        self.queue = node.queues[0]
        self.outlets = outlets
        self.set_up = set_up  # seconds
        self.cost = node.cost
        self.direct = node.passes_all and not outlets[0].queues
        self.taps = outlets[0].taps if self.direct else ()
        self.results = len(self.taps)
        self.ends: list[float] = []  # direct: of the tuples that the counters do not know of yet
        self.latencies: list[float] = []

    def finish(self, item: Item, now: float, board: Board, ledger: Ledger) -> int:
        """Hand out what comes of a tuple; returns the number of results."""
        node, results = self.node, 0
        node.processed += 1
        ledger.times.append(now)
        ledger.changes.append(-self.queue.item_bytes)
        for outlet, (_, outputs) in zip(self.outlets, node.draw([now], [item]), strict=True):
            for output in outputs:
                node.out += 1
                if outlet.queues:
                    ledger.times.append(now)
                    ledger.changes.append(outlet.held_bytes)
                for queue in outlet.queues:
                    queue.node.entered += 1
                    queue.append(output)
                    board.wake(queue.gate)
                for tap in outlet.taps:
                    tap.times.append(now)
                    tap.latencies.append(now - output[0])
                    results += 1
        return results

    def end(self, item: Item, board: Board, ledger: Ledger) -> int:
        """A tuple is finished now; returns the number of results. The engine's loop does the same by hand."""
        if not self.direct:
            return self.finish(item, board.now, board, ledger)
        self.ends.append(board.now)
        self.latencies.append(board.now - item[0])
        return self.results

    def stop(self, item: Item, spent: float, left: float, board: Board) -> None:
        """An arrival stops the call: its tuple goes back to the head of the queue and keeps what it was given."""
        queue, node = self.queue, self.node
        queue.appendleft(item)
        if spent > 0.0:
            node.partial, node.left, node.spent = queue, left, spent
            board.spend(queue.edge, spent)

    def resume(self, board: Board) -> tuple[float, float]:
        """A stopped tuple goes on: the seconds that it still needs, and those that it was given."""
        node, spent = self.node, self.node.spent
        node.partial, node.spent = None, 0.0
        board.spend(self.queue.edge, 0.0)
        return node.left, spent

    def flush(self, monitor: Monitor, ledger: Ledger) -> None:
        """Tell the counters of the tuples that went through directly since the last time."""
        done = len(self.ends)
        if done:
            self.node.processed += done
            self.node.out += done
            ledger.add_block(self.ends, np.full(done, -self.queue.item_bytes))
            for tap in self.taps:
                monitor.results(tap.query, self.ends, self.latencies)
            self.ends.clear()
            self.latencies.clear()


class LightUnits(dict[Unit, LightUnit | None]):
    """The light form of each unit, or None; found out when a unit first runs. None for all unless `wanted`."""

    def __init__(self, network: Network, settings: SimulatorSettings, wanted: bool) -> None:
        super().__init__()
        self._network = network
        self._settings = settings
        self._wanted = wanted and not settings.noise and not settings.fluid

    def __missing__(self, unit: Unit) -> LightUnit | None:
        light = None
        if self._wanted and len(unit.edges) == len(unit.operators) == 1:
            node = self._network.nodes[unit.operators[0]]
            outlets = tuple(self._network.outlets[port] for port in node.ports)
            light = LightUnit(node, outlets, self._settings.switch_s + node.fixed)
        self[unit] = light
        return light

    def flush(self, monitor: Monitor, ledger: Ledger) -> None:
        for light in self.values():
            if light is not None:
                light.flush(monitor, ledger)
