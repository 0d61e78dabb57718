"""Files of tables, one after another, each as an Arrow stream; and which of these files are worth keeping.

A checkpoint writes its new tables into one file, and refers to those that earlier checkpoints wrote: tables never
change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
from pyarrow import ipc

LEAST_SHARE = 0.5  # of a file must still be needed, else what is needed of it is written again
MOST_PACKS = 32  # of one checkpoint; with more, the smallest are written again
_CHUNK = 1 << 20


class Place(NamedTuple):
    """Where a table is stored."""

    pack: str
    first: int  # byte
    bytes: int


class PackFile(NamedTuple):
    """A whole file of tables."""

    bytes: int
    checksum: str


class PackWriter:
    """Writes tables into a new file; a context. What could not be written in full is removed."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._file: BinaryIO = path.open("wb")
        self._hash = hashlib.sha256()
        self._options = ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
        self.bytes = 0

    def add(self, table: pa.Table) -> Place:
        """Append a table."""
        first = self.bytes
        with ipc.new_stream(pa.PythonFile(self, "w"), table.schema, options=self._options) as stream:
            stream.write_table(table)
        return Place(self._name, first, self.bytes - first)

    @property
    def whole(self) -> PackFile:
        """What is in the file."""
        return PackFile(self.bytes, self._hash.hexdigest())

    def __enter__(self) -> PackWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is not None:
            self._path.unlink(missing_ok=True)

    # What Arrow needs of a file

    closed = False

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        self._file.write(view)
        self._hash.update(view)
        self.bytes += view.nbytes
        return view.nbytes

    def flush(self) -> None:
        """See `io`."""

    def close(self) -> None:
        """See `io`; the end of a table is not the end of the file."""


def checksum(path: Path) -> PackFile:
    """What a file holds now."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return PackFile(size, digest.hexdigest())


def read_table(file: BinaryIO, place: Place) -> pa.Table:
    """A table of an open file."""
    file.seek(place.first)
    with ipc.open_stream(pa.py_buffer(file.read(place.bytes))) as stream:
        return stream.read_all()


def packs_to_write_again(
    sizes: Mapping[str, int], needed: Mapping[str, int], most: int = MOST_PACKS
) -> Collection[str]:
    """The files whose needed tables go into the new file.

    `sizes` has the bytes of each file, `needed` how many of them tables have that are still needed.
    """
    kept = {pack: size for pack, size in needed.items() if size >= LEAST_SHARE * sizes[pack]}
    smallest = sorted(kept, key=lambda pack: kept[pack])[: max(0, len(kept) - most + 1)]
    return {pack for pack in needed if pack not in kept} | set(smallest)
