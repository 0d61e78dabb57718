"""A text file, compressed or not, that can be read from a byte on, if it is still the same file."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from headgate.errors import ApplicationError

HEAD = 4096  # bytes at the beginning by which a file is known again
_CHUNK = 1 << 20
_REMEDY = "put the file back as it was, or remove the checkpoint to read it from the beginning"


class Text(Protocol):
    """What a reader of text reads."""

    def check(self, at: Mapping[str, Any] | None) -> None:
        """Raise what `open` would raise; it is called when reading begins, which may be later."""

    def open(self, at: Mapping[str, Any] | None = None) -> io.BufferedReader:
        """The text from a place on; None: from the beginning."""
        ...

    def place(self, byte: int, line: int) -> dict[str, Any]:
        """The place of a byte at which a line begins."""
        ...


class StoredText:
    """A place in it is a mapping: the `byte` (of the text, not of the compressed file), the `line` that begins there,
    and a digest of the file's `head`."""

    def __init__(self, path: Path, error_place: str) -> None:
        self._path = path
        self._error_place = error_place
        self._head: bytes | None = None  # read when it is needed

    def check(self, at: Mapping[str, Any] | None) -> None:
        """See `Text`."""
        if at is not None:
            self.open(at).close()

    def open(self, at: Mapping[str, Any] | None = None) -> io.BufferedReader:
        """The text from a place on; None: from the beginning.

        ApplicationError: it has another beginning than before, or ends before that place.
        """
        file = self._open()
        if at is None:
            return file
        found = file.read(min(HEAD, at["byte"]))
        if _digest(found) != at["head"]:
            whole = len(found) == min(HEAD, at["byte"])
            raise self._changed("has another beginning" if whole else "is shorter")
        if not _goes_to(file, at["byte"], len(found)):
            raise self._changed("is shorter")
        return file

    def place(self, byte: int, line: int) -> dict[str, Any]:
        """The place of a byte at which a line begins."""
        if self._head is None:
            with self._open() as file:
                self._head = file.read(HEAD)
        return {"byte": byte, "line": line, "head": _digest(self._head[:byte])}

    def _open(self) -> io.BufferedReader:
        return io.BufferedReader(pa.input_stream(str(self._path), compression="detect"))

    def _changed(self, how: str) -> ApplicationError:
        return ApplicationError(self._error_place, f"{self._path} {how} than when the run was interrupted", _REMEDY)


def _goes_to(file: io.BufferedReader, byte: int, now: int) -> bool:
    """Go from the byte `now` on to a later one; False: the text ends before it."""
    if file.seekable():
        long_enough = file.seek(0, io.SEEK_END) >= byte
        file.seek(byte)
        return long_enough
    while now < byte and (chunk := file.read(min(byte - now, _CHUNK))):  # compressed text has to be read
        now += len(chunk)
    return now == byte


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:16]
