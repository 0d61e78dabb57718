"""Sinks that write nothing: results kept in memory, or only counted."""

from __future__ import annotations

from collections import deque

import pyarrow as pa

from headgate.connect.sinks.base import Shape


class MemorySink:
    """Keeps results for whoever asks: all of them, or the newest tables with at least `limit` rows."""

    def __init__(self, shape: Shape, limit: int | None = None) -> None:
        self.rows = 0
        self._shape = shape
        self._limit = limit
        self._kept: deque[pa.Table] = deque()
        self._kept_rows = 0

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        self.rows += table.num_rows
        if not table.num_rows:
            return
        self._kept.append(self._shape(table))
        self._kept_rows += table.num_rows
        while self._limit is not None and self._kept_rows - self._kept[0].num_rows >= self._limit:
            self._kept_rows -= self._kept.popleft().num_rows

    def tables(self) -> list[pa.Table]:
        """What was kept, oldest first."""
        return list(self._kept)

    def refresh(self) -> None:
        """See `Sink`."""

    def flush(self) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`; the results stay."""


class NoneSink:
    """Counts results and forgets them."""

    def __init__(self) -> None:
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        self.rows += table.num_rows

    def refresh(self) -> None:
        """See `Sink`."""

    def flush(self) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
