"""Reads the files of a folder, each once, in the order of their names."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from headgate.connect.sources.file_troubles import FileTroubles
from headgate.connect.sources.files import Reader
from headgate.connect.sources.formats import make_reader
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.listing import Listing
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.errors import ApplicationError

log = logging.getLogger("headgate.source")
_WATCHED = 16  # files read last: it is noticed if they change afterwards


class _Open(NamedTuple):
    """The file that is read."""

    name: str
    reader: Reader
    blocks: Iterator[PlacedRows]
    stamp: tuple[int, int] | None  # its size and time of change when it was opened


class FolderFiles:
    """A `LiveReader` over files that are complete when they appear.

    The order is that of names, because names stay as they are: times of change do not survive a copy, and two files may
    have the same. So a place needs no list of files: it is the file that is read and a place in it, or the name of the
    last one. A file that comes after one with a later name was read is not read any more, which is reported.
    """

    def __init__(
        self,
        listing: Listing,
        columns: pa.Schema,
        settings: Mapping[str, Any],
        limits: Sequence[Limit],
        context: SourceContext,
        watch: bool,
    ) -> None:
        self.ended = False
        self._listing = listing
        self._columns = columns
        self._settings = settings
        self._limits = limits
        self._context = context
        self._watch = watch
        self._troubles = FileTroubles(context)
        self._next_look = 0.0
        self._done = ""  # the name of the last file that was read
        self._seen: set[str] | None = None  # names up to it; None: before the first look
        self._waiting: deque[str] = deque()  # names after it
        self._read_last: deque[tuple[str, tuple[int, int] | None]] = deque(maxlen=_WATCHED)
        self._open: _Open | None = None
        self._ahead: PlacedRows | None = None  # of the open file: only so it is known which block is the last
        place: Mapping[str, Any] = (context.resume["at"] if context.resume else None) or {}
        self._done = place.get("after", "")
        if "file" in place:
            self._done = place["file"]
            self._begin(place["file"], place["at"])

    @property
    def place(self) -> Any:
        """See `LiveReader`."""
        if self._open is None or self._ahead is None:
            return {"after": self._done}
        return {"file": self._open.name, "at": self._ahead.place(0)}

    @property
    def rejected(self) -> int:
        return self._troubles.rejected

    def read(self, now: float) -> PlacedRows | None:
        """See `LiveReader`."""
        while self._ahead is None:
            if self.ended or not (self._waiting or self._look(now)):
                return None
            self._done = self._waiting.popleft()
            assert self._seen is not None
            self._seen.add(self._done)
            self._begin(self._done)
        assert self._open is not None
        block, name = self._ahead, self._open.name
        self._step()
        return PlacedRows(block.table, lambda row: {"file": name, "at": block.place(row)})

    def close(self) -> None:
        """See `LiveReader`."""
        self.ended = True
        self._ahead = None
        self._end()

    def _look(self, now: float) -> bool:
        """Look for files; are there new ones?"""
        if now < self._next_look:
            return False
        self._next_look = now + float(self._settings["interval"])
        names = self._troubles.names(self._listing)
        if names is None:
            return False
        before = {name for name in names if name <= self._done}
        if self._seen is None:
            self._seen = before
            if before and not self._context.sample:
                log.info("%s: goes on after %s; %d files up to it count as read", self._where, self._done, len(before))
        for name in sorted(before - self._seen):
            problem = f"it is not read, because it came when {self._done} had been read: names must be in order"
            self._troubles.report(name, 0, problem)
        self._seen = before
        self._notice_changes()
        self._waiting.extend(name for name in names if name > self._done)
        self.ended = not self._watch and not self._waiting
        return bool(self._waiting)

    @property
    def _where(self) -> str:
        return f"stream {self._context.stream.name}, folder {self._listing.folder}"

    def _begin(self, name: str, at: Any = None) -> None:
        path = self._listing.folder / name
        place = f"{self._context.place}.path"
        stamp = _stamp(path)  # before it is opened, so that no change goes unnoticed
        try:
            reader = make_reader(path, self._columns, self._settings, place, self._limits)
            self._troubles.begin(name, reader.rejects)
            self._open = _Open(name, reader, reader.blocks(at), stamp)
        except (ApplicationError, OSError, pa.ArrowException) as error:
            whole = "is left out" if at is None else "its rows after those that were read before the restart are lost"
            self._troubles.report(name, 0, f"{_said(error)}; {whole}")
            return
        self._step()

    def _step(self) -> None:
        """Read a block ahead. After the last one the file is done."""
        assert self._open is not None
        try:
            self._ahead = next(self._open.blocks, None)
        except (ApplicationError, OSError, pa.ArrowException) as error:
            self._ahead = None
            self._troubles.report(self._open.name, 0, f"{_said(error)}; the rows after those that were read are lost")
        if self._ahead is None:
            self._end()

    def _end(self) -> None:
        if self._open is not None:
            self._troubles.end(self._open.reader.rejects)
            self._read_last.append((self._open.name, self._open.stamp))
            self._open = None

    def _notice_changes(self) -> None:
        """A file that changes after it was opened was not complete: rows may be missing."""
        for _ in range(len(self._read_last)):
            name, stamp = self._read_last.popleft()
            now = _stamp(self._listing.folder / name)
            if now is None:
                continue  # moved away: it has been read
            if now == stamp:
                self._read_last.append((name, stamp))
            else:
                remedy = "give files their name when they are complete, or say grows: true"
                self._troubles.report(name, 0, f"it has changed since it was opened, rows may be missing; {remedy}")


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _said(error: Exception) -> str:
    return error.problem if isinstance(error, ApplicationError) else " ".join(str(error).split())
