"""headgate bench cluster: replays on a standalone Spark cluster on loopback, whose workers have one core each.

`two_workers_over_one`: the same replay of parquet files through a windowed aggregate, with one worker and with two.
`state_over_driver_heap`: a join keeps all rows of two streams, which take so many times the heap of the driver; the
rows stay with the executors. Its results are counted without Spark. Each run is a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from headgate_lab.bench import cluster_run, replay
from headgate_lab.bench.parts import part
from headgate_lab.cluster import SETTINGS, spark_cluster

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class ClusterBenchSize:
    """The size of the measurement."""

    files: int  # of the replay
    file_rows: int
    rounds: int
    join_files: int  # of each stream
    join_rows: int  # in each of them
    heap_mb: int  # of the driver


FULL = ClusterBenchSize(files=8, file_rows=1_000_000, rounds=3, join_files=5, join_rows=1_000_000, heap_mb=640)
QUICK = ClusterBenchSize(files=4, file_rows=1_000_000, rounds=1, join_files=2, join_rows=200_000, heap_mb=640)
SMALLEST = ClusterBenchSize(files=2, file_rows=20_000, rounds=1, join_files=1, join_rows=30_000, heap_mb=640)
_RUN_S = 1800


def run(quick: bool = False, sizes: ClusterBenchSize | None = None) -> dict[str, Any]:
    """Measure; `two_workers_over_one` should be at least 1.6, and `state_over_driver_heap` at least 3."""
    chosen = sizes or (QUICK if quick else FULL)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as name:
        folder = Path(name)
        replay.write_files(folder / "events", chosen.files, chosen.file_rows)
        seconds = part("replay_seconds", lambda: _replays(folder / "events", chosen))
        join = part("join", lambda: _join(folder, chosen))
    return {
        "two_workers_over_one": seconds["one"] / seconds["two"],
        "state_over_driver_heap": join["state_bytes"] / join["heap_bytes"],
        "replay_seconds": seconds,
        "join": join,
        "settings": {
            "replay_rows": chosen.files * chosen.file_rows,
            "replay_query": replay.WINDOWED,
            "join_query": cluster_run.JOIN,
            "cores_here": os.cpu_count(),
            "spark": pyspark.__version__,
        },
    }


def _replays(folder: Path, sizes: ClusterBenchSize) -> dict[str, float]:
    found = {}
    for name, workers in (("one", 1), ("two", 2)):
        with spark_cluster(workers) as cluster:
            asked = {"folder": str(folder), "rounds": sizes.rounds}
            found[name] = min(_process("replay", cluster.url, asked)["seconds"])
    return found


def _join(folder: Path, sizes: ClusterBenchSize) -> dict[str, Any]:
    expected, state_bytes = cluster_run.write_join(folder, sizes.join_files, sizes.join_rows)
    with spark_cluster(2) as cluster:
        asked = {"folder": str(folder), "heap_mb": sizes.heap_mb}
        found = _process("join", cluster.url, asked)
    if found["results"] != expected:
        raise RuntimeError(f"the join gave {found['results']} results instead of {expected}")
    return {**found, "state_bytes": state_bytes, "heap_bytes": sizes.heap_mb * 2**20}


def _process(what: str, master: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Run a part on a cluster, in a process of its own."""
    memory = f"{asked.get('heap_mb', 1024)}m"
    settings = {"master": master, **SETTINGS, "spark.executor.memory": "1g", "spark.driver.memory": memory}
    command = [sys.executable, "-m", cluster_run.__name__, what, json.dumps({**asked, "spark": settings})]
    path = os.pathsep.join([str(ROOT), str(ROOT / "lab"), os.environ.get("PYTHONPATH", "")])
    environment = dict(os.environ, PYTHONPATH=path, PYSPARK_PYTHON=sys.executable)
    done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_S, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"the run on the cluster failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
