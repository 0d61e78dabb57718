"""The stock side of `bench classes`: a workload as Structured Streaming queries, each tuned as well as we know.

Only CPU is measured while it runs. Spark's own progress reports, which each query keeps, say when a batch began, how
long its parts took and which lines it consumed; the arrivals of those tuples are known. Results count as handed over
when addBatch ends, before the batch is committed. For windows, a batch hands over the groups that it touched, which
favors stock: otherwise results would wait until the watermark has passed them.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from headgate.runtime.spark.launch import session
from headgate_lab.bench.classes.measured import Measured, Served, jvm_cpu_s
from headgate_lab.bench.classes.pusher import REHEARSALS, SEPARATOR, WIDTHS, Lines, Pusher, make_lines
from headgate_lab.bench.classes.workload import MASTER, PRIORITIES, BenchQuery, Tuples, Workload, due, tuples

log = logging.getLogger("headgate_lab.bench")

Floats = NDArray[np.float64]
Mode = Literal["FIFO", "FAIR"]

MIN_SHARES = {"class1": 2, "class2": 1, "class3": 0}
MOST_QUERIES = 100  # the most that have a pool of their own
LEAD_S = 0.3  # from the end of the rehearsal to the first tuple
BEFORE_TRIGGER_S = 0.03  # a tick and the pusher's possible delay, with a margin
GRACE_S = 2.0  # how long the last batches may take to report
STOCK_MEMORY = "8g"  # the socket source buffers what it has read and not yet processed
LATE = "10 milliseconds"  # streams are in order, so the watermark can follow closely and state stays small
PATIENCE_S = 120.0  # how long a rehearsal may take
PARTS = (
    "latestOffset",
    "walCommit",
    "getBatch",
    "queryPlanning",
    "addBatch",
)  # of a batch, until its results are handed over

CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"
# Settings that make micro-batches cheaper. Anything that only helps after a failure is off, as none happens here. State
# stays in the default store: with 20 queries, RocksDB made no difference that stood out from the noise.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",  # of a state store: more would mean more tasks and files per batch
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),  # single partitions are joined without a shuffle,
    "spark.sql.defaultSizeInBytes": "1",  # though their size is unknown
    "spark.sql.adaptive.enabled": "false",  # re-planning costs more than a small job
    "spark.sql.execution.usePartitionEvaluator": "true",  # otherwise each batch examines the closure of every stage
    "spark.sql.ui.explainMode": "simple",  # every batch writes its plan as text
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # no batches that only drop old state
    "spark.sql.streaming.minBatchesToRetain": "1000000",  # otherwise each batch lists and deletes old files
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",  # few snapshots, which only a restart would read
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "1000000",  # the progress reports that we measure with
    "spark.sql.streaming.pollingDelay": "5ms",  # the interval at which tuples are sent; the default is 10ms
    "spark.sql.streaming.stopTimeout": "10s",
    # Half as many files, without checksums. Where Hadoop has no native library, it starts a `chmod` for each file, and
    # its FileContext one or two `readlink`s.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
JAVA_OPTIONS = "-Djdk.lang.Process.launchMechanism=VFORK"  # the cheapest way to start those processes
QUIET = Path(session.__file__).with_name("log4j2.properties")  # the same logging as Headgate's


# The session and its pools --------------------------------------------------------------------------------------------


class Variant(NamedTuple):
    """A way to express priorities in Spark: the pool of each query, and the shortest interval between its batches."""

    pool: Callable[[BenchQuery], str]
    every: Callable[[BenchQuery], str | None] = lambda _: None  # None: as soon as the last batch has ended


def class_pool(query: BenchQuery) -> str:
    """A pool per class."""
    return f"weights-{query.class_name}"


def own_pool(query: BenchQuery) -> str:
    """A pool per query."""
    return f"query-{query.class_name}-{query.name}"  # ties are broken by name: class 1 first


def rarer_below(query: BenchQuery) -> str | None:
    """The less important classes have fewer and larger batches."""
    return {"class2": "1 second", "class3": "3 seconds"}.get(query.class_name)


def once_a_window(query: BenchQuery) -> str | None:
    """Windows of every class run when they end, as in Headgate: earlier batches would not hand over final results."""
    return "1 second" if query.kind in ("count", "average") else rarer_below(query)


def paced(query: BenchQuery) -> str | None:
    """The less important classes run even more rarely, and batches of the first class leave time for each other."""
    if query.class_name == "class1":
        return {"filter": "100 milliseconds", "join": "200 milliseconds"}.get(query.kind, "1 second")
    return {"class2": "2 seconds", "class3": "5 seconds"}[query.class_name]


VARIANTS = {
    "weights": Variant(class_pool),
    "minshare": Variant(lambda query: f"minshare-{query.class_name}"),
    "per-query": Variant(own_pool),
    "triggers": Variant(class_pool, rarer_below),
    "windows": Variant(class_pool, once_a_window),
    "windows per-query": Variant(own_pool, once_a_window),
    "paced": Variant(own_pool, paced),
}
PLAIN = Variant(lambda _: "default")


def stock_session(mode: Mode) -> SparkSession:
    """Spark with two slots, in this process. With FAIR it has the pools of all variants.

    The scheduler's mode is fixed when Spark starts, so a Spark in the other mode is stopped. The JVM stays, and stays
    warm: two of them would need more memory than many machines have.
    """
    if session.spark_runs():
        runs = SparkSession.builder.getOrCreate()
        if runs.sparkContext.getConf().get("spark.scheduler.mode") == mode:
            return runs
        runs.stop()
    chosen = {"master": MASTER, "spark.driver.memory": STOCK_MEMORY, "spark.scheduler.mode": mode, **SETTINGS}
    chosen["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={QUIET} {JAVA_OPTIONS}"
    with tempfile.TemporaryDirectory(prefix="headgate-pools-") as folder:  # read while Spark starts
        file = Path(folder) / "pools.xml"
        file.write_text(allocations())
        chosen |= {"spark.scheduler.allocation.file": file.as_uri()} if mode == "FAIR" else {}
        return session.start_spark(chosen)


def allocations() -> str:
    """The pools of all variants, as Spark's allocation file."""
    members = Workload("pools", MOST_QUERIES, 1.0, 1.0).members()
    pools = {VARIANTS["weights"].pool(query): (PRIORITIES[query.class_name], 0) for query in members}
    pools |= {VARIANTS["minshare"].pool(q): (PRIORITIES[q.class_name], MIN_SHARES[q.class_name]) for q in members}
    pools |= {VARIANTS["per-query"].pool(q): (PRIORITIES[q.class_name], int(q.class_name == "class1")) for q in members}
    rows = (
        f'<pool name="{name}"><schedulingMode>FIFO</schedulingMode>'
        f"<weight>{weight}</weight><minShare>{share}</minShare></pool>"
        for name, (weight, share) in pools.items()
    )
    return "<allocations>" + "".join(rows) + "</allocations>"


