"""Reads the files of a folder while lines are added to them, as `tail -F` does."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sources.file_troubles import FileTroubles
from headgate.connect.sources.formats import TextRows, line_cutter
from headgate.connect.sources.growing_file import GrowingFile, key_of
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.listing import Listing
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.errors import ApplicationError

log = logging.getLogger("headgate.source")
_START: Mapping[str, int] = {"byte": 0, "line": 1}


class _Followed:
    """A file, and how far it has been read."""

    def __init__(self, name: str, file: GrowingFile, at: Mapping[str, Any] | None) -> None:
        self.name = name
        self.file = file
        self.at: Mapping[str, Any] = at or _START
        self.rows: TextRows | None = None  # made when the first line is complete
        self.gone = False  # nobody adds lines to it any more
        self.broken = False  # it cannot be read, which has been reported

    @property
    def label(self) -> str:
        """Its name, or what tells it from the file that has its name now."""
        return f"{self.name} (gone, {self.file.key[1]})" if self.gone else self.name

    @property
    def place(self) -> dict[str, Any]:
        return self.placed(self.at["byte"], self.at["line"])

    def placed(self, byte: int, line: int) -> dict[str, Any]:
        return {"byte": byte, "line": line, "head": self.file.head(byte)}


class GrowingReader:
    """A `LiveReader` over files that grow: each is read as far as its lines are complete, then the next one by name.

    A place is one in each file, because any of them may grow. A file that is renamed is the same file; when another one
    takes its name, it is read to its end first.
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
        self._complete = line_cutter(settings)
        self._troubles = FileTroubles(context)
        self._next_look = 0.0
        self._files: dict[tuple[int, int], _Followed] = {}
        self._blocks: Iterator[PlacedRows] = iter(())
        self._last: PlacedRows | None = None  # of these, the one that was given last
        self._before: dict[str, Any] = {}  # places in files of an earlier run that were not seen yet
        if context.resume and context.resume["at"]:
            self._before = dict(context.resume["at"])

    @property
    def place(self) -> Any:
        """See `LiveReader`."""
        if self._last is not None:
            return self._last.place(self._last.table.num_rows)
        return self._before | {one.label: one.place for one in self._files.values()}

    @property
    def rejected(self) -> int:
        return self._troubles.rejected

    def read(self, now: float) -> PlacedRows | None:
        """See `LiveReader`."""
        while not self.ended:
            self._last = next(self._blocks, None)
            if self._last is not None:
                return self._last
            if now < self._next_look:
                return None
            self._look()
            lines = self._next_lines()
            if lines is None:
                self._next_look = now + float(self._settings["interval"])
                self.ended = not self._watch
                return None
            self._blocks = lines
        return None

    def close(self) -> None:
        """See `LiveReader`."""
        self.ended = True
        self._blocks = iter(())
        for one in list(self._files.values()):
            self._drop(one)

    # Which files there are ---------------------------------------------------------------------------------------

    def _look(self) -> None:
        found = self._found()
        if found is None:
            return
        for key, one in self._files.items():
            one.gone = key not in found
            if not one.gone and found[key] != one.name:
                self._log("%s is called %s now", one.name, found[key])
                one.name = found[key]
        new = {key: name for key, name in found.items() if key not in self._files}
        for key, name in sorted(new.items(), key=lambda item: item[1]):
            try:
                file = GrowingFile(self._listing.folder / name)
            except OSError as error:
                self._log("file %s cannot be opened, it is tried again: %s", name, error.strerror)
                continue
            self._files[key] = _Followed(name, file, self._known_place(name, file))
        self._report_lost()

    def _found(self) -> dict[tuple[int, int], str] | None:
        """The names of the files by what they keep when they are renamed. None: they cannot be listed."""
        names = self._troubles.names(self._listing)
        if names is None:
            return None
        found = {}
        for name in names:
            try:
                found[key_of(os.stat(self._listing.folder / name))] = name
            except OSError:
                continue  # removed in between
        return found

    def _known_place(self, name: str, file: GrowingFile) -> Mapping[str, Any] | None:
        """Where an earlier run stopped in this file, under whatever name. None: it was not read before."""
        for known in sorted(self._before, key=lambda one: one != name):
            at = self._before[known]
            if at["byte"] and at["byte"] <= file.size and at["head"] == file.head(at["byte"]):
                del self._before[known]
                return dict(at)
        return None

    def _report_lost(self) -> None:
        """Files of an earlier run that are not there any more."""
        for name, at in self._before.items():
            if at["byte"]:
                problem = "it was replaced, cut off or removed while nobody read it; lines after those read are lost"
                self._troubles.report(name, at["line"], problem)
        self._before = {}

    # What they have -----------------------------------------------------------------------------------------------

    def _next_lines(self) -> Iterator[PlacedRows] | None:
        """The rows of new lines of the first file that has some. None: no file has."""
        for one in sorted(self._files.values(), key=lambda one: (one.name, not one.gone)):
            try:
                lines = None if one.broken else self._lines_of(one)
            except (ApplicationError, OSError) as error:
                said = error.problem if isinstance(error, ApplicationError) else error.strerror
                self._troubles.report(one.name, one.at["line"], f"it cannot be read any further: {said}")
                one.broken, lines = True, None
            if lines is not None:
                return lines
            if one.gone:
                if not one.broken:
                    self._log("%s is gone, and was read to its end", one.name)
                self._drop(one)
        return None

    def _lines_of(self, one: _Followed) -> Iterator[PlacedRows] | None:
        if one.file.size < one.at["byte"]:
            self._troubles.report(one.name, one.at["line"], "it was cut off; it is read from its beginning again")
            one.at, one.rows = _START, None
        piece = one.file.read(one.at["byte"], self._complete, last=one.gone or not self._watch)
        if not piece:
            return None
        if one.rows is None:
            at = one.at if one.at["byte"] else None
            head = one.file.read(0, self._complete, last=True) if at else piece
            path = Path(one.name)
            place = f"{self._context.place}.path"
            one.rows = TextRows(path, self._columns, self._settings, place, self._limits, head, at)
            self._troubles.begin(one.name, one.rows.rejects)
        return self._placed(one, one.rows, piece)

    def _placed(self, one: _Followed, rows: TextRows, piece: bytes) -> Iterator[PlacedRows]:
        others = {other.label: other.place for other in self._files.values() if other is not one}
        for block in rows.read(piece):
            yield PlacedRows(block.table, partial(_place, one, others, block))
        assert rows.at is not None
        one.at = rows.at

    def _drop(self, one: _Followed) -> None:
        if one.rows is not None:
            self._troubles.end(one.rows.rejects)
        one.file.close()
        self._files = {key: other for key, other in self._files.items() if other is not one}

    def _log(self, text: str, *values: object) -> None:
        if not self._context.sample:
            log.info(f"stream %s, folder %s: {text}", self._context.stream.name, self._listing.folder, *values)


def _place(one: _Followed, others: Mapping[str, Any], block: PlacedRows, row: int) -> dict[str, Any]:
    at = block.place(row)
    return {**others, one.label: one.placed(at["byte"], at["line"])}
