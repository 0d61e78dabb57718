"""The same application on a Spark cluster: a standalone master and workers on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from headgate_lab.cluster import SETTINGS, Cluster, spark_cluster

pytestmark = [pytest.mark.spark, pytest.mark.nightly]  # four JVMs

ROOT = Path(__file__).parents[3]
SPARK = {**SETTINGS, "spark.executor.memory": "512m", "spark.driver.memory": "1g"}
FEW = [f"streams.{stream}.source.rows={rows}" for stream, rows in (("sensors", 2000), ("doors", 500))]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with spark_cluster(workers=2, cores=1, memory="1g") as found:
        yield found


def environment() -> dict[str, str]:
    """That of a program that imports Headgate from here."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return dict(os.environ, PYTHONPATH=path, PYSPARK_PYTHON=sys.executable)


def run(arguments: list[str], folder: Path) -> dict[str, Any]:
    """The report of a command that ends with `--json`."""
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=300, cwd=folder, check=False, env=environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def check(report: dict[str, Any]) -> None:
    assert report["errors"] == {}
    assert report["fallbacks"] == {}
    assert report["calls"]["direct"] + report["calls"]["prepared"] > 0
    assert sum(one["calls"] for one in report["trains"].values()) == sum(report["calls"].values())
    assert report["queries"]["discomfort"]["inputs"] == 2000  # its user function reached the workers
    assert all(query["outputs"] > 0 for query in report["queries"].values())


def test_an_application_runs_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "headgate"), "run", str(ROOT / "examples" / "sensors.yaml")]
    command += ["--master", cluster.url, "--until-idle", "--json", "--policy", "rr:unit=query"]
    settings = [*FEW, *(f"spark.{key}={value}" for key, value in SPARK.items())]
    check(run([*command, *(word for one in settings for word in ("--set", one))], tmp_path))


PROGRAM = """
    import contextlib, json, sys
    from pyspark.sql import SparkSession
    import headgate as hg

    spark = SparkSession.builder.getOrCreate()
    changes = dict(pair.split("=") for pair in sys.argv[2:])
    app = hg.load(sys.argv[1], set={key: int(value) for key, value in changes.items()})
    with contextlib.redirect_stdout(sys.stderr):
        report = app.run(until_idle=True, spark=spark)
    print(json.dumps(report.to_dict()))
    spark.stop()
"""


