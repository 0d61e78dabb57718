"""Starts and stops Spark, and makes the session that Headgate works in."""

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

# Excluded, so that the optimizer leaves each operator's filter where the plan put it. Our own rules have already pushed
# selections down, and only with separate filters can one job report the row count of every operator in it.
_RULES_THAT_MOVE_FILTERS = (
    "PushDownPredicates",
    "PushPredicateThroughNonJoin",
    "PushPredicateThroughJoin",
    "CombineFilters",
    "InferFiltersFromConstraints",
    "PruneFilters",
)

# SQL settings of all sessions of Headgate: what a text means does not depend on how Spark was started.
_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    # Otherwise ${env:HOME} in a query, even in quotes, is replaced by a variable of the driver or a Spark setting.
    "spark.sql.variable.substitute": "false",
    # Quotation marks mean what our own parser takes them for: Spark must not read something else than was checked.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.execution.arrow.localRelationThreshold": "0",  # data comes from jobs, which can be swapped or canceled
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}

# SQL settings for the calls of continuous queries, besides these.
_SQL = {
    "spark.sql.adaptive.enabled": "false",  # re-planning costs more than a small job
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # a broadcast is a second job, and keeps old data
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),  # single partitions join without an exchange
    "spark.sql.defaultSizeInBytes": "1",  # otherwise joined leaves look too big for one partition
    "spark.sql.execution.usePartitionEvaluator": "true",  # otherwise each job examines every stage's closure
    "spark.sql.ui.explainMode": "simple",  # each call prints its plan, for Spark's UI
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.debug.maxToStringFields": "10000",
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES_THAT_MOVE_FILTERS
    ),
}

# Python loggers of PySpark that print each failed query with its stack trace, as one long line of JSON.
_NOISY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def spark_runs() -> bool:
    """Is Spark running in this process, whoever started it? If so, it is not ours to stop or to silence."""
    return SparkContext._active_spark_context is not None


def start_spark(settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or join the one that runs in this process. `settings` may name `master` and any Spark setting.

    ApplicationError: Spark did not start; commands print this as one line.
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
        # Headgate reports a failing job once; embedded Spark would add its stack traces to the console.
        spark.sparkContext.setLogLevel("FATAL" if master.startswith("local") else "ERROR")
    _silence_pyspark()
    return spark


def stop_spark(spark: SparkSession) -> None:
    """Stop Spark, even if its JVM has died; the next `start_spark` then starts a new one."""
    try:
        spark.stop()
    except (Py4JError, OSError):
        log.debug("Spark had ended before it could be stopped", exc_info=True)
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None


def lost_spark(error: Exception) -> SparkDied | None:
    """SparkDied if a call failed because the JVM died, else None. Waits a moment: the JVM may still be ending."""
    if isinstance(error, Py4JJavaError) or not isinstance(error, (Py4JError, OSError, EOFError)):
        return None
    try:
        check_jvm(patience_s=1.0)
    except SparkDied as gone:
        return gone
    return None


def _connect(jvm: Jvm) -> None:
    """Connect PySpark to this JVM; waits until it is up."""
    port, secret = jvm.address()
    variables = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(variables)
    try:
        gateway: Any = launch_gateway()
    finally:
        for name in variables:
            os.environ.pop(name, None)
    gateway.proc = jvm.process
    SparkContext._ensure_initialized(gateway=gateway)
    _delete_with_jvm(gateway.jvm, jvm.folder)


def goes_with_spark(spark: SparkSession, folder: Path) -> None:
    """Have the JVM remove a folder when it exits, which it also does when Python is killed."""
    _delete_with_jvm(spark._jvm, folder)


def _delete_with_jvm(java: Any, folder: Path) -> None:
    java.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(java.java.io.File(str(folder)))


@contextmanager
def _keeping_sigint_handler() -> Iterator[None]:
    """Leave the Ctrl-C handler as it was while Spark starts: PySpark's own would cancel the calls in flight."""
    in_main = threading.current_thread() is threading.main_thread()  # PySpark installs its handler only there
    before = signal.getsignal(signal.SIGINT) if in_main else None
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
            with suppress(Py4JError):  # the reason why Spark did not start matters more than this error
                half_started.stop()  # otherwise the next start would join a Spark that does not run
        message = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
        reason = (message.splitlines() or ["no reason given"])[0].rstrip(".")
        remedy = "check the master and the Spark settings"
        raise ApplicationError("spark", f"Spark did not start on '{master}': {reason}", remedy) from error


def _silence_pyspark() -> None:
    for name in _NOISY_LOGGERS:
        # Made by PySpark's own class: its callers pass arguments that a plain logger does not accept.
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Py4j prints a stack trace for each canceled call, although failures reach us as exceptions. It logs some through
    # its own loggers, others through the root logger.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_not_from_py4j)


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def own_session(spark: SparkSession) -> SparkSession:
    """A new session with Headgate's SQL settings; the user's own session stays as it is."""
    session = snapshot_session(spark)
    for key, value in _SQL.items():
        session.conf.set(key, value)
    return session


def snapshot_session(spark: SparkSession) -> SparkSession:
    """A new session for one-time queries, which Spark may optimize as it likes."""
    session = spark.newSession()
    for key, value in _MEANING.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    return session
