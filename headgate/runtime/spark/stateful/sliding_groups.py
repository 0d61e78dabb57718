"""Spark's sliding windows in GROUP BY, where a row is in several windows.

Spark plans `window(ts, '1 hour', '1 minute')` as sixty branches, one for each window of a row, and takes minutes to
plan and compile them. Here, one expression repeats a row for its windows, however many there are.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import get_field
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from headgate.language.window_calls import window_call
from headgate.runtime.spark.stateful.frames import user_fields


def explode_sliding_windows(session: SparkSession, schema: StructType, text: str) -> str:
    """The text of a group that makes one row per window, if it is a sliding window; any other text unchanged.

    Called after Spark has accepted the text, so its durations are valid.
    """
    call = window_call(text)
    if call is None or call.kind != "window" or len(call.durations) < 2:
        return text
    length, slide, start = [*(duration_us(session, d) for d in call.durations), 0][:3]
    if slide == length:
        return text  # one window per row: Spark computes it like any expression
    moment = call.time
    kind = session.createDataFrame([], StructType(user_fields(schema))).select(F.expr(moment)).schema[0].dataType
    if not isinstance(kind, (TimestampType, TimestampNTZType)):
        return text
    ticks = f"unix_micros(CAST(({moment}) AS TIMESTAMP))"
    last = f"{ticks} - pmod({ticks} - {start}L, {slide}L)"
    bounds = f"'start', timestamp_micros(x), 'end', timestamp_micros(x + {length}L)"
    name = kind.simpleString().upper()
    window = f"CAST(named_struct({bounds}) AS STRUCT<start: {name}, end: {name}>)"
    return f"explode(transform(sequence({last}, {ticks} - {length - 1}L, -{slide}L), x -> {window}))"


def duration_us(session: SparkSession, text: str) -> int:
    """A duration in microseconds, as Spark reads it."""
    jvm: Any = session._jvm
    utf8 = getattr(jvm, "org.apache.spark.unsafe.types.UTF8String").fromString(text)
    utils = getattr(jvm, "org.apache.spark.sql.catalyst.util.IntervalUtils")
    interval = utils.stringToInterval(utf8)
    return int(get_field(interval, "days")) * 86_400_000_000 + int(get_field(interval, "microseconds"))
