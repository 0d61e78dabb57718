"""Finds the row that makes calls fail, by halving the input call after call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headgate.plan.model import Edge
from headgate.scheduling.reference import Rows


class SuspectRows:
    """How many rows at the head of each queue are suspect: one of them made a call fail.

    A failed call puts its rows back, and the next one takes half of them. A call that succeeds clears the rows it took,
    so the bad row is among the rest. After about log2(rows) calls it is alone. These are ordinary calls: the rows
    before it are processed as usual, and other units run in between.
    """

    def __init__(self) -> None:
        self._rows: dict[Edge, int] = {}

    def among(self, edges: Iterable[Edge]) -> bool:
        """Is any row of these queues suspect?"""
        return not self._rows.keys().isdisjoint(edges)

    def most(self, edge: Edge) -> int | None:
        """How many rows the next call may take from a queue; None: any number."""
        rows = self._rows.get(edge)
        return None if rows is None else max(1, rows // 2)

    def failed(self, inputs: Mapping[Edge, Rows]) -> None:
        """A call with this input failed, and the input is back in the queues."""
        self._rows.update({edge: table.num_rows for edge, table in inputs.items()})

    def clear(self, inputs: Mapping[Edge, Rows]) -> None:
        """A call took these rows from the head of their queues. Report those that go back with `failed`, after this."""
        for edge, table in inputs.items():
            left = self._rows.pop(edge, 0) - table.num_rows
            if left > 0:
                self._rows[edge] = left
