"""The same application file on a Spark cluster: a standalone master and worker on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.nightly]  # three JVMs

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).parents[3]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a cluster with one worker; it ends with the test."""
    environment = dict(os.environ, SPARK_LOCAL_IP="127.0.0.1", SPARK_HOME=str(HOME), PYSPARK_PYTHON=sys.executable)
    processes = []

    def launch(kind: str, *arguments: str) -> Path:
        log = tmp_path / f"{kind}.log"
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}", *arguments]
        with log.open("w") as out:
            processes.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=tmp_path))
        return log

    try:
        log = launch("Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = _wait_for(log, r"Starting Spark master at (spark://\S+)")
        log = launch("Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "1g", "--webui-port", "0", url)
        _wait_for(log, "Successfully (registered) with master")
        yield url
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)


def _wait_for(log: Path, pattern: str) -> str:
    for _ in range(240):
        if found := re.search(pattern, log.read_text()):
            return found.group(1)
        time.sleep(0.25)
    raise TimeoutError(f"{pattern} did not appear in the log: {log.read_text()[-2000:]}")


def test_an_application_runs_on_a_cluster(master: str, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "headgate"), "run", str(ROOT / "examples" / "sensors.yaml")]
    command += ["--master", master, "--until-idle", "--json", "--policy", "rr:unit=query"]
    for stream, rows in (("sensors", 2000), ("doors", 500)):
        command += ["--set", f"streams.{stream}.source.rows={rows}"]
    command += ["--set", "spark.spark.executor.memory=512m", "--set", "spark.spark.driver.host=127.0.0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert report["errors"] == {}
    assert report["fallbacks"] == {}
    assert report["calls"]["direct"] + report["calls"]["prepared"] > 0
    assert sum(one["calls"] for one in report["trains"].values()) == sum(report["calls"].values())
    assert report["queries"]["discomfort"]["inputs"] == 2000  # its user function reached the worker
    assert all(query["outputs"] > 0 for query in report["queries"].values())
