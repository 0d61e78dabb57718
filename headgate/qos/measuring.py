"""What a query got over a period: the measures that its promises are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headgate.metrics.latency import LatencyTotal
from headgate.plan.model import Plan, Query
from headgate.plan.quality import MeasureName

Measured = Mapping[MeasureName, float | None]  # None: not known


class Observed(Protocol):
    """What the optimizer sees of a run: its board."""

    @property
    def now(self) -> float: ...
    @property
    def plan(self) -> Plan: ...

    def results(self, queries: tuple[str, ...]) -> LatencyTotal:
        """The results of some queries so far."""
        ...

    def arrived_for(self, query: str) -> int:
        """Tuples that came so far on the streams of a query."""
        ...

    def queued_tuples(self, query: str) -> int:
        """How many tuples wait now at the operators of a query,"""
        ...

    def queued_bytes(self, query: str) -> float:
        """and how many bytes these are."""
        ...

    def oldest_waiting(self, query: str) -> float | None:
        """Since when the oldest tuple has waited that is not meant to wait, such as for the end of a window."""
        ...


class QueryMeter:
    """Measures one query, period by period."""

    def __init__(self, query: Query, board: Observed) -> None:
        self._query = query.name
        self._board = board
        self._at, self._before = board.now, board.results((query.name,))
        self._arrived, self._waiting = board.arrived_for(query.name), board.queued_tuples(query.name)
        self.arriving: float | None = None  # tuples per second in the last period,
        self.offered: float | None = None  # and with those that waited before it

    def measure(self) -> Measured:
        """What the query got since the last call.

        Without results its latency is at least the age of what waits, if anything waits that should have been
        processed; otherwise it is not known.
        """
        board, query = self._board, self._query
        now, total = board.now, board.results((query,))
        came, seconds = total.since(self._before), now - self._at
        self._at, self._before = now, total
        arrived, waiting = board.arrived_for(query), board.queued_tuples(query)
        if seconds > 0.0:
            self.arriving = (arrived - self._arrived) / seconds
            self.offered = self.arriving + self._waiting / seconds
        self._arrived, self._waiting = arrived, waiting
        oldest = board.oldest_waiting(query)
        latency = came.mean
        if latency is None and oldest is not None:
            latency = now - oldest
        throughput = came.results / seconds if seconds > 0.0 else None
        return {"latency": latency, "memory": board.queued_bytes(query), "throughput": throughput}
