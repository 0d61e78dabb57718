"""What happens at set times of a run, besides arrivals and calls: priorities change and selectivities are measured."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from headgate.application.checked import Change
from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.network import Network, NetworkNode
from headgate.scheduling.board import Board

MEASURE_EVERY_S = 0.1  # between two measurements of selectivities that change
WINDOW_S = 0.5  # a selectivity is measured over this time,
LEAST_TUPLES = 200  # or over this many tuples if they take longer


class TimedChanges:
    """The changes still to come. `next` is the time of the first one; `apply_due` makes those that are due."""

    def __init__(
        self, changes: Sequence[Change], varying: Sequence[str], network: Network, board: Board, monitor: Monitor
    ) -> None:
        self._changes = deque(sorted(changes, key=lambda change: change.at_s))
        self._network = network
        self._board = board
        self._monitor = monitor
        self._varying = [_VaryingOperator(network.nodes[name]) for name in varying]
        self._measure_at = MEASURE_EVERY_S if varying else math.inf
        self.next = math.inf
        self._find_next()

    def apply_due(self) -> None:
        """Make the changes that are due at the board's time."""
        now = self._board.now
        while self._changes and self._changes[0].at_s <= now:
            for name, priority in self._changes.popleft().priorities.items():
                plan = self._board.plan.with_priority(name, priority)
                self._board.set_classes(plan)
                self._monitor.set_plan(now, plan)
        if self._measure_at <= now:
            self._measure_at += MEASURE_EVERY_S
            for operator in self._varying:
                operator.measure(now, self._network)
            self._board.learned()
        self._find_next()

    def _find_next(self) -> None:
        change = self._changes[0].at_s if self._changes else math.inf
        self.next = min(change, self._measure_at)


class _VaryingOperator:
    """An operator whose selectivity changes, and its counters at the last measurements."""

    def __init__(self, node: NetworkNode) -> None:
        self._node = node
        self._seen: deque[tuple[float, int, float]] = deque([(0.0, 0, 0.0)])  # time, tuples in, tuples out

    def measure(self, now: float, network: Network) -> None:
        tuples, passed, seen = self._node.processed, float(self._node.out), self._seen
        while len(seen) > 1 and seen[1][0] <= now - WINDOW_S and tuples - seen[1][1] >= LEAST_TUPLES:
            seen.popleft()
        _, tuples_then, passed_then = seen[0]
        if tuples > tuples_then:
            network.stats.measured(self._node.id, (passed - passed_then) / (tuples - tuples_then))
        seen.append((now, tuples, passed))
