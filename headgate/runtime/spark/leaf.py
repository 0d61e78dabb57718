"""A leaf: a one-partition DataFrame whose Arrow bytes can be swapped between runs of one plan.

Stands on Spark internals: the DataFrame is an RDD made from a Scala collection of serialised Arrow batches, and the
arrays behind that collection are reached and written through py4j.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.pandas.types import from_arrow_schema

from headgate.runtime.spark.collect import collect

_BY_FILE = 300_000  # bytes; what passes through py4j is text in base 64


class LeafError(RuntimeError):
    """This Spark does not keep a leaf's data where we expect it; nothing can be prepared."""


class Cells:
    """A one-partition DataFrame over so many Arrow batches, each of which can be swapped."""

    def __init__(self, session: SparkSession, schema: pa.Schema, count: int) -> None:
        self.schema = schema
        self._session = session
        jvm: Any = session._jvm
        self._empty = _serialised(schema.empty_table())
        batches = jvm.java.util.ArrayList()
        for _ in range(count):
            batches.add(self._empty)
        rows = jvm.scala.jdk.javaapi.CollectionConverters.asScala(batches.iterator())
        struct = from_arrow_schema(schema)
        jdf = jvm.PythonSQLUtils.toDataFrame(rows, struct.json(), session._jsparkSession)
        try:
            self._cells = _find_cells(jdf, count)
            self.frame = _one_partition(session, jdf)
        except Py4JError as error:
            raise LeafError("the data of a leaf is not where this Spark kept it") from error
        self._arrays = jvm.java.lang.reflect.Array
        self._system = jvm.java.lang.System

    def put(self, cell: int, table: pa.Table | None) -> None:
        """Put new data into a cell; None empties it. Not while a job reads the leaf."""
        if table is not None and table.schema != self.schema:
            table = table.select(self.schema.names).cast(self.schema)
        if table is not None and table.nbytes > _BY_FILE:
            self._copy(_moved(self._session, table), 0, cell)
            return
        array, at = self._cells[cell]
        # One trip to the JVM; an index into the array through py4j would ask for its length first.
        self._arrays.set(array, at, self._empty if table is None else _serialised(table))

    def take(self, cell: int, other: Cells) -> None:
        """Put in what the first cell of another leaf of this schema holds; no bytes travel."""
        self._copy(*other._cells[0], cell)

    def _copy(self, source: Any, place: int, cell: int) -> None:
        array, at = self._cells[cell]
        self._system.arraycopy(source, place, array, at, 1)


class Leaf:
    """A leaf for one batch, new at every call."""

    def __init__(self, session: SparkSession, schema: pa.Schema) -> None:
        self.cells = Cells(session, schema, 1)
        self.schema = schema
        self.frame = self.cells.frame
        self.held: pa.Table | None = None

    def set(self, table: pa.Table) -> None:
        """Put new data in. Not while a job reads the leaf."""
        self.cells.put(0, table)
        self.held = table


class LogLeaf:
    """A leaf for the chunks of a log: only chunks that it does not have yet travel to the JVM."""

    def __init__(self, session: SparkSession, schema: pa.Schema, count: int) -> None:
        self._cells = Cells(session, schema, count)
        self._held: dict[int, int] = {}  # number of a chunk -> its cell
        self._free = list(range(count))
        self.frame = self._cells.frame

    def set(self, chunks: Mapping[int, pa.Table], beside: Leaf | None = None) -> None:
        """Hold exactly these chunks, named by numbers that are never used twice. One of them may be what the leaf
        `beside` still holds from the last call."""
        for number in [number for number in self._held if number not in chunks]:
            cell = self._held.pop(number)
            self._cells.put(cell, None)
            self._free.append(cell)
        for number, table in chunks.items():
            if number not in self._held:
                cell = self._free.pop()
                if beside is not None and table is beside.held:
                    self._cells.take(cell, beside.cells)
                else:
                    self._cells.put(cell, table)
                self._held[number] = cell


def try_leaves(session: SparkSession) -> None:
    """See whether what is put into a leaf comes out of a query that was planned before; LeafError when it does not."""
    schema = pa.schema([pa.field("a", pa.int64())])
    leaf = Leaf(session, schema)
    query = leaf.frame.selectExpr("a + 1 AS b")
    for value in (1, 2):
        leaf.set(pa.table({"a": [value]}, schema=schema))
        found = collect(query, pa.schema([pa.field("b", pa.int64())])).column(0).to_pylist()
        if found != [value + 1]:
            raise LeafError(f"a leaf gave {found} after {value} was put in")


def _serialised(table: pa.Table) -> bytes:
    return _one_batch(table).serialize().to_pybytes()


def _moved(session: SparkSession, table: pa.Table) -> Any:
    """A Java array with the serialised batch of a table, moved as PySpark moves large data: by a file, or by a socket
    where Spark encrypts."""
    jvm: Any = session._jvm
    context: Any = session.sparkContext
    utils = jvm.PythonSQLUtils
    made = context._serialize_to_jvm(
        [_one_batch(table)], ArrowStreamSerializer(), utils.readArrowStreamFromFile, jvm.ArrowIteratorServer
    )
    return jvm.scala.jdk.javaapi.CollectionConverters.asJava(made.toList()).toArray()


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    if not batches:
        batches = [pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)]
    if len(batches) != 1:
        raise LeafError(f"a leaf holds one Arrow batch, not {len(batches)}")
    return batches[0]


def _one_partition(session: SparkSession, jdf: Any) -> DataFrame:
    """The leaf as a plan that says itself that it is one partition: no exchange is added, and no coalesce is needed,
    which would cut the generated code in two."""
    jvm: Any = session._jvm
    node = jdf.queryExecution().analyzed()
    none = jvm.scala.Option.empty()
    physical = "org.apache.spark.sql.catalyst.plans.physical"
    single = getattr(getattr(jvm, f"{physical}.SinglePartition$"), "MODULE$")
    rdd = node.rdd().coalesce(1, False, none, None)
    plan = getattr(jvm, "org.apache.spark.sql.execution.LogicalRDD")(
        node.output(), rdd, single, node.outputOrdering(), False, none, session._jsparkSession, none, none, False
    )
    rows = getattr(jvm, "org.apache.spark.sql.classic.Dataset").ofRows(session._jsparkSession, plan)
    return DataFrame(rows, session)


def _find_cells(jdf: Any, count: int) -> list[tuple[Any, int]]:
    """Where each batch is kept: an array and an index, in order."""
    rdd = jdf.queryExecution().analyzed().rdd()
    while not rdd.getClass().getName().endswith("ParallelCollectionRDD"):
        if rdd.dependencies().isEmpty():
            raise LeafError("the data of a leaf is not a parallelised collection")
        rdd = rdd.dependencies().head().rdd()
    cells = []
    for partition in rdd.partitions():
        array = partition.values().unsafeArray()
        cells += [(array, at) for at in range(len(array))]
    if len(cells) != count:
        raise LeafError(f"a leaf holds {len(cells)} batches instead of {count}")
    return cells
