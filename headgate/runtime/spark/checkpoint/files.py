"""Where the files of checkpoints are: a local folder, or any other file system that Spark's Hadoop can reach.

A file is written somewhere else first, and moved into place when it is complete. So a name stands for a whole file.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headgate.connect.sinks.lock import OutputLock

log = logging.getLogger("headgate.checkpoint")

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:/")
_HOLDER = "lock.json"


class CheckpointInUse(OSError):
    """Another run uses the checkpoint; the message says which."""


class Files(Protocol):
    """A folder of files. Everything may raise OSError."""

    def names(self) -> list[str]:
        """The files in it."""

    def local(self, name: str) -> Any:
        """A context with the path of a local copy; for a local folder, the file itself."""

    @property
    def scratch(self) -> Path:
        """Where to write a file before `put`: a local folder."""

    def put(self, written: Path, name: str) -> None:
        """Move a file from the scratch folder into place, durably, in place of any of its name."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def hold(self) -> None:
        """Raise CheckpointInUse if another run has taken over. Called before each checkpoint becomes valid."""

    def close(self) -> None:
        """Let others use the folder."""


def open_files(path: str, folder: Path, application: str, spark: SparkSession) -> Files:
    """The folder that `path` names, locked for this run; it is made if it is not there. OSError: it cannot be used.

    Relative names start at `folder`. A name with a scheme (`hdfs://`, `s3a://`, `file:`) goes through Spark.
    """
    if _SCHEME.match(path):
        return HadoopFiles(path, application, spark)
    return LocalFiles(folder / path, application)


class LocalFiles:
    """A local folder."""

    def __init__(self, path: Path, application: str = "") -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.scratch = path  # so that a file can be renamed into place
        self._lock = OutputLock(path, application)
        for name in path.glob(".*.new"):  # what a crash left behind
            name.unlink(missing_ok=True)

    def names(self) -> list[str]:
        """See `Files`."""
        return [entry.name for entry in self.path.iterdir() if entry.is_file() and not entry.name.startswith(".")]

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """See `Files`."""
        yield self.path / name

    def put(self, written: Path, name: str) -> None:
        """See `Files`."""
        with written.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(written, self.path / name)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self, name: str) -> None:
        """See `Files`."""
        (self.path / name).unlink(missing_ok=True)

    def hold(self) -> None:
        """See `Files`; the operating system keeps the lock."""

    def close(self) -> None:
        """See `Files`."""
        self._lock.release()


class HadoopFiles:
    """A folder on a file system of Hadoop, through Spark's JVM.

    Such file systems have no locks that end with a process. So the run that came last holds the folder: its name is in
    a file there, and the one before notices that at its next checkpoint. A run on the same machine that is still alive
    is not driven out.
    """

    def __init__(self, uri: str, application: str, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._uri = uri.rstrip("/")
        self._scratch = tempfile.TemporaryDirectory(prefix="headgate-checkpoint-")
        self.scratch = Path(self._scratch.name)
        self._token = uuid.uuid4().hex
        with _as_os_error(self._uri):
            self._folder = self._jvm.org.apache.hadoop.fs.Path(self._uri)
            context = self._jvm.org.apache.spark.SparkContext.getOrCreate()  # the one of the session
            self._system = self._folder.getFileSystem(context.hadoopConfiguration())
            self._system.mkdirs(self._folder)
            self._take(application)

    def names(self) -> list[str]:
        """See `Files`."""
        with _as_os_error(self._uri):
            found = [one.getPath().getName() for one in self._system.listStatus(self._folder) if one.isFile()]
        return [name for name in found if not name.startswith(".") and name != _HOLDER]

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """See `Files`."""
        copy = self.scratch / f"{uuid.uuid4().hex}-{name}"
        with _as_os_error(f"{self._uri}/{name}"):
            self._system.copyToLocalFile(False, self._at(name), self._local(copy), True)
        try:
            yield copy
        finally:
            copy.unlink(missing_ok=True)

    def put(self, written: Path, name: str) -> None:
        """See `Files`."""
        beside, place = self._at(f".{name}.new"), self._at(name)
        with _as_os_error(f"{self._uri}/{name}"):
            self._system.copyFromLocalFile(True, True, self._local(written), beside)
            if self._system.exists(place):
                self._system.delete(place, False)
            if not self._system.rename(beside, place):
                raise OSError(f"{self._uri}/{name} could not be moved into place")

    def remove(self, name: str) -> None:
        """See `Files`."""
        with _as_os_error(f"{self._uri}/{name}"):
            self._system.delete(self._at(name), False)

    def hold(self) -> None:
        """See `Files`."""
        if (holder := self._holder()).get("token") != self._token:
            raise CheckpointInUse(f"another run has taken over {self._uri}: {_named(holder)}")

    def close(self) -> None:
        """See `Files`."""
        try:
            if self._holder().get("token") == self._token:
                self.remove(_HOLDER)
        except OSError as error:
            log.warning("the lock of %s stays there: %s", self._uri, error)
        self._scratch.cleanup()

    def _take(self, application: str) -> None:
        holder = self._holder()
        if holder.get("host") == socket.gethostname() and holder.get("pid") != os.getpid() and _lives(holder["pid"]):
            raise CheckpointInUse(f"another run uses {self._uri}: {_named(holder)}")
        if holder:
            log.warning("%s was held by another run (%s), which ends at its next checkpoint", self._uri, _named(holder))
        about = {"token": self._token, "pid": os.getpid(), "host": socket.gethostname(), "application": application}
        written = self.scratch / _HOLDER
        written.write_text(json.dumps(about))
        self.put(written, _HOLDER)

    def _holder(self) -> dict[str, Any]:
        with _as_os_error(self._uri):
            if not self._system.exists(self._at(_HOLDER)):
                return {}
        with self.local(_HOLDER) as path:
            try:
                found: dict[str, Any] = json.loads(path.read_text())
            except ValueError:
                return {}
        return found

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._folder, name)

    def _local(self, path: Path) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path.as_uri())


@contextmanager
def _as_os_error(what: str) -> Iterator[None]:
    """Errors of the JVM become an OSError that names the file."""
    try:
        yield
    except Py4JError as error:
        cause = getattr(error, "java_exception", None)
        raise OSError(f"{what}: {cause or error}") from error


def _named(holder: dict[str, Any]) -> str:
    application = f", application {holder['application']}" if holder.get("application") else ""
    return f"process {holder.get('pid')} on {holder.get('host')}{application}"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
