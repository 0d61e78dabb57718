"""Every schema of a plan, as Spark's analyser sees it; the last check before a run."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headgate.flow.types import arrow_schema
from headgate.plan.errors import ApplicationError
from headgate.plan.model import Plan
from headgate.plan.operators.base import Port
from headgate.plan.schema import STAMPS
from headgate.runtime.spark.compose import Composer, Tables
from headgate.runtime.spark.markers import Markers, nodes


def port_schemas(session: SparkSession, plan: Plan, tables: Tables, markers: Markers) -> dict[Port, pa.Schema]:
    """The Arrow schema of every stream and operator output, stamps included.

    Raises ApplicationError, naming the operator, for what only Spark can find wrong.
    """
    frames: dict[Port, DataFrame] = {}
    schemas: dict[Port, pa.Schema] = {}
    for name, stream in plan.streams.items():
        schemas[Port(name)] = arrow_schema(stream.schema)
        frames[Port(name)] = _empty(session, schemas[Port(name)])
    composer = Composer(markers.mark, tables, single=True)
    for operator in plan.operators.values():
        try:
            outputs = composer.outputs(operator, [frames[port] for port in operator.inputs])
            for frame in outputs.values():
                _refuse_what_depends_on_batches(frame, operator.id)
            found = {port: _nullable(to_arrow_schema(frame.schema, timezone="UTC")) for port, frame in outputs.items()}
        except AnalysisException as error:
            raise ApplicationError(operator.id, _first_line(error), "mend the expression") from error
        except PySparkException as error:
            raise ApplicationError(operator.id, _first_line(error), "Spark cannot run it") from error
        schemas.update(found)
        # Consumers see what a queue will hold, not what the optimiser could still infer about this output.
        frames.update({port: _empty(session, schema) for port, schema in found.items()})
    return schemas


def _refuse_what_depends_on_batches(frame: DataFrame, place: str) -> None:
    """An operator sees its input cut into batches as the schedule will have it; its answer must not tell."""
    analyzed = frame._jdf.queryExecution().analyzed()
    if not analyzed.deterministic():
        raise ApplicationError(
            place,
            "it is not deterministic, so its answer would depend on the schedule",
            "leave out rand() and the like",
        )
    for node in nodes(analyzed):
        kind = node.getClass().getSimpleName()
        if kind == "Window":
            raise ApplicationError(place, "a window function looks at other tuples of its batch", "leave it out")
        if kind == "Generate":
            raise ApplicationError(
                place, "it makes several tuples of one", "use a function that returns (batch, rows) instead"
            )


def _empty(session: SparkSession, schema: pa.Schema) -> DataFrame:
    return session.createDataFrame([], schema=from_arrow_schema(schema))


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Any user column may hold nulls: a leaf that promised otherwise would let Spark skip its null checks."""
    return pa.schema([pa.field(f.name, f.type, nullable=f.name not in STAMPS) for f in schema])


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
