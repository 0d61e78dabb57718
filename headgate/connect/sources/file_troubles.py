"""What goes wrong with whole files of a folder: each case is logged, counted and put among the dead letters."""

from __future__ import annotations

import logging

from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.listing import Listing
from headgate.connect.sources.rejects import Rejects

log = logging.getLogger("headgate.source")
KIND = "file"  # what their dead letters are called


class FileTroubles:
    """The files and rows that the reader of a folder puts aside."""

    def __init__(self, context: SourceContext) -> None:
        self.count = 0  # files that could not be read, or not to their end
        self._context = context
        self._rejects: list[Rejects] = []  # of files that are read
        self._done = 0  # rows of the others
        self._listed = True  # could the folder be listed, when that was last tried?

    @property
    def rejected(self) -> int:
        """Rows and files that were put aside."""
        return self.count + self._done + sum(one.count for one in self._rejects)

    def names(self, listing: Listing) -> list[str] | None:
        """The names of the files. None: the folder cannot be listed, which is reported when it begins."""
        try:
            names = listing.names()
        except OSError as error:
            if self._listed:
                self.report(str(listing.folder), 0, f"the folder cannot be listed: {error.strerror}; it is tried again")
            self._listed = False
            return None
        self._listed = True
        return names

    def begin(self, name: str, rejects: Rejects) -> None:
        """A file is read from now on: its rows that are put aside are reported with its name."""
        report = self._context.on_reject
        rejects.quiet = self._context.sample
        if report is not None:
            rejects.on_reject = lambda line, row, reason, kind: report(line, row, f"file {name}: {reason}", kind)
        self._rejects.append(rejects)

    def end(self, rejects: Rejects) -> None:
        """A file is not read any more."""
        self._rejects.remove(rejects)
        self._done += rejects.count
        rejects.summarize()

    def report(self, name: str, line: int, problem: str) -> None:
        """Something is wrong with a file, from a line on."""
        self.count += 1
        if self._context.sample:
            return
        log.error("stream %s, %s: %s", self._context.stream.name, name, problem)
        if self._context.on_reject is not None:
            self._context.on_reject(line, name, f"{name}: {problem}", KIND)
