"""A leaf: a one-partition DataFrame whose Arrow bytes can be swapped between runs of one plan.

This depends on Spark internals: the DataFrame is an RDD made from a Scala collection of serialized Arrow batches, and
the arrays behind that collection are reached and written through py4j.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.pandas.types import from_arrow_schema

from headgate.runtime.spark.internals.collect import collect

_FILE_BYTES = 300_000  # larger data goes through a file, since py4j sends bytes as base64 text


class LeafError(RuntimeError):
    """This version of Spark does not keep a leaf's data where we expect it; no plan can be prepared."""


class Sent(NamedTuple):
    """Data on its way into a leaf: its bytes, or where the JVM has them."""

    table: pa.Table
    bytes: bytes | None = None
    in_jvm: Any = None


class Leaf:
    """A leaf for one batch, replaced at every call."""

    def __init__(self, session: SparkSession, schema: pa.Schema) -> None:
        self.schema = schema
        self.current: pa.Table | None = None
        self._session = session
        jvm: Any = session._jvm
        # Looked up once, since py4j asks the JVM what a name means at each lookup.
        self._copy, self._put = jvm.java.lang.System.arraycopy, jvm.java.lang.reflect.Array.set
        with _layout_checked():
            self.frame, partition = _empty_leaf(session, schema)
            self.array = partition.values().unsafeArray()  # in the JVM; its one element is the batch
            self.batches = jvm.scala.jdk.javaapi.CollectionConverters.asJava(partition.values())  # a Java list

    def set(self, table: pa.Table) -> None:
        """Replace the data. Must not be called while a job reads the leaf, unless both tables give its answer."""
        self.hold(self.sent(table))

    def sent(self, table: pa.Table) -> Sent:
        """Get the data ready to be held: what takes long with much of it."""
        given = conform(table, self.schema)
        if given.nbytes > _FILE_BYTES:
            return Sent(table, in_jvm=_batches_in_jvm(self._session, given).toArray())
        return Sent(table, serialized(given).to_pybytes())

    def hold(self, sent: Sent) -> None:
        """Replace the data by what was sent."""
        if sent.in_jvm is not None:
            self._copy(sent.in_jvm, 0, self.array, 0, 1)
        else:
            # One trip to the JVM; indexing the array through py4j would ask for its length first.
            self._put(self.array, 0, sent.bytes)
        self.current = sent.table


class LogLeaf:
    """A leaf for the chunks of a log. Only chunks that it does not hold yet are sent to the JVM."""

    def __init__(self, session: SparkSession, schema: pa.Schema) -> None:
        self.schema = schema
        self._session = session
        jvm: Any = session._jvm
        self._as_scala = jvm.scala.jdk.javaapi.CollectionConverters.asScala
        with _layout_checked():
            self.frame, self.partition = _empty_leaf(session, schema)
        self._numbers: list[int] = []  # of the chunks that it holds, in the order of their batches
        # Their serialized batches. A Vector, because its removeElementAt does not return the bytes to Python.
        self.batches = jvm.java.util.Vector()
        with _layout_checked():
            self._publish()

    def set(self, chunks: Mapping[int, pa.Table], input_leaf: Leaf | None = None) -> None:
        """Hold exactly these chunks, identified by numbers that are never reused.

        If `input_leaf` still holds one of the tables from the last call, its bytes are not sent again.
        """
        gone, fresh = self.differences(chunks)
        for position in gone:
            self.batches.removeElementAt(position)
        for number in fresh:
            self._add(chunks[number], input_leaf)
        if gone or fresh:
            self._publish()

    def differences(self, chunks: Mapping[int, pa.Table]) -> tuple[list[int], list[int]]:
        """The positions of chunks to remove, one after the other, and the numbers of those to append after that. From
        now on the leaf counts as holding exactly these chunks, so the caller must see to it."""
        if chunks.keys() == set(self._numbers):
            return [], []
        gone = [at for at in reversed(range(len(self._numbers))) if self._numbers[at] not in chunks]
        held = set(self._numbers)
        fresh = [number for number in chunks if number not in held]
        self._numbers = [number for number in self._numbers if number in chunks] + fresh
        return gone, fresh

    def _add(self, table: pa.Table, input_leaf: Leaf | None) -> None:
        if input_leaf is not None and table is input_leaf.current:
            self.batches.addAll(input_leaf.batches)
        elif table.nbytes > _FILE_BYTES:
            self.batches.addAll(_batches_in_jvm(self._session, conform(table, self.schema)))
        else:
            self.batches.addElement(serialized(conform(table, self.schema)).to_pybytes())

    def _publish(self) -> None:
        """Point the partition at the current chunks; their bytes are not copied."""
        getattr(self.partition, "values_$eq")(self._as_scala(self.batches).toSeq())