def test_an_application_runs_from_spark_submit(cluster: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", cluster.url]
    command += [word for key, value in SPARK.items() for word in ("--conf", f"{key}={value}")]
    check(run([*command, str(program), str(ROOT / "examples" / "sensors.yaml"), *FEW], tmp_path))


ROWS, FILES, KEYS = 200_000, 8, 2000  # of each stream
JOIN = "ISTREAM(SELECT a.k, a.v FROM a [RANGE 1 DAY], b [RANGE 1 DAY] WHERE a.k = b.k AND a.v = b.v)"
BEGIN = np.datetime64("2024-03-01T00:00:01", "us")
SCHEMA = "k INT, v INT, ts TIMESTAMP"


def rows_of(keys: Any, values: Any, first: int) -> pa.Table:
    """Rows with a key, a value and a time, a tenth of a second apart."""
    at = BEGIN + np.arange(first, first + len(keys)) * np.timedelta64(100, "ms")
    columns = [pa.array(keys, pa.int32()), pa.array(values, pa.int32()), pa.array(at, pa.timestamp("us", tz="UTC"))]
    return pa.Table.from_arrays(columns, names=["k", "v", "ts"])


def write(folder: Path, seed: int) -> Any:
    """Files of rows, the last one with a row that only lets time pass; returns how often each key and value occurs."""
    folder.mkdir()
    random = np.random.default_rng(seed)
    keys, values = random.integers(0, KEYS, ROWS), random.integers(0, 100, ROWS)
    for number in range(FILES):
        here = slice(number * ROWS // FILES, (number + 1) * ROWS // FILES)
        pq.write_table(rows_of(keys[here], values[here], here.start), folder / f"{number}.parquet")
    pq.write_table(rows_of([-seed], [0], ROWS + 1), folder / f"{FILES}.parquet")
    return np.bincount(keys * 100 + values, minlength=KEYS * 100)


# Gives the files to the run one after the other, and stops in the middle until the test has killed a worker.
RUN = """
    import json, sys, time
    from pathlib import Path
    import headgate as hg
    from headgate.runtime.spark.calls.ways import Ways
    from headgate.runtime.spark.engine import SparkRuntime

    folder, spark, files, rows, expected = Path(sys.argv[1]), json.loads(sys.argv[2]), *map(int, sys.argv[3:6])
    app = hg.Application(spark=spark, rehearse=False, policy={"name": "fifo", "unit": "query"})
    for name in ("a", "b"):
        (folder / "in" / name).mkdir(parents=True)
        source = {"kind": "folder", "path": str(folder / "in" / name), "format": "parquet"}
        app.stream(name, sys.argv[6], time="ts", source=source)
    app.query("pairs", sys.argv[7], sink={"kind": "memory"})
    runtime = SparkRuntime(app.checked(), ways=Ways(referred_rows=10_000))
    runtime.start()

    def wait_for(condition):
        until = time.monotonic() + 240
        while not condition():
            assert time.monotonic() < until, json.dumps(runtime.report())
            time.sleep(0.1)

    for number in range(files + 1):
        for name in ("a", "b"):
            (folder / name / f"{number}.parquet").rename(folder / "in" / name / f"{number}.parquet")
        taken = 2 * min(rows, (number + 1) * rows // files)
        wait_for(lambda: runtime.report()["queries"]["pairs"]["inputs"] >= taken and not runtime.unfinished()["pairs"])
        if number == files // 2:
            (folder / "half").touch()
            wait_for((folder / "killed").exists)
    wait_for(lambda: runtime.report()["queries"]["pairs"]["outputs"] >= expected or runtime.errors)
    report = runtime.stop()
    tables = runtime.sinks["pairs"].tables()
    found = [sum(table.num_rows for table in tables), sum(sum(table.column("v").to_pylist()) for table in tables)]
    print(json.dumps({"report": report, "found": found}))
"""


def test_a_killed_worker_costs_only_a_retry(tmp_path: Path) -> None:
    """Also with state on it: Spark reads again what was kept there."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(RUN))
    pairs = write(tmp_path / "a", 1) * write(tmp_path / "b", 2)
    expected = [int(pairs.sum()), int((pairs * (np.arange(len(pairs)) % 100)).sum())]
    with spark_cluster(workers=2, cores=1, memory="1g") as cluster:
        settings = json.dumps({"master": cluster.url, **SPARK})
        numbers = [str(FILES), str(ROWS), str(expected[0])]
        command = [sys.executable, str(program), str(tmp_path), settings, *numbers, SCHEMA, JOIN]
        with (tmp_path / "out").open("w") as out, (tmp_path / "errors").open("w") as errors:
            process = subprocess.Popen(command, stdout=out, stderr=errors, cwd=tmp_path, env=environment())
        try:
            until = time.monotonic() + 300
            while not (tmp_path / "half").exists():
                assert process.poll() is None, (tmp_path / "errors").read_text()[-3000:]
                assert time.monotonic() < until
                time.sleep(0.2)
            cluster.kill_worker()
            (tmp_path / "killed").touch()
            assert process.wait(400) == 0, (tmp_path / "errors").read_text()[-3000:]
        finally:
            process.kill()
            process.wait()
    found = json.loads((tmp_path / "out").read_text().splitlines()[-1])
    assert found["report"]["errors"] == {}
    assert found["report"]["calls"]["reference"] >= FILES
    assert found["found"] == expected
