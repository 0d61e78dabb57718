"""A leaf: a one-partition DataFrame whose Arrow bytes can be swapped between runs of one plan.

Stands on Spark internals: the DataFrame is an RDD made from a Scala collection with one element, the serialised Arrow
batch, and the array behind that collection is reached and written through py4j.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


class LeafError(RuntimeError):
    """This Spark does not keep a leaf's data where we expect it; nothing can be prepared."""


class Leaf:
    def __init__(self, session: SparkSession, schema: pa.Schema) -> None:
        self.schema = schema
        jvm: Any = session._jvm
        batches = jvm.java.util.ArrayList()
        batches.add(_serialised(schema.empty_table()))
        rows = jvm.scala.jdk.javaapi.CollectionConverters.asScala(batches.iterator())
        struct = from_arrow_schema(schema)
        jdf = jvm.PythonSQLUtils.toDataFrame(rows, struct.json(), session._jsparkSession)
        try:
            self._cell = _find_cell(jdf)
        except Py4JError as error:
            raise LeafError("the data of a leaf is not where this Spark kept it") from error
        self._arrays = jvm.java.lang.reflect.Array
        # The coalesce tells the planner that there is one partition, so that it adds no exchange.
        self.frame = DataFrame(jdf, session).coalesce(1)

    def set(self, table: pa.Table) -> None:
        """Put new data in. Not while a job reads the leaf."""
        if table.schema != self.schema:
            table = table.select(self.schema.names).cast(self.schema)
        # One trip to the JVM; an index into the array through py4j would ask for its length first.
        self._arrays.set(self._cell, 0, _serialised(table))


def _serialised(table: pa.Table) -> bytes:
    batches = table.combine_chunks().to_batches()
    if not batches:
        batches = [pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)]
    if len(batches) != 1:
        raise LeafError(f"a leaf holds one Arrow batch, not {len(batches)}")
    return batches[0].serialize().to_pybytes()


def _find_cell(jdf: Any) -> Any:
    rdd = jdf.queryExecution().analyzed().rdd()
    while not rdd.getClass().getName().endswith("ParallelCollectionRDD"):
        if rdd.dependencies().isEmpty():
            raise LeafError("the data of a leaf is not a parallelised collection")
        rdd = rdd.dependencies().head().rdd()
    partitions = rdd.partitions()
    if len(partitions) != 1:
        raise LeafError(f"a leaf has {len(partitions)} partitions instead of one")
    cell = partitions[0].values().unsafeArray()
    if len(cell) != 1:
        raise LeafError(f"a leaf's partition holds {len(cell)} values instead of one")
    return cell
