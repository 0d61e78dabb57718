"""The partitioned way to run a call: planned each time, with as many partitions as the rows justify."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.runtime.spark.calls.composer import Composer
from headgate.runtime.spark.calls.job import JobShape, StateInputs, compose
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.stateful.base import Instants
from headgate.runtime.spark.stateful.state import Log, LogName

# With fewer rows, another partition costs more (a task and its scheduling) than it saves.
ROWS_PER_PARTITION = 25_000


def partitions_for(rows: int, parallelism: int) -> int:
    """How many partitions this number of rows justifies, with Spark's default parallelism."""
    return max(1, min(parallelism, rows // ROWS_PER_PARTITION))


def run_partitioned(
    session: SparkSession,
    plan: Plan,
    shape: JobShape,
    inputs: Mapping[Edge, pa.Table],
    logs: Mapping[LogName, Log],
    bounds: Mapping[str, Instants],
    composer: Composer,
    markers: Markers,
    partitions: int,
) -> tuple[pa.Table, dict[Port, int]]:
    """Plan and run one job: its rows, and the row counts of the marked ports. Small inputs stay in one partition."""
    frames = {edge: _frame(session, table, partitions) for edge, table in inputs.items()}
    state_inputs = {
        name: StateInputs(
            {key.log: log.frame(session).coalesce(partitions) for key, log in logs.items() if key.operator == name},
            instants,
        )
        for name, instants in bounds.items()
    }
    frame = compose(plan, shape, frames, state_inputs, composer)
    table = collect(frame, to_arrow_schema(frame.schema, timezone="UTC"))
    counters = markers.counters(frame._jdf.queryExecution().executedPlan())
    return table, {port: counter.value() for port, counter in counters.items()}


def _frame(session: SparkSession, table: pa.Table, partitions: int) -> DataFrame:
    frame: DataFrame = session.createDataFrame(table, schema=from_arrow_schema(table.schema))
    return frame.coalesce(partitions)
