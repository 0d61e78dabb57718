"""Checks every query of an application with Spark's analyzer, without running it."""

from __future__ import annotations

from pyspark.sql.pandas.types import from_arrow_schema

from headgate.application.checked import CheckedApplication
from headgate.plan.arrow_types import arrow_schema
from headgate.runtime.spark.analysis.schemas import typed
from headgate.runtime.spark.calls.user_functions import show_functions
from headgate.runtime.spark.internals.empty_frame import empty_frame
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.launch.session import own_session, spark_runs, start_spark, stop_spark


def check(app: CheckedApplication) -> None:
    """Let Spark's analyzer check every operator, over streams and tables without rows; no source is read.

    Uses this process's Spark, or starts an embedded one and stops it afterwards; no cluster is needed.
    ApplicationError: Spark rejects a query; the error names the query and the place in its text.
    """
    is_ours = not spark_runs()
    spark = start_spark({**app.spark, "master": "local[1]"})
    try:
        show_functions(app.folder)
        session = own_session(spark)
        tables = {
            name: empty_frame(session, from_arrow_schema(arrow_schema(table.schema, stamps=False)))
            for name, table in app.plan.tables.items()
        }
        typed(session, app.plan, tables, Markers(app.plan))
    finally:
        if is_ours:
            stop_spark(spark)
