"""Rows that a source puts aside: counted, the first few logged, each passed to the dead letters."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from headgate.errors import RowText

_log = logging.getLogger("headgate.source")
_MOST_LINES = 5
_LONGEST = 80  # characters of a value

# Where a row is: the line of its file; of a message, its topic, partition and offset.
Position = int | str

# Called with the position of a row, its text, the reason, and the kind of reason.
OnReject = Callable[[Position, str, str, str], None]


class Reject(NamedTuple):
    """Why a row is put aside: the column and value that were wrong (no column: the whole row)."""

    column: str | None
    value: object
    problem: str
    kind: str = "malformed"

    @property
    def shown(self) -> str:
        """The value, cut to a length that people read."""
        text = str(self.value)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


class Rejects:
    """The rows of one file or topic that were put aside; the run goes on without them."""

    def __init__(self, file: str) -> None:
        self.count = 0
        self.quiet = False  # only count: another source will read the same rows
        self.on_reject: OnReject | None = None
        self._summarized = False
        self._file = file

    def add(self, position: Position, reject: Reject, row: str) -> None:
        """Put one row aside: where it begins, what is wrong with it, and its text."""
        self.count += 1
        if self.quiet:
            return
        part = f"column {reject.column}: " if reject.column else ""
        if self.on_reject is not None:
            shown = f"{reject.shown!r} " if reject.column else ""
            self.on_reject(position, row, f"{part}{shown}{reject.problem}", reject.kind)
        if self.count > _MOST_LINES:
            if self.count == _MOST_LINES + 1:
                _log.warning("%s: further malformed rows are only counted", self._file)
            return
        where = (f"line {position}" if isinstance(position, int) else position) + (
            f", column {reject.column}" if reject.column else ""
        )
        value = RowText(repr(reject.shown))
        _log.warning("%s, %s: %s %s; the row is put aside", self._file, where, value, reject.problem)

    def summarize(self) -> None:
        """Log once how many there were; called at the end of the file, or when it is closed before that."""
        if self.count > _MOST_LINES and not self._summarized and not self.quiet:
            self._summarized = True
            _log.warning("%s: %d malformed rows were put aside", self._file, self.count)
