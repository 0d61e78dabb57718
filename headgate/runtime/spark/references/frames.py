"""References as DataFrames: the executors read the tuples and give them their stamps."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from headgate.plan.arrow_types import arrow_schema, port_schema
from headgate.plan.model import Stream
from headgate.plan.windows import Clock
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.stateful.frames import col, cols, long
from headgate.scheduling.reference import Part, Reference
from headgate.sql.schema import ARRIVAL, SEQUENCE, TIME

_POSITION = "\x1fposition"

# How the tuples of a kind of reference are read: the stream's columns, and the position of each tuple in its place.
Reader = Callable[[SparkSession, Reference, Part, StructType], tuple[DataFrame, Column]]


def _parquet(session: SparkSession, reference: Reference, part: Part, schema: StructType) -> tuple[DataFrame, Column]:
    return session.read.schema(schema).parquet(part.place), F.col("_metadata.row_index")


READERS: dict[str, Reader] = {"parquet": _parquet}


def stamped_frame(session: SparkSession, reference: Reference, stream: Stream) -> DataFrame:
    """The tuples of a reference as operators read them: the stream's columns, then the stamps. In no order.

    ValueError: nobody knows how to read such a reference.
    """
    reader = READERS.get(reference.kind)
    if reader is None:
        raise ValueError(f"no runtime knows how to read a reference of kind '{reference.kind}'")
    schema = from_arrow_schema(arrow_schema(stream.schema, stamps=False))
    parts = [_numbered(reader, session, reference, part, schema) for part in reference.parts]
    columns = [col(field.name) for field in schema]
    arrival, time = long(reference.arrival_us).alias(ARRIVAL), _time(stream, reference).alias(TIME)
    return reduce(DataFrame.union, parts).select(*columns, arrival, col(SEQUENCE), time)


def _numbered(reader: Reader, session: SparkSession, reference: Reference, part: Part, schema: StructType) -> DataFrame:
    """The tuples of a part with their sequence numbers. What has come to the place since is left out."""
    frame, position = reader(session, reference, part, schema)
    placed = frame.select(*cols(schema.names), position.alias(_POSITION))
    inside = (col(_POSITION) >= long(part.start)) & (col(_POSITION) < long(part.start + part.rows))
    first = reference.sequence + part.rows_before - part.start
    number = F.coalesce(col(_POSITION), long(0)) + long(first)  # never null, and Spark knows it
    return placed.where(inside).select(*cols(schema.names), number.alias(SEQUENCE))


def _time(stream: Stream, reference: Reference) -> Column:
    if stream.time is None:
        return long(reference.arrival_us)
    column = stream.schema.find(stream.time)
    assert column is not None
    if stream.clock is Clock.LOGICAL:
        return col(column.name).cast("bigint")
    return F.unix_micros(col(column.name).cast("timestamp"))


def load(session: SparkSession, reference: Reference, stream: Stream) -> pa.Table:
    """The tuples of a reference as they would wait in the driver. For small ones only: they must fit there."""
    frame = stamped_frame(session, reference, stream)
    rows = collect(frame, to_arrow_schema(frame.schema, timezone="UTC"))
    return rows.sort_by(SEQUENCE).cast(port_schema(stream.schema, stream.flow))
