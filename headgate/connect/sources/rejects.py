"""Malformed rows: counted, and the first few told to the log."""

from __future__ import annotations

import logging
from collections.abc import Callable

_log = logging.getLogger("headgate.source")
_MOST_LINES = 5
_LONGEST = 80  # characters of a value


class Rejects:
    """The rows of one file that were put aside; the run goes on without them."""

    def __init__(self, file: str, where: Callable[[int], str] = lambda record: f"line {record}") -> None:
        self.count = 0
        self.quiet = False  # count only, for a reader of what will be read again
        self._summarized = False
        self._file = file
        self._where = where

    def add(self, record: int, column: str | None, value: object, problem: str) -> None:
        """Put one row aside: its record number, the column and value that were wrong (or the whole row)."""
        self.count += 1
        if self.count > _MOST_LINES or self.quiet:
            return
        text = str(value)
        shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
        part = f", column {column}" if column else ""
        _log.warning("%s, %s%s: %r %s; the row is put aside", self._file, self._where(record), part, shown, problem)
        if self.count == _MOST_LINES:
            _log.warning("%s: further malformed rows are only counted", self._file)

    def summarize(self) -> None:
        """Say once how many there were; called at the end of the file and when it is closed before."""
        if self.count > _MOST_LINES and not self._summarized and not self.quiet:
            self._summarized = True
            _log.warning("%s: %d malformed rows were put aside", self._file, self.count)
