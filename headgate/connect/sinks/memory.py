"""Sinks that write nothing: results kept in memory, or only counted."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from typing import Any

import pyarrow as pa

from headgate.connect.sinks.base import Shape

MEMORY_ROWS = 100_000  # only the newest rows are kept, because runs last for months


class MemorySink:
    """Keeps the newest `limit` rows (None: all), readable from any thread."""

    whole = False  # are these the rows of a relation as it stands, rather than one result after another?

    def __init__(
        self, shape: Shape, limit: int | None = None, resume: Any = None, content: pa.Table | None = None
    ) -> None:
        self.rows = 0 if resume is None else resume["rows"]
        self.mark = secrets.token_hex(4)  # tells it from other sinks, also from those of an earlier process
        self._shape = shape
        self._limit = limit
        self._kept: deque[pa.Table] = deque()
        self._kept_rows = 0
        self._changed = threading.Condition()
        self._closed = False
        if content is not None:
            self._keep(content)

    @property
    def position(self) -> dict[str, int]:
        """See `base.position_of`."""
        return {"rows": self.rows}

    @property
    def content(self) -> pa.Table | None:
        """See `base.content_of`."""
        with self._changed:
            return pa.concat_tables(self._kept) if self._kept else None

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        if not table.num_rows:
            return
        shaped = self._shape(table)
        with self._changed:
            self.rows += table.num_rows
            self._keep(shaped)
            self._changed.notify_all()

    def _keep(self, shaped: pa.Table) -> None:
        self._kept.append(shaped)
        self._kept_rows += shaped.num_rows
        while self._limit is not None and self._kept_rows > self._limit:
            self._drop(self._kept_rows - self._limit)

    def _drop(self, rows: int) -> None:
        """Drop the oldest rows, at most those of one table."""
        oldest = self._kept.popleft()
        if oldest.num_rows > rows:
            self._kept.appendleft(oldest.slice(rows))
        self._kept_rows -= min(rows, oldest.num_rows)

    def tables(self) -> list[pa.Table]:
        """What was kept, oldest first."""
        with self._changed:
            return list(self._kept)

    def since(self, rows: int, wait_s: float = 0.0) -> tuple[int, list[pa.Table]]:
        """What came after the first `rows` results and is still kept, and how many came in all.

        Waits up to `wait_s` for the first of them.
        """
        with self._changed:
            if self.rows <= rows and wait_s and not self._closed:
                self._changed.wait(wait_s)
            return self.rows, self._newest(self.rows - rows)

    def empty(self) -> pa.Table:
        """A table without rows, in the columns of the results as far as they are known."""
        return self._shape.empty()

    def _newest(self, rows: int) -> list[pa.Table]:
        found: list[pa.Table] = []
        left = min(rows, self._kept_rows)
        for table in reversed(self._kept):
            if left <= 0:
                break
            found.append(table.slice(max(0, table.num_rows - left)))
            left -= table.num_rows
        return found[::-1]

    def refresh(self) -> None:
        """See `Sink`."""

    def flush(self) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`; the results stay."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class NoneSink:
    """Counts results and forgets them."""

    def __init__(self, resume: Any = None) -> None:
        self.rows = 0 if resume is None else resume["rows"]

    @property
    def position(self) -> dict[str, int]:
        """See `base.position_of`."""
        return {"rows": self.rows}

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        self.rows += table.num_rows

    def refresh(self) -> None:
        """See `Sink`."""

    def flush(self) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""
