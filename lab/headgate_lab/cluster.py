"""A standalone Spark cluster on loopback: a master and workers from the `pyspark` package, each with a JVM of its own.

For tests and benches. A worker can be killed, with the executors on it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
_START_S = 90.0
_STOP_S = 20.0
_LOOK_S = 0.25
# What an application on this cluster needs besides the master: the driver is found on loopback.
SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@dataclass
class Cluster:
    """A running cluster: its address, and its workers' processes."""

    url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self, number: int = 0) -> None:
        """End a worker and its executors at once, as if its machine had lost power. The others stay."""
        process = self.workers[number]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_S)


@contextmanager
def spark_cluster(workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """A cluster whose workers have so many cores and so much memory each; it ends with the block.

    TimeoutError: a process did not start; its log is in the message.
    """
    with tempfile.TemporaryDirectory(prefix="headgate-cluster-", ignore_cleanup_errors=True) as name:
        folder, started = Path(name), list[subprocess.Popen[bytes]]()
        try:
            master = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            started.append(_launch("Master", folder, "master", *master))
            url = _wait_for(folder / "master.log", r"Starting Spark master at (spark://\S+)")
            cluster = Cluster(url)
            for number in range(workers):
                own = ("--host", "127.0.0.1", "--cores", str(cores), "--memory", memory, "--webui-port", "0")
                place = ("--work-dir", str(folder / f"work-{number}"), url)
                cluster.workers.append(_launch("Worker", folder, f"worker-{number}", *own, *place))
                started.append(cluster.workers[-1])
            for number in range(workers):
                _wait_for(folder / f"worker-{number}.log", "Successfully (registered) with master")
            yield cluster
        finally:
            for process in reversed(started):
                _stop(process)


def _launch(kind: str, folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a process of the cluster, with a process group of its own, to which its executors belong."""
    environment = dict(os.environ, SPARK_LOCAL_IP="127.0.0.1", SPARK_HOME=str(HOME), PYSPARK_PYTHON=sys.executable)
    environment |= {"SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}", *arguments]
    with (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder, start_new_session=True)


def _wait_for(log: Path, pattern: str) -> str:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if found := re.search(pattern, log.read_text()):
            return found[1]
        time.sleep(_LOOK_S)
    raise TimeoutError(f"'{pattern}' did not appear in {log.name}: {log.read_text()[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(_STOP_S)
    except ProcessLookupError:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_S)
