"""Logs in which only the latest version of each group counts, as running aggregates keep them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headgate.runtime.spark.stateful.frames import col, cols, private
from headgate.sql.schema import SEQUENCE, TIME

ONE = private("one")  # a key with one value for all rows: without GROUP BY there is one group
NEXT = private("next")  # the time of the version that follows


def keyed(frame: DataFrame) -> DataFrame:
    """The frame with the key ONE, in a form that the optimizer cannot recognize as constant."""
    return frame.withColumn(ONE, col(SEQUENCE).bitwiseAND(0))


def newest(log: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The latest version of each group; `keys` are its columns and ONE."""
    versions = Window.partitionBy(*cols(keys)).orderBy(col(TIME))
    return keyed(log).withColumn(NEXT, F.lead(TIME).over(versions)).where(col(NEXT).isNull())
