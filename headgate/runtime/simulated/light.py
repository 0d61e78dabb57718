"""Light units: those for which a call with one tuple needs no planning."""

from __future__ import annotations

import numpy as np

from headgate.control.monitor import Monitor, Tap
from headgate.flow.board import Board
from headgate.flow.units import Unit
from headgate.plan.application import SimulatorSettings
from headgate.runtime.simulated.draws import Item
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.network import Network, Node, SimulatedQueue


class LightUnit:
    """A unit of one operator with one input and one output that passes every tuple, at a cost known beforehand.

    A call with one tuple is then: take it, wait, hand it out. That is just what a planned call does; only
    the lists for many tuples, several operators and stops are spared.
    """

    __slots__ = ("change", "cost", "ends", "latencies", "node", "outer", "queue", "results", "set_up", "taps")

    def __init__(
        self,
        node: Node,
        outer: tuple[SimulatedQueue, ...],
        taps: tuple[Tap, ...],
        set_up: float,
    ) -> None:
        self.node = node
        self.queue = node.queues[0]
        self.outer = outer
        self.taps = taps
        self.results = len(taps)
        self.set_up = set_up  # seconds
        self.cost = node.cost
        self.change = sum(queue.item_bytes for queue in outer) - self.queue.item_bytes
        self.ends: list[float] = []  # of the tuples that the counters do not know of yet
        self.latencies: list[float] = []

    def hand_on(self, item: Item, board: Board) -> None:
        """Put a finished tuple into the queues after the operator."""
        for queue in self.outer:
            queue.node.entered += 1
            queue.append(item)
            board.wake(queue.gate)

    def flush(self, monitor: Monitor, ledger: Ledger) -> None:
        """Tell the counters of the tuples that went through since the last time."""
        done = len(self.ends)
        if done:
            self.node.processed += done
            ledger.add_many(self.ends, np.full(done, self.change))
            for tap in self.taps:
                monitor.results(tap.query, self.ends, self.latencies)
            self.ends.clear()
            self.latencies.clear()


class LightUnits(dict[Unit, LightUnit | None]):
    """The light form of each unit, or None; found out when a unit first runs. None for all when `wanted` is not."""

    def __init__(self, network: Network, settings: SimulatorSettings, wanted: bool) -> None:
        super().__init__()
        self._network = network
        self._settings = settings
        self._wanted = wanted and not settings.noise and not settings.fluid

    def __missing__(self, unit: Unit) -> LightUnit | None:
        light = self._make(unit) if self._wanted and len(unit.operators) == 1 else None
        self[unit] = light
        return light

    def flush(self, monitor: Monitor, ledger: Ledger) -> None:
        for light in self.values():
            if light is not None:
                light.flush(monitor, ledger)

    def _make(self, unit: Unit) -> LightUnit | None:
        node = self._network.nodes[unit.operators[0]]
        if len(node.queues) > 1 or not node.passes_all:
            return None
        outlet = self._network.outlets[node.ports[0]]
        return LightUnit(node, outlet.queues, outlet.taps, self._settings.switch_s + node.fixed)
