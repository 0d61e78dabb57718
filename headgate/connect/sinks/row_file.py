"""A file of rows that never ends in the middle of one, whatever the disk does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import SEEK_END, FileIO
from pathlib import Path

from headgate.connect.sinks.base import CannotResume


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make errors name the file: those of `open` do so, those of `write` do not."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


class RowFile:
    """Replaces a file and appends rows to it. Rows that cannot be written in full are not written at all.

    With `size` it goes on after the first so many bytes of the file, and cuts off the others.
    """

    def __init__(self, path: Path, size: int | None = None) -> None:
        self._path = path
        self._file = FileIO(path, "w") if size is None else _cut(path, size)
        self.size = size or 0  # bytes of whole rows

    def write(self, text: bytes) -> None:
        """Append some rows. OSError, which names the file: the disk is full, or gone; the file ends where it
        ended before."""
        left = memoryview(text)
        try:
            with naming(self._path):
                while left:
                    left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):  # what went wrong first is what matters
                self._file.truncate(self.size)
                self._file.seek(self.size)
            raise
        self.size += len(text)

    def sync(self) -> None:
        """Wait until the file is on its disk."""
        with naming(self._path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed


def _cut(path: Path, size: int) -> FileIO:
    try:
        file = FileIO(path, "r+")
    except FileNotFoundError as error:
        raise CannotResume(f"{path} is not there any more; {size} bytes were written to it") from error
    there = file.seek(0, SEEK_END)
    if there < size:
        file.close()
        raise CannotResume(f"{path} has only {there} bytes; {size} were written to it")
    file.truncate(size)
    file.seek(size)
    return file
