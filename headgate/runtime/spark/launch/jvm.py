"""Spark's JVM: a process of ours, in a process group and a folder of its own, so that it can be ended at any moment.

PySpark would start it, too, but hands out no handle before it is up; what is interrupted until then stays behind.
Imports nothing of Spark: the JVM gets going while Python still imports that.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shlex
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired
from typing import IO

import psutil

from headgate.errors import ApplicationError
from headgate.runtime.spark.launch.settings import find_java, launch_settings

LEAVE_S = 10.0  # how long a JVM may take to leave by itself when Python ends
_NOISE = (b"WARNING: Using incubator modules",)  # Spark asks for one that Headgate does not use
_lock = threading.Lock()
_current: Jvm | None = None


class SparkDied(RuntimeError):
    """The JVM is gone and was not asked to leave; commands print this as one line and end with exit code 1."""


class Jvm:
    """The process in which Spark runs. Its temporary files are in `folder`, which goes when it ends."""

    def __init__(self) -> None:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="headgate-spark-"))
        except OSError as error:
            remedy = "set TMPDIR to a folder that can be written"
            raise ApplicationError(
                "TMPDIR", f"there is no room for temporary files: {error.strerror}", remedy
            ) from error
        self.process: Popen[bytes] | None = None
        self._ended = False
        self._launching = False
        self._failure: OSError | None = None

    def launch(self, settings: Mapping[str, str]) -> None:
        """Start the process; it is not yet up when this returns."""
        quiet = Path(__file__).with_name("log4j2.properties")
        ours = f"-Djava.io.tmpdir={_quoted(self.folder)} -Dlog4j2.configurationFile={_quoted(quiet)} -XX:-UsePerfData"
        more = {"spark.driver.defaultJavaOptions": f"{ours} {settings.get('spark.driver.defaultJavaOptions', '')}"}
        command = [os.path.join(_spark_home(), "bin", "spark-submit")]
        for key, value in (dict(settings) | more).items():
            command += ["--conf", f"{key}={value}"]
        command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        launcher = f"-XX:-UsePerfData -XX:TieredStopAtLevel=1 {os.environ.get('SPARK_LAUNCHER_OPTS', '')}"
        said = {
            "SPARK_CONNECT_MODE": "0",
            "SPARK_LAUNCHER_OPTS": launcher,
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self.folder / "gateway"),
        }
        self._launching = True
        # In a thread: a signal can interrupt this one while the process is there and its handle is not.
        opening = threading.Thread(target=self._open, args=(command, said), name="spark-jvm-start", daemon=True)
        opening.start()
        opening.join()
        if self._failure is not None:
            raise self._failure
        assert self.process is not None
        said_by_it = (self.process.stdout,)
        threading.Thread(target=self._forward_output, args=said_by_it, name="spark-jvm-output", daemon=True).start()

    def _open(self, command: list[str], said: Mapping[str, str]) -> None:
        # Its standard input is how it learns that Python is gone. What it prints is no output of a command's.
        try:
            self.process = Popen(
                command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=STDOUT,
                env={**os.environ, **said},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._failure = error
        finally:
            self._launching = False

    def _forward_output(self, said: IO[bytes]) -> None:
        """Print what the JVM says on standard error, until it is closed."""
        for line in said:
            if not self._ended and not line.startswith(_NOISE):
                with suppress(OSError, ValueError):  # closed
                    sys.stderr.write(line.decode(errors="replace"))
                    sys.stderr.flush()

    def address(self) -> tuple[int, str]:
        """Port and secret of its gateway, which it writes down when it is up: waits for that. SparkDied: it ended."""
        file = self.folder / "gateway"
        while not file.exists():
            self.check()
            time.sleep(0.02)
        written = file.read_bytes()  # moved there when complete
        port, length = struct.unpack(">ii", written[:8])
        return port, written[8 : 8 + length].decode()

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def check(self, patience_s: float = 0.0) -> None:
        """SparkDied when it has ended, or does so in a moment."""
        if self.process is None:
            return
        with suppress(TimeoutExpired):
            code = self.process.wait(patience_s)
            how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
            raise SparkDied(f"Spark's JVM {how}")

    def end(self, patience_s: float = 0.0) -> None:
        """End it with all its processes, and remove its folder. With patience it may leave by itself first."""
        self._ended = True
        until = time.monotonic() + LEAVE_S
        while self._launching and time.monotonic() < until:
            time.sleep(0.005)  # no lock: this may be a signal's handler, in a thread that holds it
        processes = self._processes()
        if self.process is not None:
            if self.process.stdin is not None:
                self.process.stdin.close()
            if patience_s:
                with suppress(TimeoutExpired):
                    self.process.wait(patience_s)
            if self.process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)  # also what its scripts start at this moment
        for member in processes:
            with suppress(psutil.Error):
                member.kill()
        psutil.wait_procs(processes, LEAVE_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _processes(self) -> list[psutil.Process]:
        """Its processes: scripts that launch it, the JVM, and Python workers, which leave its process group."""
        if self.process is not None:
            with suppress(psutil.Error):
                found = psutil.Process(self.process.pid)
                return [found, *found.children(recursive=True)]
        return []


def begin_jvm(settings: Mapping[str, str]) -> Jvm:
    """The JVM of this process: one that runs, or a new one, which is not yet up when this returns.

    Commands call it as soon as they know the settings. ApplicationError: the master is none, or there is no Java.
    """
    global _current
    chosen = launch_settings(settings)
    with _lock:
        if _current is not None and not _current.is_running:
            end_jvm()
        if _current is None:
            find_java()
            _current = Jvm()
            _current.launch(chosen)
        return _current


def end_jvm(patience_s: float = 0.0) -> None:
    """End the JVM that this process has started, if it has; nothing of it stays behind."""
    global _current
    jvm, _current = _current, None  # without the lock: a signal may come while it is held
    if jvm is not None:
        jvm.end(patience_s)


def check_jvm(patience_s: float = 0.0) -> None:
    """SparkDied when the JVM that this process has started is gone, or goes in a moment."""
    if _current is not None:
        _current.check(patience_s)


atexit.register(end_jvm, LEAVE_S)


def _quoted(path: Path) -> str:
    """For a list of Java options, which is cut at spaces."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _spark_home() -> str:
    """As PySpark finds it, without importing it."""
    if home := os.environ.get("SPARK_HOME"):
        return home
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise ApplicationError("spark", "PySpark is not installed", "pip install headgate")
    return found.submodule_search_locations[0]