# Queries --------------------------------------------------------------------------------------------------------------


def read_stream(spark: SparkSession, port: int) -> DataFrame:
    """The columns ts, k and v of a stream that the pusher serves."""
    lines = spark.readStream.format("socket").options(host="127.0.0.1", port=port, numPartitions=1).load()
    records = lines.select(F.explode(F.split("value", SEPARATOR)).alias("r"))
    at, columns = 1, []
    for width in WIDTHS:
        columns.append(F.substring("r", at, width))
        at += width
    return records.select(
        F.timestamp_micros(columns[0].cast("bigint")).alias("ts"),
        columns[1].cast("int").alias("k"),
        (columns[2].cast("int") * F.lit(1e-6)).alias("v"),
    )


def build(query: BenchQuery, streams: Sequence[DataFrame]) -> tuple[DataFrame, str]:
    """The query and its output mode."""
    if query.kind == "filter":
        return streams[0].where("v > 0.5").select("k", "v"), "append"
    timed = [stream.withWatermark("ts", LATE).coalesce(1) for stream in streams]  # no shuffle: a task a batch
    if query.kind == "join":
        a, b = timed[0].alias("a"), timed[1].alias("b")
        near = "a.k = b.k AND b.ts > a.ts - INTERVAL 1 SECOND AND b.ts < a.ts + INTERVAL 1 SECOND"
        return a.join(b, F.expr(near)).select("a.k", "a.v", F.col("b.v").alias("w")), "append"
    value = F.count("*") if query.kind == "count" else F.avg("v")
    return timed[0].groupBy(F.window("ts", "1 second"), "k").agg(value.alias("value")).select("k", "value"), "update"


class QueryStarter(NamedTuple):
    """Starts queries. It knows the ports by stream, and a folder for checkpoints."""

    spark: SparkSession
    ports: Mapping[str, int]
    folder: Path

    def read(self, query: BenchQuery) -> list[DataFrame]:
        """The streams of a query."""
        return [read_stream(self.spark, self.ports[stream]) for stream in query.streams]

    def start(self, query: BenchQuery, frame: DataFrame, mode: str, variant: Variant = PLAIN) -> RunningQuery:
        """Start a query in its pool. The thread that runs it inherits this thread's property."""
        writer = frame.writeStream.format("noop").outputMode(mode).queryName(query.name)
        writer = writer.option("checkpointLocation", (self.folder / query.name).as_uri())
        if query.kind == "filter":
            writer = writer.option("asyncProgressTrackingEnabled", "true")  # allowed only for queries without state
        if (every := variant.every(query)) is not None:
            writer = writer.trigger(processingTime=every)
        context = self.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", variant.pool(query))
        try:
            return RunningQuery(query, writer.start(), {self.ports[stream]: stream for stream in query.streams})
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]


