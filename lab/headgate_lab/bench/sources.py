"""headgate bench sources: tuples of a Kafka topic, compared with stock Spark.

`latency_over_stock`: a tuple is written to one topic, a query selects from it, its result comes out of another one.
Headgate reads and writes with its native clients; Structured Streaming reads and writes with Spark's connector, with
its default trigger, which begins a micro-batch as soon as the one before has ended. Both sides write checkpoints, go on
from them after a crash, and deliver results at least once. Both run on the same Spark and the same broker, one after
the other, and a process beside them writes the tuples and reads the results.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyspark
from pyspark.sql import SparkSession

import headgate as hg
from headgate.runtime.spark.launch.session import start_spark
from headgate_lab.bench import kafka_load
from headgate_lab.bench.kafka_broker import Broker, make_topic, spark_connector
from headgate_lab.bench.parts import part


@dataclass(frozen=True)
class SourcesBenchSize:
    """The size of the measurement."""

    rate: int  # tuples per second
    warm_s: float
    seconds: float
    rounds: int


FULL = SourcesBenchSize(1000, 15, 30, 3)
QUICK = SourcesBenchSize(1000, 10, 10, 1)
SMALLEST = SourcesBenchSize(200, 2, 2, 1)


def run(quick: bool = False, sizes: SourcesBenchSize | None = None) -> dict[str, Any]:
    """Measure; `latency_over_stock` should be at most 0.3. Needs Maven, or the jars that it would fetch."""
    chosen = sizes or (QUICK if quick else FULL)
    settings = {"master": "local[2]", "spark.driver.memory": "2g", "spark.jars": spark_connector()}
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder) / "broker") as broker:
        spark = start_spark(settings)
        try:
            latencies = part("latency_seconds", lambda: _compare(spark, broker.servers, Path(folder), chosen))
        finally:
            spark.stop()
    return {
        "latency_over_stock": latencies["headgate"]["mean"] / latencies["structured streaming"]["mean"],
        "latency_seconds": latencies,
        "settings": {
            "rate": chosen.rate,
            "seconds": chosen.seconds,
            "rounds": chosen.rounds,
            "query": kafka_load.QUERY,
            "delivery": "at least once, with checkpoints",
            "spark": pyspark.__version__,
            "master": "local[2]",
        },
    }


def _compare(spark: SparkSession, servers: str, folder: Path, sizes: SourcesBenchSize) -> dict[str, dict[str, float]]:
    """Latencies of both sides; the rounds alternate."""
    found: dict[str, list[float]] = {"headgate": [], "structured streaming": []}
    ways = {"headgate": _headgate, "structured streaming": _stock}
    for number in range(sizes.rounds):
        for name, way in ways.items():
            source, target = (make_topic(servers, f"{end}-{name[:8]}-{number}") for end in ("in", "out"))
            with way(spark, servers, source, target, folder):
                found[name] += kafka_load.measured(servers, source, target, sizes.rate, sizes.warm_s, sizes.seconds)
    return {name: _summary(latencies) for name, latencies in found.items()}


def _summary(latencies: list[float]) -> dict[str, float]:
    p50, p95, p99 = np.quantile(latencies, [0.5, 0.95, 0.99]).tolist()
    return {"mean": statistics.fmean(latencies), "p50": p50, "p95": p95, "p99": p99, "results": len(latencies)}


@contextmanager
def _headgate(spark: SparkSession, servers: str, source: str, target: str, folder: Path) -> Iterator[None]:
    app = hg.Application(slots=2, checkpoint=str(folder / f"state-{target}"))
    app.stream("clicks", kafka_load.SCHEMA, source=hg.sources.Kafka(servers=servers, topic=source))
    sink = hg.sinks.Kafka(servers=servers, topic=target, delivery="at_least_once")
    app.query("passed", kafka_load.QUERY.format(stream="clicks"), sink=sink)
    with app.start(spark=spark):
        yield


@contextmanager
def _stock(spark: SparkSession, servers: str, source: str, target: str, folder: Path) -> Iterator[None]:
    brokers = {"kafka.bootstrap.servers": servers}
    settings = {**brokers, "subscribe": source, "startingOffsets": "earliest"}
    read = spark.readStream.format("kafka").options(**settings).load()
    read.selectExpr(f"inline(array(from_json(CAST(value AS STRING), '{kafka_load.SCHEMA}')))").createOrReplaceTempView(
        "stock_clicks"
    )
    results = spark.sql(kafka_load.QUERY.format(stream="stock_clicks")).selectExpr("to_json(struct(*)) AS value")
    written = results.writeStream.format("kafka").options(**brokers, topic=target)
    query = written.option("checkpointLocation", str(folder / f"checkpoint-{target}")).start()
    try:
        yield
    finally:
        query.stop()
