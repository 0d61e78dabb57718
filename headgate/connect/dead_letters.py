"""Dead letters: rows that were put aside, each with where it came from and why, one JSON object per line."""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headgate.connect.sinks.lock import OutputLock, locked
from headgate.connect.sinks.row_file import RowFile

log = logging.getLogger("headgate.source")

LONGEST = 1 << 20  # characters of a row; the rest of a longer one is left out


class DeadLetters:
    """Counts the letters of a run and writes them to `path`, created with the first one. Without a path, only counts.

    A run replaces the letters of the run before, unless it goes on from a checkpoint: then it adds to them. Letters
    that cannot be written are still counted, and that is logged once: good rows must not suffer. Any thread may write.
    """

    def __init__(self, path: Path | None = None, application: str = "") -> None:
        self.path = path
        self._application = application
        self._streams: Counter[str] = Counter()
        self._queries: Counter[str] = Counter()
        self._rows = 0
        self._guard = threading.Lock()
        self._lock: OutputLock | None = None
        self._file: RowFile | None = None
        self._works = path is not None
        self._resumes = False

    def begin(self, resumes: bool = False) -> None:
        """Remove the letters of the run before, unless this one `resumes` it; called when a run opens its outputs."""
        self._resumes = resumes
        if not resumes and self.path is not None and self.path.exists():
            with self._guard:
                self._try(self._clear)

    def put(
        self,
        kind: str,
        stream: str,
        position: int | str,
        row: Mapping[str, Any] | str,
        reason: str,
        query: str | None = None,
    ) -> None:
        """Put one row aside. `kind` is malformed, max_jump or failed; `position` the line of a row that never became
        a tuple, or the message (`topic-partition@offset`), else its number in the stream."""
        letter: dict[str, Any] = {"kind": kind, "stream": stream, "position": position}
        if query is not None:
            letter["query"] = query
        letter["reason"] = reason
        letter["row"] = row[:LONGEST] if isinstance(row, str) else row
        text = json.dumps(letter, ensure_ascii=False, default=str) + "\n"
        with self._guard:
            self._rows += 1
            self._streams[stream] += 1
            if query is not None:
                self._queries[query] += 1
            self._try(lambda: self._write(text.encode(errors="replace")))

    @property
    def rows(self) -> int:
        """How many rows were put aside."""
        return self._rows

    def report(self) -> dict[str, Any]:
        """The counts and the file, for a report."""
        with self._guard:
            written = str(self.path) if self._file is not None else None
            counts = {"streams": dict(self._streams), "queries": dict(self._queries)}
            return {"rows": self._rows, "path": written, **counts}

    def close(self) -> None:
        """End with the run; rows that are put aside later are only counted."""
        with self._guard:
            self._works = False
            if self._file is not None:
                self._file.close()
            if self._lock is not None:
                self._lock.release()

    def _write(self, text: bytes) -> None:
        if self._file is None:
            assert self.path is not None
            self._lock = self._lock or locked(self.path, self._application)
            self._file = RowFile(self.path, _whole_lines(self.path) if self._resumes and self.path.exists() else None)
        self._file.write(text)

    def _clear(self) -> None:
        assert self.path is not None
        lock = OutputLock(self.path, self._application)
        self.path.unlink(missing_ok=True)
        lock.release()

    def _try(self, write: Callable[[], None]) -> None:
        if not self._works:
            return
        try:
            write()
        except OSError as error:
            self._works = False
            log.error("dead letters are counted, but no longer written: %s", error)


def _whole_lines(path: Path) -> int:
    """How many bytes of a file are whole lines: a crash may have left a half one at the end."""
    end = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                end += len(line)
    return end
