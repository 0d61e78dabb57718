"""Rows that wait in a queue and among which one is known to make calls fail: found by halving, call after call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from headgate.plan.model import Edge


class SuspectRows:
    """How many rows at the head of each queue are suspect. The runtime holds its lock around every call.

    A call that fails puts its rows back; the next one takes half of them. One that goes well clears the rows it took,
    so the bad one is among the rest. After as many calls as the number of rows can be halved it stands alone. These
    are ordinary calls: rows before it are processed as ever, and other units have their turn between them.
    """

    def __init__(self) -> None:
        self._rows: dict[Edge, int] = {}

    def among(self, edges: Iterable[Edge]) -> bool:
        """Are rows of these queues suspect?"""
        return not self._rows.keys().isdisjoint(edges)

    def most(self, edge: Edge) -> int | None:
        """How many rows the next call may take from a queue; None: as many as it likes."""
        rows = self._rows.get(edge)
        return None if rows is None else max(1, rows // 2)

    def failed(self, inputs: Mapping[Edge, pa.Table]) -> None:
        """A call with this input failed, and the input is back in the queues."""
        self._rows.update({edge: table.num_rows for edge, table in inputs.items()})

    def clear(self, inputs: Mapping[Edge, pa.Table]) -> None:
        """These rows have been dealt with."""
        for edge, table in inputs.items():
            left = self._rows.pop(edge, 0) - table.num_rows
            if left > 0:
                self._rows[edge] = left