class RunningQuery(NamedTuple):
    """A started query, and its streams by port."""

    query: BenchQuery
    handle: StreamingQuery
    streams: Mapping[int, str]

    def batches(self, epoch: float) -> list[MicroBatch]:
        """All batches that have run so far, oldest first."""
        reports = (json.loads(report.json()) for report in self.handle._jsq.recentProgress())
        return [batch for batch in (read_batch(report, self.streams, epoch) for report in reports) if batch.lines]

    def reached(self, line: int) -> bool:
        """Whether the query has consumed this many lines of each of its streams. Raises RuntimeError if it failed."""
        if (problem := self.handle.exception()) is not None:
            raise RuntimeError(f"{self.query.name} failed: {problem}")
        last = self.handle._jsq.lastProgress()
        if last is None:
            return False
        batch = read_batch(json.loads(last.json()), self.streams, 0.0)
        return all(batch.ends.get(stream, 0) >= line for stream in self.query.streams)


# What batches did -----------------------------------------------------------------------------------------------------


class MicroBatch(NamedTuple):
    """One batch of a query."""

    began: float  # seconds since the start
    handed: float  # when its results were handed over, in seconds since the start
    seconds: float  # how long it took, including the commit
    lines: Mapping[str, tuple[int, int]]  # stream -> first line, and the one after the last; only streams with lines
    ends: Mapping[str, int]  # stream -> lines consumed so far


def read_batch(report: Mapping[str, Any], streams: Mapping[int, str], epoch: float) -> MicroBatch:
    """The batch of a progress report of Spark. Sources name their port; offsets are line numbers that start at -1."""
    took = report["durationMs"]
    began = datetime.fromisoformat(report["timestamp"]).timestamp() - epoch
    handed = began + sum(took.get(part, 0) for part in PARTS) / 1e3
    spans = {}
    for source in report["sources"]:
        port = int(source["description"].rsplit("port:", 1)[1].strip(" ]"))
        spans[streams[port]] = _offset(source["startOffset"]), _offset(source["endOffset"])
    lines = {name: (first + 1, last + 1) for name, (first, last) in spans.items() if last > first}
    return MicroBatch(
        began, handed, took.get("triggerExecution", 0) / 1e3, lines, {n: s[1] + 1 for n, s in spans.items()}
    )


def _offset(text: str | int | None) -> int:
    return -1 if text is None else int(text)


def arrivals_of_results(query: BenchQuery, parts: Mapping[str, Tuples]) -> Floats:
    """The arrival of the newest tuple in each result that a batch with these tuples hands over.

    For a join, each tuple stands for its pairs.
    """
    if query.kind == "join":
        return np.concatenate([part.arrivals for part in parts.values()])
    (part,) = parts.values()
    if query.kind == "filter":
        return part.arrivals[part.v > 0.5]
    groups = np.floor(part.arrivals).astype(np.int64) << 32 | part.k
    _, newest = np.unique(groups[::-1], return_index=True)  # the last of each group
    return part.arrivals[::-1][newest]


class QueryResults(NamedTuple):
    """What a query achieved by the end of the run."""

    latencies: Floats
    completed: int


def query_results(
    query: BenchQuery,
    batches: Sequence[MicroBatch],
    lines: Mapping[str, Lines],
    came: Mapping[str, Tuples],
    workload: Workload,
) -> QueryResults:
    """Compute a query's results from its batches that handed over in time."""
    found, completed = [np.zeros(0)], 0
    for batch in batches:
        if batch.handed > workload.seconds:
            continue
        parts = {}
        for stream, (first, after) in batch.lines.items():
            taken = slice(lines[stream].tuples_before(first), lines[stream].tuples_before(after))
            arrivals, k, v = came[stream]
            parts[stream] = Tuples(arrivals[taken], k[taken], v[taken])
            completed += taken.stop - taken.start
        times = arrivals_of_results(query, parts)
        found.append(batch.handed - times[times >= workload.warm_s])
    return QueryResults(np.concatenate(found), completed)


# A run ----------------------------------------------------------------------------------------------------------------


