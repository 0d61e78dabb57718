"""The Spark session that Headgate works in."""

from __future__ import annotations

import glob
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from headgate.plan.errors import ApplicationError

log = logging.getLogger("headgate.spark")

# The optimiser leaves each operator's filter where the plan put it: our own rewriting has pushed selections down
# already, and separate filters are what lets one job report the row count of every operator inside it.
_KEPT_APART = (
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
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _KEPT_APART
    ),
}

# Python loggers of PySpark that print each failed query with its stack trace, as one long line of JSON.
_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

# Defaults of the application, when Headgate starts Spark itself.
_CORE = {
    # Every sort and hash table of a job takes at least one page. Pages of the usual 16 to 64 MB are fine for a few
    # large tasks, but many small jobs a second would keep the garbage collector busy with them.
    "spark.buffer.pageSize": "1m",
    # A broadcast is made in blocks of this size, filled with zeros first; the usual 4 MB are for one broadcast a while,
    # and every job broadcasts its few kilobytes of code.
    "spark.broadcast.blockSize": "128k",
    # PySpark notes for each column expression which line of Python made it: three trips to the JVM for one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Generated code is kept by its text. The usual 100 entries are few for tens of queries with several stages each.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "200",  # thousands of small jobs an hour: keep the newest only
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.driver.memory": "4g",
    "spark.scheduler.mode": "FIFO",
}

# What Spark takes as a master. Told anything else, its launcher ends with a stack trace on the console.
_MASTER = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|local-cluster\[[\d\s,]+\]|yarn|(spark|k8s)://.+")


def spark_runs() -> bool:
    """Does this process have a Spark, whichever thread started it? It is then not ours to stop or to hush."""
    return SparkContext._active_spark_context is not None


def start_spark(settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or join the one this process has. `settings` may name `master` and any Spark setting.

    Raises ApplicationError when it does not start, which commands print as one line.
    """
    joins = spark_runs()
    given = dict(settings or {})
    master = given.pop("master", None) or "local[*]"
    if not _MASTER.fullmatch(master):
        remedy = "write local[*], local[2], spark://host:7077, k8s://host:443 or yarn"
        raise ApplicationError("spark.master", f"'{master}' is no Spark master", remedy)
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("headgate").master(master)
    quiet = Path(__file__).with_name("log4j2.properties")
    builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
    defaults = dict(_CORE) | ({"spark.ui.enabled": "false"} if master.startswith("local") else {})
    for key, value in (defaults | given).items():
        builder = builder.config(key, str(value))
    spark = _started(builder, master, joins)
    if not joins:
        # A failing job is reported once, by us; embedded Spark would add its stack traces to the console.
        spark.sparkContext.setLogLevel("FATAL" if master.startswith("local") else "ERROR")
    _hush_pyspark()
    return spark


def _started(builder: SparkSession.Builder, master: str, joins: bool) -> SparkSession:
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        half_started = SparkContext._active_spark_context
        if half_started is not None and not joins:
            with suppress(Py4JError):  # what it has to say matters less than why it did not start
                half_started.stop()  # else the next start would join a Spark that does not run
        said = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
        reason = (said.splitlines() or ["no reason given"])[0].rstrip(".")
        remedy = "check the master and the Spark settings"
        raise ApplicationError("spark", f"Spark did not start on '{master}': {reason}", remedy) from error


def _hush_pyspark() -> None:
    for name in _LOUD:
        # Made by PySpark's own class: its callers pass what a plain logger does not take.
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Py4j prints a stack trace for each call that Ctrl-C cuts off; what fails reaches us as an exception anyway.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)


def own_session(spark: SparkSession) -> SparkSession:
    """A session beside the user's, with Headgate's SQL settings."""
    session = spark.newSession()
    for key, value in _SQL.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    return session


def find_java() -> None:
    """Make sure Spark finds Java 17 or newer; raises ApplicationError saying what to install."""
    homes = [os.environ.get("JAVA_HOME", ""), *sorted(glob.glob("/usr/lib/jvm/*"))]
    candidates = [os.path.join(h, "bin", "java") for h in homes[:1] if h]
    candidates += [path for path in [shutil.which("java")] if path]
    candidates += [os.path.join(h, "bin", "java") for h in homes[1:]]
    for java in candidates:
        if os.access(java, os.X_OK) and _java_version(java) >= 17:
            if java != shutil.which("java"):
                os.environ["JAVA_HOME"] = os.path.dirname(os.path.dirname(java))
            elif _is_too_old(os.environ.get("JAVA_HOME", "")):
                del os.environ["JAVA_HOME"]
            return
    raise ApplicationError("java", "Spark needs Java 17 or newer and none was found", "install openjdk-17-jre-headless")


def _is_too_old(home: str) -> bool:
    java = os.path.join(home, "bin", "java")
    return bool(home) and (not os.access(java, os.X_OK) or _java_version(java) < 17)


def _java_version(java: str) -> int:
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
        number = text.split('"')[1].split(".")
        return int(number[1] if number[0] == "1" else number[0])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return 0
