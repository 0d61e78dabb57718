"""A file to which lines are added while it is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from headgate.connect.sources.records import LONGEST

HEAD = 4096  # bytes at the beginning by which a file is known again
_CHUNK = 1 << 22  # bytes read at a time; more only for a longer line


class GrowingFile:
    """An open file. It stays readable when it is renamed or removed. OSError: it cannot be opened or read."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY)
        self.key = key_of(os.fstat(self._fd))
        self._head = b""

    @property
    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, byte: int, complete: Callable[[bytes], int], last: bool = False) -> bytes:
        """The next lines from a byte on; none while the next one has no end. `complete` says how much of a text that
        ends with a line can be read. `last`: nothing will be added any more, so what is there is a line."""
        size = _CHUNK
        while True:
            text = os.pread(self._fd, size, byte)
            if end := complete(text):
                return text[:end]
            if len(text) < size:
                return text if last else b""
            if size > LONGEST:
                return text  # far too long for a row
            size *= 4

    def head(self, byte: int) -> str:
        """A digest of the beginning, of what lies before a byte."""
        if len(self._head) < min(HEAD, byte):
            self._head = os.pread(self._fd, HEAD, 0)
        return hashlib.sha256(self._head[:byte]).hexdigest()[:16]

    def close(self) -> None:
        """A second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def key_of(found: os.stat_result) -> tuple[int, int]:
    """What a file keeps when it is renamed."""
    return found.st_dev, found.st_ino
