"""Spark's JVM as a process of our own, in its own process group and folder, so that it can be ended at any moment.

PySpark could start it too, but returns no handle before the JVM is up: an interrupt until then would leave it behind.
This module imports nothing from Spark, so the JVM starts while Python is still importing PySpark.
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

LEAVE_S = 10.0  # how long a JVM may take to exit by itself when Python ends
_NOISE = (b"WARNING: Using incubator modules",)  # Spark asks for one that Headgate does not use
_lock = threading.Lock()
_current: Jvm | None = None


class SparkDied(RuntimeError):
    """The JVM ended without being asked to; commands print this as one line and exit with code 1."""


class Jvm:
    """The process in which Spark runs. Its temporary files are in `folder`, which `end` removes."""

    def __init__(self) -> None:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="headgate-spark-"))
        except OSError as error:
            remedy = "set TMPDIR to a writable folder"
            raise ApplicationError(
                "TMPDIR", f"cannot make a folder for temporary files: {error.strerror}", remedy
            ) from error
        self.process: Popen[bytes] | None = None
        self._ended = False
        self._launching = False
        self._failure: OSError | None = None

    def launch(self, settings: Mapping[str, str]) -> None:
        """Start the process; this returns before the JVM is up."""
        quiet = Path(__file__).with_name("log4j2.properties")
        ours = f"-Djava.io.tmpdir={_quoted(self.folder)} -Dlog4j2.configurationFile={_quoted(quiet)} -XX:-UsePerfData"
        more = {"spark.driver.defaultJavaOptions": f"{ours} {settings.get('spark.driver.defaultJavaOptions', '')}"}
        command = [os.path.join(_spark_home(), "bin", "spark-submit")]
        for key, value in (dict(settings) | more).items():
            command += ["--conf", f"{key}={value}"]
        command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        launcher = f"-XX:-UsePerfData -XX:TieredStopAtLevel=1 {os.environ.get('SPARK_LAUNCHER_OPTS', '')}"
        environment = {
            "SPARK_CONNECT_MODE": "0",
            "SPARK_LAUNCHER_OPTS": launcher,
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self.folder / "gateway"),
        }
        self._launching = True
        # In its own thread: a signal could interrupt this one after the process starts but before we have a handle.
        opening = threading.Thread(target=self._open, args=(command, environment), name="spark-jvm-start", daemon=True)
        opening.start()
        opening.join()
        if self._failure is not None:
            raise self._failure
        assert self.process is not None
        output = (self.process.stdout,)
        threading.Thread(target=self._forward_output, args=output, name="spark-jvm-output", daemon=True).start()

    def _open(self, command: list[str], environment: Mapping[str, str]) -> None:
        # The JVM notices through its standard input that Python is gone. What it prints goes to standard error, never
        # into a command's own output.
        try:
            self.process = Popen(
                command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._failure = error
        finally:
            self._launching = False

    def _forward_output(self, output: IO[bytes]) -> None:
        """Print the JVM's output on standard error, until the output is closed."""
        for line in output:
            if not self._ended and not line.startswith(_NOISE):
                with suppress(OSError, ValueError):  # closed
                    sys.stderr.write(line.decode(errors="replace"))
                    sys.stderr.flush()

    def address(self) -> tuple[int, str]:
        """Port and secret of its gateway, which the JVM writes to a file when it is up; waits for that file.

        SparkDied: the JVM ended instead.
        """
        file = self.folder / "gateway"
        while not file.exists():
            self.check()
            time.sleep(0.02)
        written = file.read_bytes()  # moved there when complete
        port, length = struct.unpack(">ii", written[:8])
        return port, written[8 : 8 + length].decode()

    @property
    def is_running(self) -> bool:
        """Has the process been started, and has it not ended?"""
        return self.process is not None and self.process.poll() is None

    def check(self, patience_s: float = 0.0) -> None:
        """Raise SparkDied if the JVM has ended, or ends within `patience_s`."""
        if self.process is None:
            return
        with suppress(TimeoutExpired):
            code = self.process.wait(patience_s)
            how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
            raise SparkDied(f"Spark's JVM {how}")

    def end(self, patience_s: float = 0.0) -> None:
        """End the JVM with all its processes and remove its folder; it may exit by itself within `patience_s`."""
        self._ended = True
        until = time.monotonic() + LEAVE_S
        while self._launching and time.monotonic() < until:
            time.sleep(0.005)  # no lock: this may run in a signal handler whose thread holds it
        processes = self._processes()
        if self.process is not None:
            if self.process.stdin is not None:
                self.process.stdin.close()
            if patience_s:
                with suppress(TimeoutExpired):
                    self.process.wait(patience_s)
            if self.process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)  # catches what its scripts start right now
        for member in processes:
            with suppress(psutil.Error):
                member.kill()
        psutil.wait_procs(processes, LEAVE_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _processes(self) -> list[psutil.Process]:
        """All its processes: launch scripts, the JVM, and Python workers, which leave its process group."""
        if self.process is not None:
            with suppress(psutil.Error):
                found = psutil.Process(self.process.pid)
                return [found, *found.children(recursive=True)]
        return []


def begin_jvm(settings: Mapping[str, str]) -> Jvm:
    """This process's JVM: the running one, or a new one that is still starting when this returns.

    Commands call it as soon as they know the settings. ApplicationError: the master is invalid or no Java was found.
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
    """End the JVM that this process started, if any, with all its processes and files."""
    global _current
    jvm, _current = _current, None  # without the lock: a signal handler may call this while it is held
    if jvm is not None:
        jvm.end(patience_s)


def check_jvm(patience_s: float = 0.0) -> None:
    """Raise SparkDied if the JVM that this process started has ended, or ends within `patience_s`."""
    if _current is not None:
        _current.check(patience_s)


atexit.register(end_jvm, LEAVE_S)


def _quoted(path: Path) -> str:
    """Quoted for a list of Java options, which is split at spaces."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _spark_home() -> str:
    """Spark's home as PySpark would find it, without importing PySpark."""
    if home := os.environ.get("SPARK_HOME"):
        return home
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise ApplicationError("spark", "PySpark is not installed", "pip install headgate")
    return found.submodule_search_locations[0]
