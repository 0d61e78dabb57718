"""Lines that come from outside and cannot be asked for again: what sockets and the standard input share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol

from headgate.connect.sources.base import Source, stored_columns
from headgate.connect.sources.formats import LineFormat, TextRows, line_cutter
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.live import LiveSource
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.records import LONGEST
from headgate.connect.sources.rejects import Reject, Rejects

_TORN = "has no end: what it came from ended within it"
_TOO_LONG = f"is longer than {LONGEST} bytes"


class Feed(Protocol):
    """Where bytes come from."""

    @property
    def ended(self) -> bool: ...  # nothing more will come
    def take(self, now: float) -> bytes | None:
        """What has come; None: nothing at present. Empty: a text has ended, and another may begin."""

    def close(self) -> None:
        """Let go of it. A second call does nothing."""


class LineSource(SourceKind, LineFormat):
    """Rows that come as lines of JSON or of CSV, each line once. A row arrives when its line is read."""

    torn_counts: ClassVar[bool] = False  # is a last line without an end a row? Not where a broken connection cuts lines

    @property
    def live(self) -> bool:
        """See `SourceKind`."""
        return True

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`. A sample has no rows. There is no position: what was read cannot be read again."""
        feed = _Nothing() if context.sample else self._feed(context)
        return LiveSource(LineReader(feed, self.settings(), context, self.torn_counts), context, can_go_on=False)

    def _feed(self, context: SourceContext) -> Feed:
        raise NotImplementedError  # abstract


class LineReader:
    """A `LiveReader` over the lines of a feed. Each of its texts may begin with a header."""

    place = None

    def __init__(self, feed: Feed, settings: dict[str, Any], context: SourceContext, torn_counts: bool) -> None:
        self._feed = feed
        self._settings = settings
        self._context = context
        self._torn_counts = torn_counts
        self._complete = line_cutter(settings)
        self._columns = stored_columns(context.schema)
        self._limits = make_limits(context.stream)
        self._rest = b""  # the beginning of a line
        self._skipping = False  # is that line too long, and its beginning dropped?
        self._rows: TextRows | None = None  # of the present text; None: it has no whole line yet
        self._blocks: Iterator[PlacedRows] = iter(())
        self._rejects = Rejects(f"stream {context.stream.name}")  # of lines that are not read as rows
        self._rejects.on_reject = context.on_reject
        self._rejected = 0  # in texts that have ended

    @property
    def ended(self) -> bool:
        return self._feed.ended

    @property
    def rejected(self) -> int:
        return self._rejected + self._rejects.count + (self._rows.rejects.count if self._rows else 0)

    def read(self, now: float) -> PlacedRows | None:
        """See `LiveReader`."""
        while True:
            block = next(self._blocks, None)
            if block is not None:
                return block
            came = self._feed.take(now)
            if came is None:
                return None
            piece = self._whole_lines(came) if came else self._last_line()
            if piece:
                self._blocks = self._read(piece)
            if not came:
                self._blocks = iter(list(self._blocks))  # before the text is forgotten
                self._forget_text()

    def close(self) -> None:
        """See `LiveReader`."""
        self._feed.close()
        self._forget_text()

    def _read(self, piece: bytes) -> Iterator[PlacedRows]:
        if self._rows is None:
            context, path = self._context, Path(f"stream {self._context.stream.name}")
            self._rows = TextRows(path, self._columns, self._settings, context.place, self._limits, piece)
            self._rows.rejects.on_reject = context.on_reject
        return self._rows.read(piece)

    def _whole_lines(self, came: bytes) -> bytes:
        if self._skipping:
            _, end, came = came.partition(b"\n")
            self._skipping = not end
        text = self._rest + came
        end_of_lines = self._complete(text)
        self._rest = text[end_of_lines:]
        if len(self._rest) > LONGEST:
            self._refuse(_TOO_LONG)
            self._skipping = True
        return text[:end_of_lines]

    def _last_line(self) -> bytes:
        if self._rest and self._torn_counts:
            last, self._rest = self._rest + b"\n", b""
            return last
        if self._rest:
            self._refuse(_TORN)
        return b""

    def _refuse(self, problem: str) -> None:
        row, self._rest = self._rest.decode(errors="replace"), b""
        at = self._rows.at if self._rows else None
        self._rejects.add(at["line"] if at else 1, Reject(None, row, problem), row)

    def _forget_text(self) -> None:
        self._skipping = False
        if self._rows is not None:
            self._rejected += self._rows.rejects.count
            self._rows.rejects.summarize()
            self._rows = None


class _Nothing:
    """The feed of a sample."""

    ended = True

    def take(self, now: float) -> bytes | None:
        """See `Feed`."""
        return None

    def close(self) -> None:
        """See `Feed`."""
