"""One run on a cluster, as `bench cluster` starts it in a process of its own: prints what it has measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headgate as hg
from headgate.application.checked import RunLimits
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate_lab.bench import replay

SCHEMA = "k BIGINT, pad STRING, ts TIMESTAMP"
JOIN = "ISTREAM(SELECT a.k, length(a.pad) + length(b.pad) AS n FROM a [RANGE 1 DAY], b [RANGE 1 DAY] WHERE a.k = b.k)"
_PAD = 200  # bytes of each row that only fill memory
_RARE = 1000  # one row in so many has a partner


def write_join(folder: Path, files: int, rows: int) -> tuple[int, int]:
    """The files of both streams; returns how many pairs there are, and the bytes that all rows take in memory."""
    random, size = np.random.default_rng(5), 0
    for name, sign in (("a", 1), ("b", -1)):
        (folder / name).mkdir()
        for number in range(files):
            first = number * rows
            numbers = np.arange(first, first + rows)
            keys = np.where(numbers % _RARE == 0, numbers, sign * numbers - (sign < 0))
            pads = random.integers(0, 256, (rows, _PAD // 2), np.uint8)
            table = pa.table(
                {
                    "k": pa.array(keys, pa.int64()),
                    "pad": pa.array([row.tobytes().hex() for row in pads]),
                    "ts": pa.array(np.datetime64("2024-03-01", "us") + numbers * 1000 + 1, pa.timestamp("us", "UTC")),
                }
            )
            pq.write_table(table, folder / name / f"{number:04}.parquet")
            size += table.nbytes
    return files * rows // _RARE + (files * rows % _RARE > 0), size


def main() -> None:
    """`replay` or `join`, and what is asked as JSON."""
    what, asked = sys.argv[1], json.loads(sys.argv[2])
    spark = start_spark(asked["spark"])
    try:
        print(json.dumps(_replay(spark, asked) if what == "replay" else _join(spark, asked)))
    finally:
        spark.stop()


def _replay(spark: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The first run warms the executors up."""
    runs = [replay.headgate_replay(spark, Path(asked["folder"]), replay.WINDOWED) for _ in range(asked["rounds"] + 1)]
    return {"seconds": [one.seconds for one in runs[1:]], "driver_share": runs[-1].driver_share}


def _join(spark: Any, asked: dict[str, Any]) -> dict[str, Any]:
    app = hg.Application(policy={"name": "fifo", "unit": "query"}, rehearse=False)
    for name in ("a", "b"):
        source = {"kind": "folder", "path": str(Path(asked["folder"]) / name), "format": "parquet", "watch": False}
        app.stream(name, SCHEMA, time="ts", source=source)
    app.query("pairs", JOIN, sink={"kind": "memory"})
    runtime = SparkRuntime(app.checked(), spark, ways=Ways(referred_rows=10_000))
    runtime.start()
    runtime.wait(RunLimits(until_idle=True))
    seconds, report = runtime.now(), runtime.stop()
    if report["errors"]:
        raise RuntimeError(f"the join failed: {report['errors']}")
    return {
        "seconds": seconds,
        "results": report["queries"]["pairs"]["outputs"],
        "references": report["references"],
        "calls": report["calls"],
    }


if __name__ == "__main__":
    main()
