"""A relation that can lose rows, shown as it stands: in a file that is replaced, or in memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.lock import locked
from headgate.connect.sinks.memory import MemorySink
from headgate.connect.sinks.output_files import first_file
from headgate.connect.sinks.relation_content import RelationContent
from headgate.connect.sinks.row_file import naming
from headgate.connect.sinks.text import TextFormat
from headgate.sql.schema import CHANGE

PERIOD_S = 1.0  # at least, from one version of the file to the next
SHARE = 10  # and at least this many times as long as writing the last version took
_ROWS = 1 << 16  # rows turned into text at a time


class RelationFile:
    """Keeps a file equal to what the relation holds; a folder gets a single part.

    A new version is written beside it and takes its place in one step, so readers see one version or the other. That
    happens within `write` and `refresh`, seldom enough to cost a small share of the time, and always on `flush` and
    `close`.
    """

    def __init__(
        self,
        path: Path,
        shape: Shape,
        text: TextFormat,
        now: Callable[[], float] = time.monotonic,
        application: str = "",
        resume: Any = None,
        content: pa.Table | None = None,
    ) -> None:
        self.rows = 0
        self._path = path
        self._shape = shape
        self._text = text
        self._now = now
        self._content = RelationContent()
        if resume is not None:
            self.rows = resume["rows"]
        if content is not None:
            self._content.restore(content, shape.names)
        self._lock = threading.Lock()  # `refresh` comes from any thread
        self._stale = True
        self._closed = False
        self._due = 0.0
        self._output = locked(path, application)
        with self._output.released_on_failure():
            self._file = Path(os.path.realpath(first_file(path, text.endings)))  # a link stays a link
            self._replace()
        self._due = 0.0  # the first results show at once

    @property
    def position(self) -> dict[str, int]:
        """See `base.position_of`; the file is written again, from the content."""
        return {"rows": self.rows}

    @property
    def content(self) -> pa.Table | None:
        """See `base.content_of`."""
        with self._lock:
            return self._content.state()

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        if self._closed:
            raise ValueError(f"the sink {self._path} is closed")
        with self._lock:
            self._content.add(self._shape(table), table.column(CHANGE))
            self.rows += table.num_rows
            self._stale = True
        self.refresh()

    def refresh(self) -> None:
        """See `Sink`."""
        with self._lock:
            if not self._closed and self._now() >= self._due:
                self._replace()

    def flush(self) -> None:
        """See `Sink`."""
        with self._lock:
            if not self._closed:
                self._replace()

    def close(self) -> None:
        """See `Sink`."""
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    self._replace()
                finally:
                    self._output.release()

    def _replace(self) -> None:
        if not self._stale:
            return
        began = self._now()
        beside = self._file.with_name(f".{self._file.name}.new")  # readers of folders skip such names
        try:
            with naming(self._file):
                self._write_to(beside)
            os.replace(beside, self._file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        self._stale = False
        ended = self._now()
        self._due = max(began + PERIOD_S, ended + SHARE * (ended - began))

    def _write_to(self, path: Path) -> None:
        held = self._content.table()
        with path.open("wb") as file:
            file.write(self._text.header(self._shape.names))
            for first in range(0, held.num_rows if held is not None else 0, _ROWS):
                assert held is not None
                file.write(self._text.lines(held.slice(first, _ROWS)))


class RelationInMemory(MemorySink):
    """All rows that the relation holds now, readable from any thread. `rows` counts its changes."""

    whole = True

    def __init__(self, shape: Shape, resume: Any = None, content: pa.Table | None = None) -> None:
        super().__init__(shape, resume=resume)
        self._content = RelationContent()
        if content is not None:
            self._content.restore(content, shape.names)

    @property
    def content(self) -> pa.Table | None:
        """See `base.content_of`."""
        with self._changed:
            return self._content.state()

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        shaped = self._shape(table)
        with self._changed:
            self._content.add(shaped, table.column(CHANGE))
            self.rows += table.num_rows
            self._changed.notify_all()

    def tables(self) -> list[pa.Table]:
        """One table of the rows as of now; none before the first change."""
        with self._changed:
            held = self._content.table()
        return [] if held is None else [held]

    def since(self, rows: int, wait_s: float = 0.0) -> tuple[int, list[pa.Table]]:
        """The rows as of now when there were changes after the first `rows`, and how many changes there were in all."""
        with self._changed:
            if self.rows <= rows and wait_s and not self._closed:
                self._changed.wait(wait_s)
            held = self._content.table() if self.rows > rows else None
            return self.rows, [] if held is None else [held]
