"""Brings counters, memory and results up to date now and then, and checks the invariants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from headgate.errors import InvariantError
from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.network import Network, NetworkNode
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.shedding import report_dropped
from headgate.runtime.simulated.single_tuple import SingleTupleUnits
from headgate.scheduling.board import Board
from headgate.scheduling.units import Unit

Progress = Callable[[float, int], None]  # virtual time, tuples processed by all operators together
_PROGRESS_TUPLES = 100_000


class Bookkeeper:
    """Checks that tuples are conserved, and passes what was collected on to the monitor."""

    def __init__(
        self,
        network: Network,
        board: Board,
        admission: Admission,
        monitor: Monitor,
        memory: QueueMemory,
        singles: SingleTupleUnits,
        progress: Progress | None = None,
    ) -> None:
        self._nodes = list(network.nodes.values())
        self._shedders = list(network.shedders.values())
        self._board = board
        self._admission = admission
        self._monitor = monitor
        self._memory = memory
        self._singles = singles
        self._progress = progress
        self._reported = 0

    def forget_units(self, running: Collection[Unit]) -> None:
        """The units are others now, except in calls that are `running`."""
        self._singles.forget(running, self._monitor, self._memory)

    def settle(self, now: float, certain: float, in_flight: Counter[NetworkNode], running: int) -> None:
        """Bring everything up to date and check it. No call in flight began before `certain`; `in_flight` counts the
        tuples that calls in flight have taken, by operator; `running` is the number of those calls."""
        self._admission.count()
        self._singles.flush(self._monitor, self._memory)
        self._check(in_flight, running)
        self._memory.settle(certain)
        report_dropped(self._shedders, self._monitor)
        self._monitor.fold()
        if self._progress is not None:
            done = sum(node.processed for node in self._nodes)
            if done - self._reported >= _PROGRESS_TUPLES:
                self._reported = done
                self._progress(now, done)

    def _check(self, in_flight: Counter[NetworkNode], running: int) -> None:
        for node in self._nodes:
            known = node.processed + node.queued + node.shed + in_flight[node]
            if node.entered != known:
                raise InvariantError(
                    f"{node.id}: {node.entered} tuples entered, but {node.processed} processed + {node.queued} "
                    f"queued + {node.shed} shed + {in_flight[node]} in calls = {known}"
                )
        if running > self._board.slots:
            raise InvariantError(f"{running} calls are running in {self._board.slots} slots")
