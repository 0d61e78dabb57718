"""headgate bench overload: three times as many tuples as can be processed, for ten minutes.

One stream is pushed, one is generated in time, one is read as fast as possible from a source that can wait. The last
one waits first; what the others bring goes to disk, and once the disk that queues may use is full, pushes are refused.
A query that tolerates an error sheds. Memory must stay under its bound all the time, and nothing that was accepted may
be lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import headgate as hg
from headgate.connect.sources import SourceContext, SourceKind
from headgate.runtime.spark.launch.session import start_spark
from headgate_lab.bench.burst import carried, expensive
from headgate_lab.bench.classes.measured import jvm_process
from headgate_lab.bench.parts import part

SLOTS = 2
OVER = 3.0  # times the capacity
PUSHED = 0.5  # of what comes is pushed; the rest is generated
PAYLOAD = 200  # bytes that a tuple carries besides
BATCH = 500  # rows pushed at a time
PATIENCE_S = 1.0  # of a push
LOOK_S = 0.1  # between two looks at memory
MEMORY, DISK = 96_000_000, 400_000_000  # that queues may use: little, so that ten minutes fill both
TOLERANCE, LATENCY_S = 0.3, 2.0


@dataclass(frozen=True)
class OverloadBenchSize:
    """Seconds of overload, and of the search for the rate that can be processed; what queues may use."""

    seconds: float
    search_s: float
    memory: int = MEMORY
    disk: int = DISK


FULL = OverloadBenchSize(seconds=600.0, search_s=15.0)
QUICK = OverloadBenchSize(seconds=60.0, search_s=8.0, disk=60_000_000)
SMALLEST = OverloadBenchSize(seconds=6.0, search_s=2.0, memory=2_000_000, disk=4_000_000)


class Stored(SourceKind):
    """Rows without end, as fast as they are taken: stands for a file or a topic with much to catch up on."""

    kind = "overload_stored"

    def batches(self, context: SourceContext) -> Iterator[pa.Table]:
        """See `SourceKind`."""
        for number in count():
            yield rows_of(number, 10_000)


def run(quick: bool = False, sizes: OverloadBenchSize | None = None) -> dict[str, Any]:
    """Measure. Headline figures first; `lost` and `repeated` are tuples that were pushed and accepted."""
    effort = sizes or (QUICK if quick else FULL)
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "2g"})
    capacity = SLOTS * part("capacity of a slot", partial(carried, spark, effort.search_s))
    return part("overload", partial(_overloaded, spark, capacity, effort)) | {
        "capacity": capacity,
        "settings": {
            "over": OVER,
            "seconds": effort.seconds,
            "memory": effort.memory,
            "disk": effort.disk,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


def application(rate: float, effort: OverloadBenchSize) -> hg.Application:
    """A query for each way in, and one that tolerates an error; all do as much per tuple as the burst's query."""
    queues = {"memory": effort.memory, "disk": effort.disk}
    app = hg.Application(policy={"name": "mbd"}, slots=SLOTS, seed=5, rehearse=True, queues=queues)
    schema = "k INT, v DOUBLE, payload STRING"
    values = {"k": "uniform 0 19", "v": "uniform 1 3", "payload": f"choice {'x' * PAYLOAD}"}
    app.stream("pushed", schema, source=hg.sources.Push(memory=max(1_000_000, effort.memory // 16)))
    feeder = {"kind": "feeder", "rate": rate * (1.0 - PUSHED), "values": values, "changes": [[effort.seconds, 0.0]]}
    app.stream("generated", schema, source=feeder)
    app.stream("stored", schema, source=Stored())
    app.add_class("first", priority=4)
    app.add_class("last", priority=1)
    app.query(
        "of_pushed", f"SELECT k, v, payload FROM pushed WHERE {expensive()}", in_class="first", sink={"kind": "none"}
    )
    app.query("of_stored", f"SELECT k, v FROM stored WHERE {expensive()}", in_class="last", sink={"kind": "none"})
    window = "RSTREAM(SELECT k, sum(v) AS total FROM generated [RANGE 1 SECOND SLIDE 1 SECOND] WHERE {} GROUP BY k)"
    qos = {"latency": {"priority": "must", "points": [[0, LATENCY_S], [1, LATENCY_S]]}}
    app.query(
        "of_generated",
        window.format(expensive()),
        in_class="last",
        sink={"kind": "none"},
        qos=qos,
        tolerance=TOLERANCE,
    )
    return app


def rows_of(seed: int, rows: int) -> pa.Table:
    """Rows as all streams have them."""
    rng = np.random.default_rng(seed)
    payload = pa.repeat("x" * PAYLOAD, rows)
    return pa.table(
        {"k": pa.array(rng.integers(0, 20, rows), pa.int32()), "v": rng.uniform(1, 3, rows), "payload": payload}
    )


class Pusher(threading.Thread):
    """Pushes rows at a rate, whatever becomes of them; a push that is refused is not tried again."""

    def __init__(self, run: hg.Run, rate: float, seconds: float) -> None:
        super().__init__(name="pusher", daemon=True)
        self.accepted = self.refused = 0
        self._run, self._rate, self._seconds = run, rate, seconds

    def run(self) -> None:
        began, batch = time.monotonic(), rows_of(0, BATCH)
        while (since := time.monotonic() - began) < self._seconds:
            due = (self.accepted + self.refused) / self._rate
            if due > since:
                time.sleep(due - since)
            try:
                self.accepted += self._run.push("pushed", batch, timeout=PATIENCE_S)
            except TimeoutError:
                # Those who would have pushed meanwhile were refused, too.
                missed = int((time.monotonic() - began) * self._rate) - self.accepted - self.refused
                self.refused += max(BATCH, missed)


class Watch(threading.Thread):
    """Notes the largest values of memory while it runs."""

    def __init__(self, run: hg.Run, spark: SparkSession) -> None:
        super().__init__(name="watch", daemon=True)
        self.queues = self.spilled = 0
        self._run = run
        self._processes = {"python": psutil.Process(), "jvm": jvm_process(spark)}
        self.before = self._resident()
        self.peak = dict(self.before)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(LOOK_S):
            queues = self._run.overview()["queues"]
            self.queues = max(self.queues, queues["bytes"])
            self.spilled = max(self.spilled, queues["spilled_bytes"])
            self.peak = {name: max(size, self.peak[name]) for name, size in self._resident().items()}

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()

    def _resident(self) -> dict[str, int]:
        return {name: process.memory_info().rss for name, process in self._processes.items()}


def _overloaded(spark: SparkSession, capacity: float, effort: OverloadBenchSize) -> dict[str, Any]:
    """Overload a run, then let it catch up: what was accepted must all be processed, once."""
    rate = OVER * capacity
    with application(rate, effort).start(spark, force=True) as run:
        pusher, watch = Pusher(run, rate * PUSHED, effort.seconds), Watch(run, spark)
        watch.start()
        pusher.start()
        pusher.join()
        run.stop_query("of_stored")  # it would never end
        run.end("pushed")
        began = time.monotonic()
        caught_up = run.wait(effort.seconds)
        watch.end()
        report = run.stop()
    pushed, generated = report.queries["of_pushed"], report.queries["of_generated"]
    return {
        "queue_memory_over_bound": watch.queues / effort.memory,
        "disk_over_bound": watch.spilled / effort.disk,
        "python_growth_mb": (watch.peak["python"] - watch.before["python"]) / 1e6,
        "jvm_growth_mb": (watch.peak["jvm"] - watch.before["jvm"]) / 1e6,
        "lost": max(0, pusher.accepted - round(pushed.outputs)),
        "repeated": max(0, round(pushed.outputs) - pusher.accepted),
        "refused_share": pusher.refused / (pusher.accepted + pusher.refused),
        "shed_share": generated.shed / generated.inputs,
        "caught_up": caught_up,
        "catching_up_s": time.monotonic() - began,
        "inputs": {name: one.inputs for name, one in report.queries.items()},
        "peak_mb": {name: size / 1e6 for name, size in watch.peak.items()},
        "errors": dict(report.errors),
    }
