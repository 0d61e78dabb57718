"""Sinks that write nothing: results kept in memory, or only counted."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headgate.connect.sinks.base import Shape

MEMORY_ROWS = 100_000  # only the newest rows are kept, because runs last for months


class MemorySink:
    """Keeps the newest `limit` rows (None: all), readable from any thread."""

    whole = False  # are these the rows of a relation as it stands, rather than one result after another?

    def __init__(
        self, shape: Shape, limit: int | None = None, resume: Any = None, content: Sequence[pa.Table] | None = None
    ) -> None:
        self.rows = 0 if resume is None else resume["rows"]
        self.mark = secrets.token_hex(4)  # tells it from other sinks, also from those of an earlier process
        self._shape = shape
        self._limit = limit
        self._kept: deque[pa.Table] = deque(content or ())
        self._left_out = 0 if resume is None else resume["left_out"]  # rows of the oldest table that are not kept
        self._kept_rows = sum(table.num_rows for table in self._kept) - self._left_out
        self._changed = threading.Condition()
        self._closed = False
        self._drop_beyond_limit()

    @property
    def position(self) -> dict[str, int]:
        """See `base.position_of`."""
        return {"rows": self.rows, "left_out": self._left_out}

    @property
    def content(self) -> list[pa.Table] | None:
        """See `base.content_of`. Few tables, and mostly the same as last time: a checkpoint writes only the others.

        Each is at least twice as large as the next, so a row is copied as often as the rows double.
        """
        with self._changed:
            parts: list[list[pa.Table]] = []
            for table in self._kept:
                parts.append([table])
                while len(parts) > 1 and _rows(parts[-2]) < 2 * _rows(parts[-1]):
                    last = parts.pop()
                    parts[-1] += last
            self._kept = deque(pa.concat_tables(part).combine_chunks() if part[1:] else part[0] for part in parts)
            return list(self._kept) or None

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
        self._drop_beyond_limit()

    def _drop_beyond_limit(self) -> None:
        """Leave out the oldest rows. Their table stays whole: without them, it would be new to a checkpoint."""
        if self._limit is None or self._kept_rows <= self._limit:
            return
        self._left_out += self._kept_rows - self._limit
        self._kept_rows = self._limit
        while self._left_out >= self._kept[0].num_rows:
            self._left_out -= self._kept.popleft().num_rows

    def tables(self) -> list[pa.Table]:
        """What was kept, oldest first."""
        with self._changed:
            return self._newest(self._kept_rows)

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


def _rows(tables: Sequence[pa.Table]) -> int:
    return sum(table.num_rows for table in tables)


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
