"""The folder to which queues write batches when memory is short, one Arrow IPC file per batch."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from headgate.scheduling.queue import SpillError

_log = logging.getLogger("headgate.spill")
_open: set[Path] = set()  # folders of this process


class SpillFolder:
    """Writes, reads and deletes spilled batches; implements the `Spill` of a `SharedMemory`.

    Files go to a new folder inside `parent` (default: the system's temporary folder), so that two runs never share
    one; `close` removes it. Batches are compressed, so that less is written while the scheduler's lock is held.
    """

    def __init__(self, parent: Path | str | None = None) -> None:
        try:
            if parent is not None:
                Path(parent).mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix="headgate-spill-", dir=parent))
            _open.add(self.path)
        except OSError as error:
            raise SpillError(f"cannot make a folder for spilled batches in {parent}: {error}") from error
        codec = "lz4" if pa.Codec.is_available("lz4") else None
        self._options = ipc.IpcWriteOptions(compression=codec)
        self._written = 0

    def write(self, table: pa.Table) -> Path:
        """Store a table; the returned path is its handle. If writing fails, the unfinished file is removed."""
        path = self.path / f"{self._written:08d}.arrow"
        self._written += 1
        try:
            with pa.OSFile(str(path), "wb") as file, ipc.new_file(file, table.schema, options=self._options) as to:
                to.write_table(table)
        except (OSError, pa.ArrowException) as error:
            self.delete(path)
            raise SpillError(
                f"cannot write {table.nbytes} bytes of waiting tuples to {path}: {error}; make room there, or "
                "give Headgate more memory or another spill folder"
            ) from error
        return path

    def hold(self, handle: Path) -> Path:
        """Another handle of a stored table: a second name of its file, which stays when the first is deleted."""
        path = self.path / f"{self._written:08d}.held.arrow"
        self._written += 1
        try:
            os.link(handle, path)
        except OSError as error:
            raise SpillError(f"cannot keep waiting tuples in {path}: {error}") from error
        return path

    def read(self, handle: Path) -> pa.Table:
        """The table stored under a handle; the file stays."""
        try:
            with pa.OSFile(str(handle), "rb") as file, ipc.open_file(file) as stored:
                return stored.read_all()
        except (OSError, pa.ArrowException) as error:
            raise SpillError(f"cannot read waiting tuples back from {handle}: {error}") from error

    def delete(self, handle: Path) -> None:
        """Remove a stored table; a failure is logged and leaves a file behind until `close`."""
        try:
            handle.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("cannot delete the spill file %s: %s", handle, error)

    def close(self) -> None:
        """Remove the folder and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        _open.discard(self.path)


def remove_spilled() -> None:
    """Remove all folders of this process; called when it ends without closing them."""
    for path in list(_open):
        shutil.rmtree(path, ignore_errors=True)
