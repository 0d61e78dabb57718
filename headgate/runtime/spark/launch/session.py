"""The Spark session that Headgate works in."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from headgate.errors import ApplicationError
from headgate.runtime.spark.launch.jvm import Jvm, SparkDied, begin_jvm, check_jvm
from headgate.runtime.spark.launch.settings import launch_settings

log = logging.getLogger("headgate.spark")

# The optimiser leaves each operator's filter where the plan put it: our own rewriting has pushed selections down
# already, and separate filters are what lets one job report the row count of every operator inside it.
_RULES_THAT_MOVE_FILTERS = (
    "PushDownPredicates",
    "PushPredicateThroughNonJoin",
    "PushPredicateThroughJoin",
    "CombineFilters",
    "InferFiltersFromConstraints",
    "PruneFilters",
)

# Session settings, valid for Headgate's queries only (they run in a session of their own).
_SQL = {
    "spark.sql.adaptive.enabled": "false",  # re-planning costs more than a small job
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # a broadcast is a second job, and keeps old data
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),  # single partitions join without an exchange
    "spark.sql.defaultSizeInBytes": "1",  # else leaves joined with each other seem too big for one partition
    "spark.sql.execution.arrow.localRelationThreshold": "0",  # leaves must be RDDs, whose data can be swapped
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.usePartitionEvaluator": "true",  # else the closure of every stage is examined for each job
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ui.explainMode": "simple",  # the plan is written down for each call, for Spark's page of queries
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.debug.maxToStringFields": "10000",
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES_THAT_MOVE_FILTERS
    ),
}

# Python loggers of PySpark that print each failed query with its stack trace, as one long line of JSON.
_NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def spark_runs() -> bool:
    """Does this process have a Spark, whichever thread started it? It is then not ours to stop or to hush."""
    return SparkContext._active_spark_context is not None


def start_spark(settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or join the one this process has. `settings` may name `master` and any Spark setting.

    Raises ApplicationError when it does not start, which commands print as one line.
    """
    joins = spark_runs()
    given = dict(settings or {})
    chosen = launch_settings(given)
    master = chosen["spark.master"]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        _connect(begin_jvm(given))
    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with _keeping_sigint_handler():
        spark = _get_or_create(builder, master, joins)
    if not joins:
        # A failing job is reported once, by us; embedded Spark would add its stack traces to the console.
        spark.sparkContext.setLogLevel("FATAL" if master.startswith("local") else "ERROR")
    _silence_pyspark()
    return spark


def stop_spark(spark: SparkSession) -> None:
    """Stop Spark, also one whose JVM has died: the next start is a new one then."""
    try:
        spark.stop()
    except (Py4JError, OSError):
        log.debug("Spark was gone before it could be stopped", exc_info=True)
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None


def lost_spark(error: Exception) -> SparkDied | None:
    """Has a call failed because the JVM has died? It may take a moment until it is gone."""
    if isinstance(error, Py4JJavaError) or not isinstance(error, (Py4JError, OSError, EOFError)):
        return None
    try:
        check_jvm(patience_s=1.0)
    except SparkDied as gone:
        return gone
    return None


def _connect(jvm: Jvm) -> None:
    """Let PySpark use this JVM, when it is up."""
    port, secret = jvm.address()
    told = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(told)
    try:
        gateway: Any = launch_gateway()
    finally:
        for name in told:
            os.environ.pop(name, None)
    gateway.proc = jvm.process
    SparkContext._ensure_initialized(gateway=gateway)
    _delete_with_jvm(gateway.jvm, jvm.folder)


def goes_with_spark(spark: SparkSession, folder: Path) -> None:
    """Have the JVM remove a folder when it leaves, as it does by itself when Python is killed."""
    _delete_with_jvm(spark._jvm, folder)


def _delete_with_jvm(java: Any, folder: Path) -> None:
    java.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(java.java.io.File(str(folder)))


@contextmanager
def _keeping_sigint_handler() -> Iterator[None]:
    """Spark's start leaves Ctrl-C as it was: PySpark's own handler would cancel the calls in flight."""
    mine = threading.current_thread() is threading.main_thread()  # PySpark installs it in this one only
    before = signal.getsignal(signal.SIGINT) if mine else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _get_or_create(builder: SparkSession.Builder, master: str, joins: bool) -> SparkSession:
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        check_jvm(patience_s=1.0)
        half_started = SparkContext._active_spark_context
        if half_started is not None and not joins:
            with suppress(Py4JError):  # what it has to say matters less than why it did not start
                half_started.stop()  # else the next start would join a Spark that does not run
        said = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
        reason = (said.splitlines() or ["no reason given"])[0].rstrip(".")
        remedy = "check the master and the Spark settings"
        raise ApplicationError("spark", f"Spark did not start on '{master}': {reason}", remedy) from error


def _silence_pyspark() -> None:
    for name in _NOISY_LOGGERS:
        # Made by PySpark's own class: its callers pass what a plain logger does not take.
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Py4j prints a stack trace for each call that is cut off; what fails reaches us as an exception anyway. Some come
    # by its own loggers, some by the root's.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_from_py4j)


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def own_session(spark: SparkSession) -> SparkSession:
    """A session beside the user's, with Headgate's SQL settings."""
    session = spark.newSession()
    for key, value in _SQL.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    return session