def run_stock(workload: Workload, variant: Variant | None = None) -> Measured:
    """Run a workload once, with the pools of a variant or, without one, with FIFO."""
    spark, came = stock_session("FIFO" if variant is None else "FAIR"), tuples(workload)
    before = time.monotonic()
    with serving(came) as pusher, scratch() as folder, stopping(spark) as running:
        place = QueryStarter(spark, pusher.ports, folder)
        for query in workload.members():
            running.append(place.start(query, *build(query, place.read(query)), variant or PLAIN))
        rehearse(pusher, running)
        rehearsed = time.monotonic() - before
        ran = measure(spark, pusher, running, workload.seconds)
    details = {"rehearsed_s": rehearsed, "pusher": ran.pusher, "batches": _batch_figures(workload, ran.batches)}
    return _measured(workload, ran, pusher.lines, came, details)


class StockRun(NamedTuple):
    """What was recorded of a run."""

    batches: Mapping[str, list[MicroBatch]]  # by query
    cpu_s: float
    pusher: Mapping[str, Any]


def measure(spark: SparkSession, pusher: Pusher, running: Sequence[RunningQuery], seconds: float) -> StockRun:
    """Push tuples for this long. Called after the rehearsals."""
    epoch = start_time(time.time())
    pusher.start(epoch)
    time.sleep(max(0.0, epoch - time.time()))
    cpu = -(jvm_cpu_s(spark) + time.process_time())
    time.sleep(max(0.0, epoch + seconds - time.time()))
    cpu += jvm_cpu_s(spark) + time.process_time()
    pushed = pusher.stop()
    time.sleep(GRACE_S)
    return StockRun({one.query.name: one.batches(epoch) for one in running}, cpu, pushed)


def start_time(now: float) -> float:
    """The start that makes windows end just before Spark's triggers, which fire at whole seconds."""
    return math.ceil(now + LEAD_S + BEFORE_TRIGGER_S) - BEFORE_TRIGGER_S


def rehearse(pusher: Pusher, running: Sequence[RunningQuery]) -> None:
    """Have each query run some batches, so that its code is compiled and its state exists."""
    for count in range(1, REHEARSALS + 1):
        pusher.rehearse(count)
        deadline = time.monotonic() + PATIENCE_S
        for query in running:
            while not query.reached(count * pusher.lines[query.query.streams[0]].rehearsal):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{query.query.name} has not run its rehearsal after {PATIENCE_S:.0f} s")
                time.sleep(0.05)


def _measured(
    workload: Workload,
    ran: StockRun,
    lines: Mapping[str, Lines],
    came: Mapping[str, Tuples],
    details: Mapping[str, Any],
) -> Measured:
    classes: dict[str, dict[str, Served]] = {name: {} for name in PRIORITIES}
    for query in workload.members():
        found = query_results(query, ran.batches[query.name], lines, came, workload)
        classes[query.class_name][query.name] = Served(found.latencies, due(query, workload, came), found.completed)
    return Measured(classes, ran.cpu_s, workload.seconds, workload.warm_s, details)


def _batch_figures(workload: Workload, batches: Mapping[str, Sequence[MicroBatch]]) -> dict[str, dict[str, float]]:
    """The number and mean duration of batches, by class and by kind of query."""
    spans: dict[str, list[float]] = {}
    for query in workload.members():
        took = [batch.seconds for batch in batches[query.name] if batch.began >= 0 and batch.handed <= workload.seconds]
        for group in (query.class_name, query.kind):
            spans.setdefault(group, []).extend(took)
    return {
        name: {"count": len(took), "mean_ms": float(np.mean(took)) * 1e3 if took else 0.0}
        for name, took in sorted(spans.items())
    }


# Cleaning up in every case -------------------------------------------------------------------------------------------


@contextmanager
def serving(came: Mapping[str, Tuples]) -> Iterator[Pusher]:
    """A pusher that serves these streams for the length of a block."""
    pusher = Pusher((name, make_lines(found)) for name, found in came.items())
    try:
        yield pusher
    finally:
        pusher.close()


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder for checkpoints, in memory where the system offers that."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="headgate-stock-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def stopping(spark: SparkSession) -> Iterator[list[RunningQuery]]:
    """Stop the queries that the block put into the list, including those that wait for a slot in vain."""
    running: list[RunningQuery] = []
    try:
        yield running
    finally:
        for query in running:
            with suppress(PySparkException, Py4JError):  # too slow to stop: the jobs are cancelled below
                query.handle.stop()
        spark.sparkContext.cancelAllJobs()
        for query in running:
            if query.handle.isActive:
                log.warning("%s did not stop", query.query.name)
        with suppress(Py4JError):  # otherwise these queries' stores stay in memory until the next maintenance
            spark.sparkContext._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()  # type: ignore[union-attr]
