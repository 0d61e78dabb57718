"""Settling accounts now and then: counters, memory, results, and the invariants that must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.light import LightUnits
from headgate.runtime.simulated.network import Network, Node
from headgate.scheduling.board import Board, InvariantError

Progress = Callable[[float, int], None]  # virtual time, tuples processed by all operators together
_PROGRESS_TUPLES = 100_000


class Accounts:
    """Checks that tuples are conserved, and folds what was collected into the monitor."""

    def __init__(
        self,
        network: Network,
        board: Board,
        entrance: Entrance,
        monitor: Monitor,
        ledger: Ledger,
        lights: LightUnits,
        progress: Progress | None = None,
    ) -> None:
        self._nodes = list(network.nodes.values())
        self._board = board
        self._entrance = entrance
        self._monitor = monitor
        self._ledger = ledger
        self._lights = lights
        self._progress = progress
        self._told = 0

    def settle(self, now: float, certain: float, flying: Counter[Node], running: int) -> None:
        """`certain`: no call in flight began before; `flying`: tuples that calls in flight took, by operator."""
        self._entrance.count()
        self._lights.flush(self._monitor, self._ledger)
        self._check(flying, running)
        self._ledger.settle(certain)
        self._monitor.fold()
        if self._progress is not None:
            done = sum(node.processed for node in self._nodes)
            if done - self._told >= _PROGRESS_TUPLES:
                self._told = done
                self._progress(now, done)

    def _check(self, flying: Counter[Node], running: int) -> None:
        for node in self._nodes:
            known = node.processed + node.queued + node.shed + flying[node]
            if node.entered != known:
                raise InvariantError(
                    f"{node.id}: {node.entered} tuples came in, but {node.processed} processed + {node.queued} "
                    f"queued + {node.shed} shed + {flying[node]} in calls = {known}"
                )
        if running > self._board.slots:
            raise InvariantError(f"{running} calls in {self._board.slots} slots")
