"""A lock that lets one run at a time write to an output. It ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import FileIO
from pathlib import Path

log = logging.getLogger("headgate.sink")


class OutputInUse(OSError):
    """Another run writes there; the message says which."""


class OutputLock:
    """Holds `path` (a file or a folder) for this run, from its creation until `release`.

    The lock is the operating system's, on a file `.NAME.lock` beside the output, which says who holds it. A run that
    was killed leaves the file but no lock. Where locks are impossible, as on some network disks or in a read-only
    folder, the run goes on without one, and the log says so.
    """

    def __init__(self, path: Path, application: str = "") -> None:
        real = Path(os.path.realpath(path))  # the same output may be known by several names
        self._path = real.with_name(f".{real.name}.lock")
        self._file: FileIO | None = None  # closing it releases the lock, with the object at the latest
        try:
            self._file = self._taken(path)
        except OutputInUse:
            raise
        except OSError as error:
            log.warning("%s is not locked against other runs: %s", path, error)
            return
        about = {"pid": os.getpid(), "host": socket.gethostname(), "application": application}
        about["started"] = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        self._file.truncate(0)
        self._file.write(json.dumps(about).encode())

    def release(self) -> None:
        """Let others write there; a second call does nothing."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)  # still held: no other run can have locked it
            self._file.close()
            self._file = None

    @contextmanager
    def released_on_failure(self) -> Iterator[None]:
        """Release the lock if the block fails, since nothing else could then."""
        try:
            yield
        except BaseException:
            self.release()
            raise

    def _taken(self, path: Path) -> FileIO:
        while True:
            file = FileIO(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(file):
                    return file
            except BlockingIOError:
                raise OutputInUse(f"another run writes to {path}: {_holder(file)}") from None
            except BaseException:
                file.close()
                raise
            file.close()  # its holder has just removed it

    def _is_current(self, file: FileIO) -> bool:
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        mine = os.fstat(file.fileno())
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def locked(path: Path, application: str) -> OutputLock:
    """Lock an output, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return OutputLock(path, application)


def _holder(file: FileIO) -> str:
    """Who holds the lock, as written in its file, which is closed."""
    try:
        about = json.loads(file.read(10_000))
        application = f", application {about['application']}" if about["application"] else ""
        return f"process {about['pid']} on {about['host']}, started {about['started']}{application}"
    except (ValueError, KeyError, TypeError):  # it has the lock, but has not written yet
        return "it has just begun"
    finally:
        file.close()
