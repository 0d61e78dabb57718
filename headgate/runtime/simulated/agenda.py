"""What happens at given times of a run, beside arrivals and calls: changed priorities, and looking at selectivities."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from headgate.application.checked import Change
from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.network import Network, Node
from headgate.scheduling.board import Board

LOOK_S = 0.1  # between two looks at selectivities that change
WINDOW_S = 0.5  # a selectivity is measured over so long,
LEAST_TUPLES = 200  # or over so many tuples if that takes longer


class Agenda:
    """Times at which something is to be done. `next` is the first of them; `work` does all that is due then."""

    def __init__(
        self, changes: Sequence[Change], varying: Sequence[str], network: Network, board: Board, monitor: Monitor
    ) -> None:
        self._changes = deque(sorted(changes, key=lambda change: change.at_s))
        self._network = network
        self._board = board
        self._monitor = monitor
        self._watched = [_Watched(network.nodes[name]) for name in varying]
        self._look_at = LOOK_S if varying else math.inf
        self.next = math.inf
        self._find_next()

    def work(self) -> None:
        """Do what is due at the board's time."""
        now = self._board.now
        while self._changes and self._changes[0].at_s <= now:
            for name, priority in self._changes.popleft().priorities.items():
                plan = self._board.plan.with_priority(name, priority)
                self._board.set_classes(plan)
                self._monitor.use(now, plan)
        if self._look_at <= now:
            self._look_at += LOOK_S
            for watched in self._watched:
                watched.look(now, self._network)
            self._board.learned()
        self._find_next()

    def _find_next(self) -> None:
        change = self._changes[0].at_s if self._changes else math.inf
        self.next = min(change, self._look_at)


class _Watched:
    """An operator whose selectivity changes, and what it had done at the last looks."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._seen: deque[tuple[float, int, float]] = deque([(0.0, 0, 0.0)])  # time, tuples in, tuples out

    def look(self, now: float, network: Network) -> None:
        tuples, passed, seen = self._node.processed, float(self._node.out), self._seen
        while len(seen) > 1 and seen[1][0] <= now - WINDOW_S and tuples - seen[1][1] >= LEAST_TUPLES:
            seen.popleft()
        _, tuples_then, passed_then = seen[0]
        if tuples > tuples_then:
            network.stats.measured(self._node.id, (passed - passed_then) / (tuples - tuples_then))
        seen.append((now, tuples, passed))
