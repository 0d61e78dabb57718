"""Computes one-time queries on Spark, in the caller's thread and in a session of their own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.errors import ApplicationError
from headgate.language.fragments import location_in
from headgate.runtime.spark.analysis.errors import ANALYSIS_ERRORS, arrow_schema_of, fragments, message_and_remedy
from headgate.runtime.spark.calls.spread_tables import frame_of
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.launch.session import snapshot_session

POOL = "headgate-snapshots"  # where Spark shares its cores by pools; one that nobody configured has the weight 1
_PROPERTIES = (
    "spark.jobGroup.id",
    "spark.job.description",
    "spark.job.interruptOnCancel",
    "spark.scheduler.pool",
)
_AGAIN_S = 0.2
_numbers = itertools.count(1)


def compute_snapshot(
    spark: SparkSession, sql: str, views: Mapping[str, pa.Table], limit: int, timeout_s: float, written: str
) -> pa.Table:
    """The first `limit` rows of a SELECT over these views, which are visible to it alone.

    ApplicationError: what Spark says about the text, with the place in what was `written`. TimeoutError: it took longer
    than `timeout_s`; its jobs are canceled.
    """
    session = snapshot_session(spark)
    with _limited(spark.sparkContext, timeout_s) as expired:
        try:
            for name, table in views.items():
                frame_of(session, table).createTempView(name)
            frame = session.sql(sql).limit(limit)
            if not expired.is_set():
                return collect(frame, arrow_schema_of(frame))
        except ANALYSIS_ERRORS as error:
            if not expired.is_set():
                message, remedy = message_and_remedy(error)
                raise ApplicationError("snapshot", location_in(written, fragments(error)) + message, remedy) from error
        finally:
            for name in views:
                session.catalog.dropTempView(name)
    raise TimeoutError(f"the query took longer than {timeout_s:g} seconds")


@contextmanager
def _limited(context: SparkContext, timeout_s: float) -> Iterator[threading.Event]:
    """The jobs of this thread form a group that is canceled after this time; the event says that it was."""
    group, expired, done = f"headgate-snapshot-{next(_numbers)}", threading.Event(), threading.Event()
    before = {key: context.getLocalProperty(key) for key in _PROPERTIES}

    def watch() -> None:
        if done.wait(timeout_s):
            return
        expired.set()
        while not done.is_set():
            context.cancelJobGroup(group)
            done.wait(_AGAIN_S)  # a query of several jobs may begin another one

    context.setJobGroup(group, "one-time query", True)
    context.setLocalProperty("spark.scheduler.pool", POOL)
    threading.Thread(target=watch, name=group, daemon=True).start()
    try:
        yield expired
    finally:
        done.set()
        for key, value in before.items():
            context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None takes it away
