"""The log of a pushed stream: rows on disk before they are accepted, until a checkpoint covers them.

A folder of files, each named by the number of its first row. A file begins with the stream's columns; then each push
is one record: its length, a checksum, the number of its first row, when it arrived, and its rows.
"""

from __future__ import annotations

import logging
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from headgate.connect.sinks.lock import OutputLock, locked
from headgate.errors import ApplicationError

log = logging.getLogger("headgate.source")

FILE_BYTES = 1 << 24  # a file that has as many is followed by a new one
_FRAME = struct.Struct("<II")  # bytes after it, and their CRC-32
_ABOUT = struct.Struct("<qqq")  # first row, arrival in microseconds, latest time of the stream in ticks
_NO_TIME = -(2**63)
sync_data = getattr(os, "fdatasync", os.fsync)  # the length of the file is part of it


class Entry(NamedTuple):
    """The rows of one push."""

    first: int  # number of the first row
    arrival_us: int
    reached: int | None  # the latest time of the stream's rows up to here, in ticks
    table: pa.Table

    @property
    def end(self) -> int:
        """The number of the row after them."""
        return self.first + int(self.table.num_rows)


class PushLog:
    """The log in a folder, open for writing; `append` and `sync` may be called by any thread, `read` by one.

    `first` is the number of the row that a run goes on with; None: with the first one in the log, or with `fresh` with
    none of them: they are deleted. ApplicationError: the folder has rows of other columns, or row `first` is not there
    anymore, or it is damaged elsewhere than at its end, where a crash leaves half a record: that is cut off.
    OutputInUse: another run has it.
    """

    def __init__(
        self, folder: Path, columns: pa.Schema, place: str, first: int | None = None, fresh: bool = False
    ) -> None:
        self._folder = folder
        self._columns = columns
        self._place = place
        self._lock: OutputLock = locked(folder, place)
        self._changed = threading.Condition()
        self._syncing = False
        self._broken: OSError | None = None
        with self._lock.released_on_failure():
            folder.mkdir(exist_ok=True)
            if fresh:
                self.remove()
            begin, last = self._check()
            self.end = begin if last is None else last.end  # the number of the row after those that were written
            self.first = begin if first is None else first
            if self.first < begin:
                problem = f"the log {folder} begins with row {begin}, and the run goes on with row {self.first}"
                raise ApplicationError(place, problem, "put its files back, or remove the checkpoint and the log")
            self.reached = None if last is None else last.reached
            self._file = self._last_file()
        self.durable = self.end  # the rows before this one survive a crash

    def append(self, arrival_us: int, reached: int | None, table: pa.Table) -> int:
        """Write the rows of a push; returns the number of the row after them, for `sync`. One call at a time.

        OSError: the disk refuses them; nothing of them stays.
        """
        self._refuse_if_broken()
        if self._file.closed:
            raise OSError(f"the log {self._folder} is closed")
        if self._file.tell() >= FILE_BYTES:
            self.sync(self.end)
            self._file.close()
            self._file = self._new_file(self.end)
        size, first = self._file.tell(), self.end
        about = _ABOUT.pack(first, arrival_us, _NO_TIME if reached is None else reached)
        try:
            write_all(self._file, about + _rows(table))
        except OSError:
            self._file.truncate(size)
            self._file.seek(size)
            raise
        self.end += table.num_rows
        return self.end

    def sync(self, end: int) -> None:
        """Return when the rows before `end` survive a crash. Calls that come meanwhile share one wait for the disk.

        OSError: the disk has failed; from now on, the log takes nothing more.
        """
        while True:
            with self._changed:
                while self._syncing and self.durable < end:
                    self._changed.wait()
                if self.durable >= end:
                    return
                self._refuse_if_broken()
                self._syncing = True
                written = self.end
            self._sync_now(written)

    def read(self) -> Iterator[Entry]:
        """The entries from row `first` on that were written before the log was opened. To be called once, then."""
        return self._read(self.first, self.end)

    def forget(self, first: int) -> None:
        """The rows before `first` are not needed anymore: files that have no others are deleted. Any thread calls."""
        for path, after in pairwise(self._files()):
            if _first_row(after) <= first:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files, and let others use the log. A second call does nothing."""
        self._file.close()
        self._lock.release()

    def remove(self) -> None:
        """Delete the log, which is not written anymore, with all of its rows."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _sync_now(self, written: int) -> None:
        try:
            sync_data(self._file.fileno())
        except (OSError, ValueError) as error:  # ValueError: it was closed
            # What a failed sync has written is not known, not even by another sync.
            self._broken = OSError(f"the log {self._folder} cannot be written: {error}")
            written = self.durable
        with self._changed:
            self._syncing = False
            self.durable = max(self.durable, written)
            self._changed.notify_all()

    def _refuse_if_broken(self) -> None:
        if self._broken is not None:
            raise OSError(str(self._broken))

    # Files -------------------------------------------------------------------------------------------------------

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.rows"))

    def _new_file(self, first: int) -> FileIO:
        file = FileIO(self._folder / f"{first:020d}.rows", "w")
        write_all(file, self._columns.serialize().to_pybytes())
        os.fsync(file.fileno())
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return file

    def _last_file(self) -> FileIO:
        files = self._files()
        if not files or self.end < self.first:  # the rows in between are not here, and are not needed
            self.end = max(self.end, self.first)
            return self._new_file(self.end)
        file = FileIO(files[-1], "r+")
        file.seek(0, os.SEEK_END)
        return file

    def _check(self) -> tuple[int, Entry | None]:
        """Check all files, and cut off half a record at the end of the last one; the first row, and the last entry."""
        files, last = self._files(), None
        for path in files:
            whole, end = 0, _first_row(path)  # of its records, and of their rows
            if last is not None and end < last.end:
                raise self._damaged(path, whole)
            with path.open("rb") as file:
                for at, payload in _payloads(file):
                    if not whole:
                        self._check_columns(payload)
                    else:
                        last = self._entry(payload)
                        if last.first != end:
                            raise self._damaged(path, whole)
                        end = last.end
                    whole = at
            self._cut_off(path, whole, is_last=path == files[-1])
        return _first_row(files[0]) if files else 0, last

    def _cut_off(self, path: Path, whole: int, is_last: bool) -> None:
        """Cut off what a crash has left of a record that was being written."""
        more = path.stat().st_size - whole
        if whole and not more:
            return
        if not is_last:
            raise self._damaged(path, whole)
        log.warning("%s: its last %d bytes are cut off: a push that was not accepted", path, more)
        if whole:
            os.truncate(path, whole)
        else:
            self._new_file(_first_row(path)).close()

    def _check_columns(self, payload: bytes) -> None:
        if payload != self._columns.serialize().to_pybytes():
            problem = f"the log {self._folder} has rows of other columns"
            raise ApplicationError(self._place, problem, "keep the stream's schema, or remove the log and its rows")

    def _entry(self, payload: bytes) -> Entry:
        first, arrival_us, reached = _ABOUT.unpack_from(payload)
        batch = pa.ipc.read_record_batch(pa.py_buffer(payload).slice(_ABOUT.size), self._columns)
        return Entry(first, arrival_us, None if reached == _NO_TIME else reached, pa.Table.from_batches([batch]))

    def _read(self, first: int, end: int) -> Iterator[Entry]:
        files = self._files()
        ends = [*(_first_row(path) for path in files[1:]), end]
        for path, after in zip(files, ends, strict=False):
            if after <= first:
                continue
            with path.open("rb") as file:
                for number, (_, payload) in enumerate(_payloads(file)):
                    if not number:
                        continue
                    entry = self._entry(payload)
                    if entry.first >= end:
                        return
                    if entry.end > first:
                        skip = max(0, first - entry.first)
                        yield entry._replace(first=entry.first + skip, table=entry.table.slice(skip))

    def _damaged(self, path: Path, whole: int) -> ApplicationError:
        problem = f"{path} is damaged after byte {whole}"
        return ApplicationError(self._place, problem, "put the file back as it was, or remove the log and its rows")


def _first_row(path: Path) -> int:
    return int(path.stem)


def _rows(table: pa.Table) -> bytes:
    batches = table.combine_chunks().to_batches()
    return bytes(batches[0].serialize().to_pybytes())


def write_all(file: FileIO, payload: bytes) -> None:
    left = memoryview(_FRAME.pack(len(payload), zlib.crc32(payload)) + payload)
    while left:
        left = left[file.write(left) :]


def _payloads(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The whole records from the beginning on, each with the byte after it."""
    end = 0
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        size, checksum = _FRAME.unpack(head)
        payload = file.read(size)
        if len(payload) < size or zlib.crc32(payload) != checksum:
            return
        end += _FRAME.size + size
        yield end, payload