@contextmanager
def _layout_checked() -> Iterator[None]:
    """LeafError where Spark's internals differ from what we expect, as they may in another version."""
    try:
        yield
    except Py4JError as error:
        raise LeafError("this Spark does not keep the data of a leaf where we expect it") from error


def try_leaves(session: SparkSession) -> None:
    """Check that a query planned earlier reads the data that is put into its leaves. LeafError: it does not."""
    schema = pa.schema([pa.field("a", pa.int64())])
    leaf, log = Leaf(session, schema), LogLeaf(session, schema)
    query = leaf.frame.selectExpr("a + 1 AS b").unionAll(log.frame.selectExpr("a + 1 AS b"))
    for value in (1, 2):
        table = pa.table({"a": [value]}, schema=schema)
        leaf.set(table)
        log.set({value: table}, leaf)
        found = collect(query, pa.schema([pa.field("b", pa.int64())])).column(0).to_pylist()
        if found != [value + 1] * 2:
            raise LeafError(f"two leaves gave {found} after {value} was put in")


def _empty_leaf(session: SparkSession, schema: pa.Schema) -> tuple[DataFrame, Any]:
    """A DataFrame over one empty batch, and the partition that holds the batch."""
    jvm: Any = session._jvm
    batches = jvm.java.util.ArrayList()
    batches.add(serialized(schema.empty_table()).to_pybytes())
    rows = jvm.scala.jdk.javaapi.CollectionConverters.asScala(batches.iterator())
    jdf = jvm.PythonSQLUtils.toDataFrame(rows, from_arrow_schema(schema).json(), session._jsparkSession)
    return _one_partition(session, jdf), _partition(jdf)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the columns and types of a schema; the table itself if it has exactly these."""
    return table if table.schema == schema else table.select(schema.names).cast(schema)


def serialized(table: pa.Table) -> pa.Buffer:
    """The rows as one serialized batch, as a leaf holds them."""
    return _one_batch(table).serialize()


def _batches_in_jvm(session: SparkSession, table: pa.Table) -> Any:
    """A Java list with the serialized batch of a table, sent the way PySpark sends large data: through a file, or
    through a socket if Spark encrypts."""
    jvm: Any = session._jvm
    context: Any = session.sparkContext
    utils = jvm.PythonSQLUtils
    made = context._serialize_to_jvm(
        [_one_batch(table)], ArrowStreamSerializer(), utils.readArrowStreamFromFile, jvm.ArrowIteratorServer
    )
    return jvm.scala.jdk.javaapi.CollectionConverters.asJava(made.toList())


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    if not batches:
        batches = [pa.RecordBatch.from_arrays([pa.array([], f.type) for f in table.schema], schema=table.schema)]
    if len(batches) != 1:
        raise LeafError(f"a leaf holds one Arrow batch, not {len(batches)}")
    return batches[0]


def _one_partition(session: SparkSession, jdf: Any) -> DataFrame:
    """The leaf as a plan that declares itself to be one partition. So the planner adds no exchange, and no coalesce is
    needed, which would split the generated code."""
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


def _partition(jdf: Any) -> Any:
    """Spark's partition that holds the batch of a one-batch DataFrame."""
    rdd = jdf.queryExecution().analyzed().rdd()
    while not rdd.getClass().getName().endswith("ParallelCollectionRDD"):
        if rdd.dependencies().isEmpty():
            raise LeafError("the data of a leaf is not a parallelized collection")
        rdd = rdd.dependencies().head().rdd()
    partitions = rdd.partitions()
    if len(partitions) != 1:
        raise LeafError(f"a leaf has {len(partitions)} partitions instead of one")
    return partitions[0]
