"""The partitioned way to run a call: planned each time, with as many partitions as the rows justify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
from headgate.runtime.spark.stateful.kept_rows import keeping
from headgate.runtime.spark.stateful.state import Chunk, Log, LogName

# With fewer rows, another partition costs more (a task and its scheduling) than it saves.
ROWS_PER_PARTITION = 25_000


class Found(NamedTuple):
    """What a job gave: its rows, the row counts of the marked ports, and rows for logs that were kept apart."""

    table: pa.Table
    counts: dict[Port, int]
    apart: dict[LogName, Chunk]


def partitions_for(rows: int, parallelism: int) -> int:
    """How many partitions this number of rows justifies, with Spark's default parallelism."""
    return max(1, min(parallelism, rows // ROWS_PER_PARTITION))


def run_partitioned(
    session: SparkSession,
    plan: Plan,
    shape: JobShape,
    inputs: Mapping[Edge, pa.Table | DataFrame],
    logs: Mapping[LogName, Log],
    bounds: Mapping[str, Instants],
    composer: Composer,
    markers: Markers,
    partitions: int,
) -> Found:
    """Plan and run one job. Small inputs stay in one partition."""
    frames = {edge: _frame(session, rows, partitions) for edge, rows in inputs.items()}
    state_inputs = {
        name: StateInputs(
            {key.log: log.frame(session).coalesce(partitions) for key, log in logs.items() if key.operator == name},
            instants,
        )
        for name, instants in bounds.items()
    }
    frame, apart = compose(plan, shape, frames, state_inputs, composer)
    with keeping(apart) as kept:
        table = collect(frame, to_arrow_schema(frame.schema, timezone="UTC"))
        counters = markers.counters(frame._jdf.queryExecution().executedPlan())
        counts = {port: counter.value() for port, counter in counters.items()}
        return Found(table, counts, kept.chunks({name: log.spec for name, log in logs.items()}))


def _frame(session: SparkSession, rows: pa.Table | DataFrame, partitions: int) -> DataFrame:
    if isinstance(rows, DataFrame):  # its rows are with the executors already
        return rows
    frame: DataFrame = session.createDataFrame(rows, schema=from_arrow_schema(rows.schema))
    return frame.coalesce(partitions)
